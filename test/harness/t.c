/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runner: sorted by file and name so that the order never depends on the linker. Each test runs
 * in this process, so sanitizers and debuggers see everything; a failure jumps back to the runner.
 */
#include "test/harness/t.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

typedef VEC(char *) Files;

static struct {
    Test *tests;
    jmp_buf back;
    const char *row;
    char tmpdir[256];
    Files files;
} run;

void t_register(Test *test)
{
    test->next = run.tests;
    run.tests = test;
}

void t_row(const char *label)
{
    run.row = label;
}

void t_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "%s:%d: ", file, line);
    if (run.row) {
        fprintf(stderr, "[%s] ", run.row);
    }
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    longjmp(run.back, 1);
}

void t_check_int(const char *file, int line, const char *what, int64_t got, int64_t want)
{
    if (got != want) {
        t_fail(file, line, "%s is %lld, not %lld", what, (long long)got, (long long)want);
    }
}

void t_check_str(const char *file, int line, const char *what, Str got, Str want)
{
    if (!str_eq(got, want) || !got.ptr != !want.ptr) {
        t_fail(file, line, "%s is\n    \"" STR_FMT "\"%s, not\n    \"" STR_FMT "\"%s", what,
               STR_ARG(got), got.ptr ? "" : " (null)", STR_ARG(want), want.ptr ? "" : " (null)");
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    UNUSED(st);
    UNUSED(kind);
    UNUSED(ftw);
    return remove(path);
}

const char *t_tmpdir(void)
{
    if (!run.tmpdir[0]) {
        const char *base = getenv("TMPDIR");

        snprintf(run.tmpdir, sizeof(run.tmpdir), "%s/cofferdam-test-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(run.tmpdir)) {
            T_FAIL("mkdtemp: %s", strerror(errno));
        }
    }
    return run.tmpdir;
}

Str t_read_file(const char *path)
{
    FILE *f = fopen(path, "rbe");
    char *text = NULL;
    size_t len = 0;
    size_t n;
    char chunk[4096];

    if (!f) {
        T_FAIL("%s: %s", path, strerror(errno));
    }
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0) {
        text = xrealloc(text, len + n + 1);
        memcpy(text + len, chunk, n);
        len += n;
    }
    fclose(f);
    text = xrealloc(text, len + 1);
    text[len] = '\0';
    vec_push(&run.files, text);
    return (Str){text, len};
}

static void test_cleanup(void)
{
    if (run.tmpdir[0]) {
        nftw(run.tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        run.tmpdir[0] = '\0';
    }
    vec_foreach (&run.files, it) {
        free(*it);
    }
    vec_free(&run.files);
    run.row = NULL;
}

static int test_order(const void *a, const void *b)
{
    const Test *x = *(Test *const *)a;
    const Test *y = *(Test *const *)b;
    int r = strcmp(x->file, y->file);

    return r ? r : strcmp(x->name, y->name);
}

static bool test_wanted(const Test *test, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strstr(test->name, argv[i])) {
            return true;
        }
    }
    return argc < 2;
}

static bool test_run(Test *test)
{
    if (setjmp(run.back) != 0) {
        fprintf(stderr, "FAILED %s\n", test->name);
        test_cleanup();
        return false;
    }
    test->fn();
    test_cleanup();
    return true;
}

int main(int argc, char **argv)
{
    VEC(Test *) tests = {0};
    volatile size_t passed = 0;
    volatile size_t failed = 0;

    for (Test *t = run.tests; t; t = t->next) {
        if (test_wanted(t, argc, argv)) {
            vec_push(&tests, t);
        }
    }
    if (tests.len > 0) {
        qsort(tests.ptr, tests.len, sizeof(Test *), test_order);
    }
    for (size_t i = 0; i < tests.len; i++) {
        if (test_run(tests.ptr[i])) {
            passed++;
        } else {
            failed++;
        }
    }
    vec_free(&tests);
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
