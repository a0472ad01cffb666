/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/filemark.h"
#include "test/harness/t.h"

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    T_CHECK(fd >= 0);
    T_EQ_INT(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

T_TEST(a_file_is_marked_until_it_is_another_one)
{
    char folder[] = "/tmp/filemark-XXXXXX";
    char path[64], other[64], link[64];
    FileMark mark = {0};

    T_CHECK(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a", folder);
    snprintf(other, sizeof(other), "%s/b", folder);
    snprintf(link, sizeof(link), "%s/link", folder);
    T_CHECK(!file_mark_changed(&mark, path)); /* no such file */
    put(path, "one");
    T_CHECK(file_mark_changed(&mark, path));
    T_CHECK(!file_mark_changed(&mark, path));
    put(path, "longer"); /* in place */
    T_CHECK(file_mark_changed(&mark, path));
    T_OK(unlink(path));
    T_CHECK(!file_mark_changed(&mark, path)); /* away for a moment */
    put(path, "longer");
    T_CHECK(file_mark_changed(&mark, path));
    put(other, "longer");
    T_OK(rename(other, path)); /* over it, of the same size */
    T_CHECK(file_mark_changed(&mark, path));
    T_CHECK(!file_mark_changed(&mark, path));
    put(other, "longer");
    T_OK(symlink(path, link));
    T_CHECK(!file_mark_changed(&mark, link)); /* the same file by another name */
    T_OK(unlink(link));
    T_OK(symlink(other, link)); /* as a mounted volume swaps its contents */
    T_CHECK(file_mark_changed(&mark, link));
    T_OK(unlink(link));
    T_OK(unlink(other));
    T_OK(unlink(path));
    T_OK(rmdir(folder));
}
