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

        capture_init(&c, 33);
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

            capture_init(&c, 33);
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

    capture_init(&c, CAPTURE_MAX_DEFAULT);
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
