/* SPDX-License-Identifier: Apache-2.0 */
/* Where paths lead: links, "..", missing names, and every way out of the root. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "runtime/exec/fds.h"
#include "runtime/files/root.h"
#include "test/harness/t.h"

static void make_file(int at, const char *name, const char *text)
{
    AUTO(fd) int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    T_CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

/* ROOT/ws is the root; ROOT/outside lies beside it. */
typedef struct Fixture {
    int ws;
    char base[200];
    Root *root;
} Fixture;

static Fixture setup(void)
{
    Fixture f;
    Err err = ERR_INIT;
    char text[300];

    snprintf(f.base, sizeof(f.base), "%s/ws", t_tmpdir());
    T_OK(root_open(f.base, &f.root, &err));
    f.ws = open(f.base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    mkdirat(f.ws, "a", 0755);
    mkdirat(f.ws, "a/b", 0755);
    make_file(f.ws, "a/b/file", "hello");
    mkdirat(f.ws, "../outside", 0755);
    make_file(f.ws, "../outside/secret", "secret");
    T_OK(symlinkat("a/b", f.ws, "in"));
    T_OK(symlinkat("../outside", f.ws, "out"));
    T_OK(symlinkat("/etc", f.ws, "etc"));
    T_OK(symlinkat("../ws/a", f.ws, "around"));
    snprintf(text, sizeof(text), "%s/a/b/file", root_base(f.root));
    T_OK(symlinkat(text, f.ws, "absolute"));
    T_OK(symlinkat("nowhere", f.ws, "dangling"));
    T_OK(symlinkat("loop2", f.ws, "loop1"));
    T_OK(symlinkat("loop1", f.ws, "loop2"));
    T_OK(symlinkat("../..", f.ws, "a/b/up"));
    return f;
}

static void teardown(Fixture *f)
{
    close(f->ws);
    root_free(f->root);
}

static const struct {
    Str path;
    int result;
    const char *want; /* with links followed */
    const char *link; /* last one not followed; NULL = the same */
} ROWS[] = {
    {STR(""), 0, ".", NULL},
    {STR("."), 0, ".", NULL},
    {STR("/"), 0, ".", NULL},
    {STR("//./."), 0, ".", NULL},
    {STR("a/b/file"), 0, "a/b/file", NULL},
    {STR("/a//b/./file/"), 0, "a/b/file", NULL},
    {STR("a/../a/b"), 0, "a/b", NULL},
    {STR("missing/../two"), 0, "two", NULL},
    {STR("a/b/file/../x"), 0, "a/b/x", NULL},
    {STR("in/file"), 0, "a/b/file", NULL},
    {STR("in"), 0, "a/b", "in"},
    {STR("in/"), 0, "a/b", "in"},
    {STR("absolute"), 0, "a/b/file", "absolute"},
    {STR("dangling"), 0, "nowhere", "dangling"},
    {STR("around/b"), 0, "a/b", NULL},
    {STR("a/b/up/a"), 0, "a", NULL},
    {STR("in/../x"), 0, "a/x", NULL},
    {STR("../ws/a"), 0, "a", NULL},
    {STR(".."), -EXDEV, NULL, NULL},
    {STR("../../etc/passwd"), -EXDEV, NULL, NULL},
    {STR("/../etc/passwd"), -EXDEV, NULL, NULL},
    {STR("a/../../outside/secret"), -EXDEV, NULL, NULL},
    {STR("out/secret"), -EXDEV, NULL, NULL},
    {STR("etc/passwd"), -EXDEV, NULL, NULL},
    {STR("../wsx"), -EXDEV, NULL, NULL},
    {STR("a/b/up/.."), -EXDEV, NULL, NULL},
    {STR("a\0b"), -EXDEV, NULL, NULL},
    {STR("loop1/x"), -ELOOP, NULL, NULL},
};

T_TEST(root_resolves)
{
    Fixture f = setup();

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        RootPath got = {.text = "untouched"};

        t_row(ROWS[i].path.ptr);
        T_EQ_INT(root_resolve(f.root, ROWS[i].path, true, &got), ROWS[i].result);
        T_EQ_STR(got.text, ROWS[i].result < 0 ? "untouched" : ROWS[i].want);
        if (ROWS[i].result == 0) {
            T_EQ_INT(got.len, strlen(got.text));
            T_OK(root_resolve(f.root, ROWS[i].path, false, &got));
            T_EQ_STR(got.text, ROWS[i].link ? ROWS[i].link : ROWS[i].want);
        }
    }
    t_row(NULL);
    teardown(&f);
}

