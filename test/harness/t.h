/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Test harness. T_TEST registers itself; main() in t.c runs all tests of the binary (or those whose
 * name contains an argument), prints each failure with both sides, and ends with
 * "N passed, N failed". A failed T_* check ends its test (longjmp), not the binary.
 *
 *     T_TEST(str_cut_splits_at_the_first_separator)
 *     {
 *         T_EQ_STR(str_cut(STR("a=b=c"), '=', &rest), "a");
 *     }
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/str.h"

typedef void (*TestFn)(void);

typedef struct Test {
    const char *name;
    const char *file;
    TestFn fn;
    struct Test *next;
} Test;

void t_register(Test *test);
NORETURN void t_fail(const char *file, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
void t_check_int(const char *file, int line, const char *what, int64_t got, int64_t want);
void t_check_str(const char *file, int line, const char *what, Str got, Str want);
/* Says which row of a table is running; shown with a failure. NULL ends it. */
void t_row(const char *label);
/* A fresh directory below TMPDIR, removed with its content at the end of the test. */
const char *t_tmpdir(void);
/* Whole file as a NUL-terminated string (owned by the test run); fails the test when unreadable. */
Str t_read_file(const char *path);

#define T_TEST(fn_name)                                                                            \
    static void fn_name(void);                                                                     \
    __attribute__((constructor)) static void fn_name##_register(void)                              \
    {                                                                                              \
        static Test test = {#fn_name, __FILE__, fn_name, NULL};                                    \
        t_register(&test);                                                                         \
    }                                                                                              \
    static void fn_name(void)

#define T_CHECK(cond)                                                                              \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            t_fail(__FILE__, __LINE__, "not true: %s", #cond);                                     \
        }                                                                                          \
    } while (0)
#define T_FAIL(...) t_fail(__FILE__, __LINE__, __VA_ARGS__)
#define T_EQ_INT(got, want) t_check_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define T_EQ_STR(got, want) t_check_str(__FILE__, __LINE__, #got, t_as_str(got), t_as_str(want))
#define T_OK(expr) T_EQ_INT((expr), 0)
#define T_CONTAINS(haystack, needle)                                                               \
    do {                                                                                           \
        Str t_h_ = t_as_str(haystack), t_n_ = t_as_str(needle);                                    \
        if (!memmem(t_h_.ptr, t_h_.len, t_n_.ptr, t_n_.len)) {                                     \
            t_fail(__FILE__, __LINE__, "\"" STR_FMT "\" does not contain \"" STR_FMT "\"",         \
                   STR_ARG(t_h_), STR_ARG(t_n_));                                                  \
        }                                                                                          \
    } while (0)

static inline Str t_str_of_str(Str s)
{
    return s;
}

#define t_as_str(x) _Generic((x), Str : t_str_of_str, char * : str_from, const char * : str_from)(x)
