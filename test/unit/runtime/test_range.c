/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/range.h"
#include "test/harness/t.h"

T_TEST(range_table)
{
    static const struct {
        const char *in;
        uint64_t size;
        RangeResult result;
        uint64_t first, length;
    } ROWS[] = {
        {"bytes=0-0", 10, RANGE_PART, 0, 1},
        {"bytes=2-4", 10, RANGE_PART, 2, 3},
        {"bytes=2-", 10, RANGE_PART, 2, 8},
        {"bytes=-3", 10, RANGE_PART, 7, 3},
        {"bytes=-30", 10, RANGE_PART, 0, 10},
        {"bytes=9-99999999999999999999999", 10, RANGE_PART, 9, 1},
        {"BYTES = 1 - 2", 10, RANGE_PART, 1, 2},
        {"bytes=10-", 10, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=99999999999999999999999-", 10, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-0", 10, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=0-", 0, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=-1", 0, RANGE_UNSATISFIABLE, 0, 0},
        {"bytes=4-2", 10, RANGE_WHOLE, 0, 0},
        {"bytes=0-1,3-4", 10, RANGE_WHOLE, 0, 0},
        {"bytes=", 10, RANGE_WHOLE, 0, 0},
        {"bytes=-", 10, RANGE_WHOLE, 0, 0},
        {"bytes=a-b", 10, RANGE_WHOLE, 0, 0},
        {"lines=0-1", 10, RANGE_WHOLE, 0, 0},
        {"", 10, RANGE_WHOLE, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        uint64_t first = 0, length = 0;

        t_row(ROWS[i].in);
        T_EQ_INT(range_parse(str_from(ROWS[i].in), ROWS[i].size, &first, &length), ROWS[i].result);
        T_EQ_INT(first, ROWS[i].first);
        T_EQ_INT(length, ROWS[i].length);
    }
    t_row(NULL);
}