T_TEST(root_resolves_long_names)
{
    Fixture f = setup();
    RootPath got;
    AUTO(strbuf) StrBuf path = STRBUF_INIT(1 << 20);

    for (int i = 0; i < 256; i++) {
        strbuf_append_char(&path, 'n');
    }
    T_EQ_INT(root_resolve(f.root, strbuf_str(&path), true, &got), -ENAMETOOLONG);
    strbuf_clear(&path);
    for (int i = 0; i < 3000; i++) {
        strbuf_append_cstr(&path, "d/");
    }
    T_EQ_INT(root_resolve(f.root, strbuf_str(&path), true, &got), -ENAMETOOLONG);
    for (int i = 0; i < 100000; i++) {
        strbuf_append_cstr(&path, "./");
    }
    T_EQ_INT(root_resolve(f.root, strbuf_str(&path), true, &got), -ENAMETOOLONG);
    teardown(&f);
}

T_TEST(root_absolute_paths_below_the_base)
{
    Fixture f = setup();
    AUTO(strbuf) StrBuf path = STRBUF_INIT(4096);
    RootPath got;

    strbuf_printf(&path, "%s/a/b", root_base(f.root));
    T_OK(root_resolve_absolute(f.root, strbuf_str(&path), &got));
    T_EQ_STR(got.text, "a/b");
    T_OK(root_resolve_absolute(f.root, str_from(root_base(f.root)), &got));
    T_EQ_STR(got.text, ".");
    T_OK(root_resolve_absolute(f.root, STR("/a"), &got));
    T_EQ_STR(got.text, "a");
    T_EQ_INT(root_resolve_absolute(f.root, STR("/../x"), &got), -EXDEV);
    teardown(&f);
}

/* The second line of defence: a canonical path in which somebody put a link after resolving. */
T_TEST(root_open_follows_no_link)
{
    Fixture f = setup();
    RootPath path = {.len = 10, .text = "out/secret"};
    struct stat st;

    T_EQ_INT(root_openat(f.root, &path, O_RDONLY), -ELOOP);
    T_EQ_INT(root_open_file(f.root, &path, &st), -ELOOP);
    T_EQ_INT(root_stat(f.root, &path, &st), -ELOOP);
    snprintf(path.text, sizeof(path.text), "out/new");
    T_EQ_INT(root_make_dirs(f.root, &path), -ELOOP);
    snprintf(path.text, sizeof(path.text), "../outside");
    T_EQ_INT(root_openat(f.root, &path, O_RDONLY), -EXDEV);
    teardown(&f);
}

T_TEST(root_opens_regular_files_only)
{
    Fixture f = setup();
    RootPath path = {.len = 1, .text = "a"};
    struct stat st;
    AUTO(fd) int fd = -1;

    T_EQ_INT(root_open_file(f.root, &path, &st), -ENOENT);
    T_OK(mkfifoat(f.ws, "fifo", 0644));
    snprintf(path.text, sizeof(path.text), "fifo");
    T_EQ_INT(root_open_file(f.root, &path, &st), -ENOENT); /* and it did not hang */
    snprintf(path.text, sizeof(path.text), "a/b/file");
    fd = root_open_file(f.root, &path, &st);
    T_CHECK(fd >= 0);
    T_EQ_INT(st.st_size, 5);
    teardown(&f);
}

T_TEST(root_makes_directories)
{
    Fixture f = setup();
    RootPath path = {.len = 7, .text = "x/y/z/w"};
    AUTO(fd) int fd = root_make_dirs(f.root, &path);
    AUTO(fd) int again = root_make_dirs(f.root, &path);
    struct stat a, b;

    T_CHECK(fd >= 0 && again >= 0);
    T_OK(fstat(fd, &a));
    T_OK(fstatat(f.ws, "x/y/z/w", &b, 0));
    T_EQ_INT(a.st_ino, b.st_ino);
    snprintf(path.text, sizeof(path.text), "a/b/file/deep");
    T_EQ_INT(root_make_dirs(f.root, &path), -ENOTDIR);
    teardown(&f);
}

T_TEST(root_refuses_a_base_that_is_no_directory)
{
    Root *root = NULL;
    Err err = ERR_INIT;

    T_CHECK(root_open("/dev/null", &root, &err) < 0);
    T_CONTAINS(err.msg, "/dev/null");
    T_CHECK(root_open("/nonexistent/deep/base", &root, &err) < 0);
    T_CHECK(root == NULL);
}

T_TEST(root_of_everything)
{
    Root *root;
    RootPath path;
    Err err = ERR_INIT;

    T_OK(root_open("/", &root, &err));
    T_OK(root_resolve(root, STR("../../etc/./passwd"), true, &path));
    T_EQ_STR(path.text, "etc/passwd");
    T_OK(root_resolve(root, STR(""), true, &path));
    T_EQ_STR(path.text, ".");
    root_free(root);
}
