/* SPDX-License-Identifier: Apache-2.0 */
#include "json/quantity.h"

#include <errno.h>

#include "test/harness/t.h"

T_TEST(quantities_have_one_canonical_text)
{
    static const struct {
        const char *text, *want;
    } ROWS[] = {
        {"0", "0"},
        {"-0", "0"},
        {"00012", "12"},
        {"1", "1"},
        {"+1", "1"},
        {"-1", "-1"},
        {"1.", "1"},
        {".5", "0.5"},
        {"500m", "0.5"},
        {"0.5", "0.5"},
        {"1500m", "1.5"},
        {"1Ki", "1024"},
        {"1024Mi", "1073741824"},
        {"1Gi", "1073741824"},
        {"0.5Gi", "536870912"},
        {"1G", "1000000000"},
        {"1k", "1000"},
        {"1e3", "1000"},
        {"1E3", "1000"},
        {"1E", "1000000000000000000"},
        {"1e-3", "0.001"},
        {"1e+2", "100"},
        {"100n", "0.0000001"},
        {"1u", "0.000001"},
        {"1n", "0.000000001"},
        {"0.1n", "0.000000001"},
        {"-0.1n", "-0.000000001"},
        {"1.0000000001", "1.000000001"},
        {"0.1Ki", "102.4"},
        {"1e-400", "0.000000001"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9223372036854775807"},
        {"-9223372036854775809", "-9223372036854775807"},
        {"8Ei", "9223372036854775807"},
        {"7Ei", "8070450532247928832"},
        {"1e400", "9223372036854775807"},
        {"1e99999999999999999999", "9223372036854775807"},
        {"0e99999999999999999999", "0"},
        {"123456789012345678901234567890", "9223372036854775807"},
        {"0.00000000000000000000000000000000000000000000001", "0.000000001"},
        {"1000000000000000000000e-21", "1"},
        {"0.123456789012345678901234567890Ki", "126.419751949"},
    };
    char text[QUANTITY_TEXT_MAX];
    Quantity q;

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].text);
        T_OK(quantity_parse(str_from(ROWS[i].text), &q));
        size_t n = quantity_format(q, text);
        T_EQ_STR(((Str){text, n}), ROWS[i].want);
        T_EQ_INT(strlen(text), n);
    }
    t_row(NULL);
}

T_TEST(what_is_no_quantity_is_refused)
{
    static const char *const TEXTS[] = {
        "",   "-",     ".",   "m",    "Ki",   "1 ",  " 1",    "1ki", "1KI",  "1K",  "1mi", "1.2.3",
        "1e", "1e1.5", "1e-", "0x10", "1Kii", "--1", "1_000", "abc", "1e5m", "NaN", "1,5", "1e+-2",
    };
    Quantity q = {7, 7};
    char longer[300];

    for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
        t_row(TEXTS[i]);
        T_EQ_INT(quantity_parse(str_from(TEXTS[i]), &q), -EINVAL);
    }
    t_row(NULL);
    memset(longer, '1', sizeof(longer));
    T_EQ_INT(quantity_parse((Str){longer, sizeof(longer)}, &q), -EINVAL);
    T_EQ_INT(q.units, 7);
}

T_TEST(quantities_compare_numerically)
{
    static const struct {
        const char *a, *b;
        int order;
    } ROWS[] = {
        {"1024Mi", "1Gi", 0},    {"500m", "0.5", 0}, {"1", "1000m", 0},  {"1", "2", -1},
        {"1G", "1Gi", -1},       {"-1", "1", -1},    {"0.1", "0.2", -1}, {"-0.1", "-0.2", 1},
        {"2", "1.999999999", 1}, {"1e3", "1k", 0},
    };
    Quantity a, b;

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].a);
        T_OK(quantity_parse(str_from(ROWS[i].a), &a));
        T_OK(quantity_parse(str_from(ROWS[i].b), &b));
        T_EQ_INT(quantity_cmp(a, b), ROWS[i].order);
        T_EQ_INT(quantity_cmp(b, a), -ROWS[i].order);
    }
    t_row(NULL);
}
