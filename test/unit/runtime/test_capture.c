/* SPDX-License-Identifier: Apache-2.0 */
/* Head and tail of a stream, fed in pieces of every size. */
#include <stdlib.h>

#include "runtime/exec/capture.h"
#include "test/harness/t.h"

/* Byte i of the stream that all tests write. */
static char byte_at(size_t i)
{
    return (char)('a' + i % 23);
}

static void feed(Capture *c, size_t total, size_t step)
{
    char bytes[64];

    for (size_t at = 0; at < total;) {
        size_t n = total - at < step ? total - at : step;

        for (size_t i = 0; i < n; i++) {
            bytes[i] = byte_at(at + i);
        }
        capture_append(c, (Str){bytes, n});
        at += n;
    }
}

static void expect(Str got, size_t from)
{
    for (size_t i = 0; i < got.len; i++) {
        T_EQ_INT(got.ptr[i], byte_at(from + i));
    }
}

T_TEST(capture_keeps_all_up_to_the_maximum)
{
    for (size_t step = 1; step <= 40; step++) {
        Capture c;
        Str head, tail;

        capture_init(&c, 33, NULL);
        feed(&c, 33, step);
        T_CHECK(!capture_is_truncated(&c));
        capture_content(&c, &head, &tail);
        T_EQ_INT(head.len, 33);
        T_EQ_INT(tail.len, 0);
        expect(head, 0);
        capture_deinit(&c);
    }
}

T_TEST(capture_keeps_first_and_last_half)
{
    for (size_t total = 34; total < 120; total++) {
        for (size_t step = 1; step <= 50; step += 3) {
            Capture c;
            Str head, tail;

            capture_init(&c, 33, NULL);
            feed(&c, total, step);
            T_CHECK(capture_is_truncated(&c));
            T_EQ_INT(c.total, total);
            for (int twice = 0; twice < 2; twice++) { /* asking again changes nothing */
                capture_content(&c, &head, &tail);
                T_EQ_INT(head.len, 17);
                T_EQ_INT(tail.len, 16);
                expect(head, 0);
                expect(tail, total - 16);
            }
            capture_deinit(&c);
        }
    }
}

T_TEST(capture_memory_follows_the_stream)
{
    Capture c, taken;

    capture_init(&c, CAPTURE_MAX_DEFAULT, NULL);
    T_EQ_INT(c.cap, 0);
    capture_append(&c, STR("small"));
    T_CHECK(c.cap <= 4096);
    taken = capture_take(&c);
    T_EQ_INT(taken.len, 5);
    T_EQ_INT(c.len, 0);
    T_EQ_INT(c.total, 0);
    capture_append(&c, STR("again"));
    T_EQ_INT(c.len, 5);
    capture_deinit(&c);
    capture_deinit(&taken);
}

T_TEST(capture_budget_shortens_and_is_given_back)
{
    CaptureBudget budget = {.max = 100000};
    Capture a, b;
    Str head, tail;

    capture_init(&a, 1 << 20, &budget);
    capture_init(&b, 1 << 20, &budget);
    feed(&a, 60000, 50);
    T_CHECK(!capture_is_truncated(&a));
    T_EQ_INT(budget.used, a.cap);
    feed(&b, 500000, 50); /* only the reserved memory is left for it */
    T_EQ_INT(b.len, CAPTURE_RESERVED);
    T_CHECK(budget.used <= budget.max + CAPTURE_RESERVED);
    capture_content(&b, &head, &tail);
    T_EQ_INT(head.len, CAPTURE_RESERVED / 2);
    T_EQ_INT(tail.len, CAPTURE_RESERVED / 2);
    expect(head, 0);
    expect(tail, 500000 - CAPTURE_RESERVED / 2);
    feed(&a, 30000, 7); /* no more: what it has becomes its maximum */
    T_CHECK(capture_is_truncated(&a) && a.len == a.cap);
    capture_deinit(&a);
    T_EQ_INT(budget.used, CAPTURE_RESERVED);
    capture_deinit(&b);
    T_EQ_INT(budget.used, 0);
}

T_TEST(capture_budget_and_one_large_piece)
{
    CaptureBudget budget = {.max = 0};
    static char large[200000];
    Capture c, taken;
    Str head, tail;

    for (size_t i = 0; i < sizeof(large); i++) {
        large[i] = byte_at(i);
    }
    capture_init(&c, 1 << 20, &budget);
    capture_append(&c, (Str){large, sizeof(large)});
    taken = capture_take(&c);
    T_EQ_INT(budget.used, CAPTURE_RESERVED);
    capture_content(&taken, &head, &tail);
    T_EQ_INT(head.len + tail.len, CAPTURE_RESERVED);
    expect(head, 0);
    expect(tail, sizeof(large) - tail.len);
    capture_deinit(&taken);
    capture_deinit(&c);
    T_EQ_INT(budget.used, 0);
}
