/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads, listings and removals on a real directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/exec/fds.h"
#include "runtime/files/list.h"
#include "runtime/files/remove.h"
#include "runtime/files/root.h"
#include "runtime/files/stage.h"
#include "test/harness/t.h"

typedef struct Fixture {
    Root *root;
    int ws;
} Fixture;

static Fixture setup(void)
{
    Fixture f;
    Err err = ERR_INIT;

    T_OK(root_open(t_tmpdir(), &f.root, &err));
    f.ws = open(root_base(f.root), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f;
}

static void teardown(Fixture *f)
{
    close(f->ws);
    root_free(f->root);
}

static Str read_back(const Fixture *f, const char *name)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/%s", root_base(f->root), name);
    return t_read_file(path);
}

/* Names in the directory, in no order; returns how many. */
static int count(const Fixture *f, Str path, const char *want, ListEntry *ret_entry)
{
    Lister *lister;
    ListEntry entry;
    RootPath target;
    int n = 0;

    T_OK(root_resolve(f->root, path, true, &target));
    T_OK(lister_open(f->root, &target, &lister));
    for (; lister_next(lister, &entry) > 0; n++) {
        if (want && str_eq(entry.name, str_from(want))) {
            *ret_entry = entry;
        }
    }
    lister_free(lister);
    return n;
}

static void upload(const Fixture *f, Str path, Str bytes)
{
    Stage *stage;

    T_OK(stage_open(f->root, path, &stage));
    T_OK(stage_write(stage, bytes));
    T_OK(stage_commit(stage));
    stage_free(stage, true);
}

T_TEST(stage_appears_only_when_it_is_whole)
{
    Fixture f = setup();
    Stage *stage;

    T_OK(stage_open(f.root, STR("/d/e/new.txt"), &stage));
    T_OK(stage_write(stage, STR("one ")));
    T_CHECK(faccessat(f.ws, "d/e/new.txt", F_OK, 0) < 0);
    T_EQ_INT(count(&f, STR("d/e"), NULL, NULL), 0); /* the temporary file is not listed */
    T_OK(stage_write(stage, STR("two")));
    T_OK(stage_commit(stage));
    stage_free(stage, true);
    T_EQ_STR(read_back(&f, "d/e/new.txt"), "one two");
    T_EQ_INT(count(&f, STR("d/e"), NULL, NULL), 1);
    teardown(&f);
}

T_TEST(stage_dropped_leaves_nothing)
{
    Fixture f = setup();
    Stage *stage;
    int dir;

    upload(&f, STR("keep"), STR("old"));
    T_OK(stage_open(f.root, STR("keep"), &stage));
    T_OK(stage_write(stage, STR("new")));
    stage_free(stage, false);
    T_EQ_STR(read_back(&f, "keep"), "old");
    dir = openat(f.ws, ".", O_RDONLY | O_DIRECTORY);
    T_EQ_INT(unlinkat(f.ws, "keep", 0), 0);
    T_EQ_INT(unlinkat(AT_FDCWD, root_base(f.root), AT_REMOVEDIR), 0); /* it was empty */
    close(dir);
    teardown(&f);
}

T_TEST(stage_keeps_the_mode_and_follows_links_inside)
{
    Fixture f = setup();
    struct stat st;

    upload(&f, STR("tool"), STR("#!/bin/sh\n"));
    T_OK(fchmodat(f.ws, "tool", 0750, 0));
    T_OK(symlinkat("tool", f.ws, "link"));
    upload(&f, STR("link"), STR("#!/bin/dash\n"));
    T_EQ_STR(read_back(&f, "tool"), "#!/bin/dash\n");
    T_OK(fstatat(f.ws, "tool", &st, AT_SYMLINK_NOFOLLOW));
    T_EQ_INT(st.st_mode & 07777, 0750);
    T_OK(fstatat(f.ws, "link", &st, AT_SYMLINK_NOFOLLOW));
    T_CHECK(S_ISLNK(st.st_mode));
    upload(&f, STR("newdir/"), STR("a file all the same"));
    T_EQ_STR(read_back(&f, "newdir"), "a file all the same");
    teardown(&f);
}

