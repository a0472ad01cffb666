/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memtrim.h"
#include "test/harness/t.h"

#define MIB ((size_t)1 << 20)

T_TEST(memtrim_is_due_when_much_is_free_that_was_not_before)
{
    static const struct {
        const char *label;
        size_t in_use, free_now, free_then;
        bool due;
    } rows[] = {
        {"nothing is free", 4 * MIB, 0, 0, false},
        {"just below the least", 0, MEMTRIM_FREE_MIN - 1, 0, false},
        {"the least", 0, MEMTRIM_FREE_MIN, 0, true},
        {"little beside what is in use", 80 * MIB, 2 * MIB, 0, false},
        {"a burst is over", 4 * MIB, 20 * MIB, MIB, true},
        {"pages that went back count as free", 4 * MIB, 20 * MIB, 20 * MIB, false},
        {"used again and free again", 4 * MIB, 20 * MIB, 3 * MIB, true},
        {"less than after the last time, and still much", 4 * MIB, 10 * MIB, 20 * MIB, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].label);
        T_EQ_INT(memtrim_is_due(rows[i].in_use, rows[i].free_now, rows[i].free_then), rows[i].due);
    }
}

T_TEST(memtrim_runs_until_it_is_stopped)
{
    FakeClock clock;
    Loop *loop = NULL;
    MemTrim trim = {0};

    memtrim_stop(&trim);
    fake_clock_init(&clock, 0, 0);
    T_OK(loop_new_virtual(&clock.clock, &loop));
    memtrim_start(&trim, loop);
    for (int i = 0; i < 3; i++) {
        uint64_t due = loop_next_deadline(loop);

        T_EQ_INT(due, loop_now(loop) + MEMTRIM_INTERVAL_NS);
        fake_clock_advance(&clock, MEMTRIM_INTERVAL_NS);
        T_OK(loop_step(loop, 0));
    }
    memtrim_stop(&trim);
    T_CHECK(loop_next_deadline(loop) == LOOP_NEVER);
    loop_free(loop);
}