T_TEST(stage_refuses)
{
    Fixture f = setup();
    Stage *stage = NULL;

    mkdirat(f.ws, "dir", 0755);
    upload(&f, STR("file"), STR("x"));
    T_OK(symlinkat("/tmp", f.ws, "out"));
    T_EQ_INT(stage_open(f.root, STR("../../x"), &stage), -EXDEV);
    T_EQ_INT(stage_open(f.root, STR("out/x"), &stage), -EXDEV);
    T_EQ_INT(stage_open(f.root, STR("out"), &stage), -EXDEV);
    T_EQ_INT(stage_open(f.root, STR("dir"), &stage), -EISDIR);
    T_EQ_INT(stage_open(f.root, STR(""), &stage), -EISDIR);
    T_EQ_INT(stage_open(f.root, STR("file/x"), &stage), -ENOTDIR);
    T_CHECK(stage == NULL);
    teardown(&f);
}

T_TEST(lister_describes_entries)
{
    Fixture f = setup();
    ListEntry e = {0};
    RootPath path = {.len = 1, .text = "f"};
    Lister *lister;

    upload(&f, STR("f"), STR("12345"));
    mkdirat(f.ws, "d", 0755);
    T_OK(symlinkat("d", f.ws, "to-dir"));
    T_OK(symlinkat("f", f.ws, "to-file"));
    T_OK(symlinkat("gone", f.ws, "dangling"));
    T_OK(symlinkat("/etc", f.ws, "out"));
    T_OK(mkfifoat(f.ws, "fifo", 0644));
    T_EQ_INT(count(&f, STR(""), "f", &e), 7);
    T_CHECK(e.size == 5 && !e.directory && e.mtime_s > 1000000000);
    count(&f, STR(""), "to-dir", &e);
    T_CHECK(e.directory);
    count(&f, STR(""), "to-file", &e);
    T_CHECK(!e.directory && e.size == 5);
    count(&f, STR(""), "dangling", &e);
    T_CHECK(!e.directory && e.size == 4); /* the link itself */
    count(&f, STR(""), "out", &e);
    T_CHECK(!e.directory && e.size == 4); /* nothing about /etc */
    count(&f, STR(""), "fifo", &e);
    T_CHECK(!e.directory);
    T_EQ_INT(lister_open(f.root, &path, &lister), -ENOTDIR);
    teardown(&f);
}

static int removal(const Fixture *f, Str path, bool tree)
{
    RemoveTarget target;
    int r = remove_open(f->root, path, &target);

    if (r < 0) {
        return r;
    }
    r = tree ? remove_tree(&target) : remove_one(&target);
    remove_close(&target);
    return r;
}

T_TEST(remove_one_by_one)
{
    Fixture f = setup();

    upload(&f, STR("d/f"), STR("x"));
    T_OK(symlinkat("d", f.ws, "link"));
    T_OK(symlinkat("/etc/passwd", f.ws, "out"));
    T_EQ_INT(removal(&f, STR("d"), false), -ENOTEMPTY);
    T_OK(removal(&f, STR("link"), false));
    T_OK(removal(&f, STR("out"), false));
    T_OK(faccessat(f.ws, "d/f", F_OK, 0));
    T_OK(faccessat(AT_FDCWD, "/etc/passwd", F_OK, 0));
    T_OK(removal(&f, STR("d/f"), false));
    T_OK(removal(&f, STR("d"), false));
    T_EQ_INT(removal(&f, STR("d"), false), -ENOENT);
    T_EQ_INT(removal(&f, STR("d/f"), false), -ENOENT);
    T_EQ_INT(removal(&f, STR("."), true), -EPERM);
    T_EQ_INT(removal(&f, STR(""), true), -EPERM);
    T_EQ_INT(removal(&f, STR("../x"), true), -EXDEV);
    teardown(&f);
}

/* Deeper than PATH_MAX and wider than one read of a directory. */
T_TEST(remove_a_deep_and_wide_tree)
{
    Fixture f = setup();
    int fd = f.ws;
    char name[32];

    for (int i = 0; i < 1500; i++) {
        int next;

        T_OK(mkdirat(fd, "deep", 0755));
        next = openat(fd, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        T_CHECK(next >= 0);
        T_OK(symlinkat("/etc", next, "link"));
        if (fd != f.ws) {
            close(fd);
        }
        fd = next;
    }
    close(fd);
    fd = openat(f.ws, "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        T_OK(mkdirat(fd, name, 0755));
        T_OK(symlinkat("x", fd, name + 1));
    }
    close(fd);
    T_OK(removal(&f, STR("deep"), true));
    T_EQ_INT(count(&f, STR(""), NULL, NULL), 0);
    T_OK(faccessat(AT_FDCWD, "/etc/passwd", F_OK, 0));
    teardown(&f);
}
