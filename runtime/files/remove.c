/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/files/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/exec/fds.h"

int remove_open(const Root *root, Str path, RemoveTarget *ret_target)
{
    RootPath target, parent;
    const char *name;
    int fd;
    int r = root_resolve(root, path, false, &target);

    if (r < 0) {
        return r;
    }
    r = root_path_split(&target, &parent, &name);
    if (r < 0) {
        return -EPERM;
    }
    fd = root_openat(root, &parent, O_PATH | O_DIRECTORY);
    if (fd < 0) {
        return fd;
    }
    ret_target->parent_fd = fd;
    snprintf(ret_target->name, sizeof(ret_target->name), "%s", name);
    return 0;
}

void remove_close(RemoveTarget *target)
{
    fd_close(&target->parent_fd);
}

static int unlink_any(int dir_fd, const char *name)
{
    if (unlinkat(dir_fd, name, 0) == 0) {
        return 0;
    }
    if (errno != EISDIR && errno != EPERM) {
        return -errno;
    }
    if (unlinkat(dir_fd, name, AT_REMOVEDIR) == 0) {
        return 0;
    }
    return errno == EEXIST ? -ENOTEMPTY : -errno;
}

int remove_one(const RemoveTarget *target)
{
    return unlink_any(target->parent_fd, target->name);
}

static DIR *open_dir(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (fd >= 0 && !dir) {
        close(fd);
    }
    return dir;
}

/* Moves a directory that is not empty to the top, under a name of its own. */
static int lift(int dir_fd, const char *name, int top_fd, uint64_t *counter)
{
    for (;;) {
        char lifted[48];

        snprintf(lifted, sizeof(lifted), ".cofferdam-remove-%llu",
                 (unsigned long long)(*counter)++);
        if (renameat2(dir_fd, name, top_fd, lifted, RENAME_NOREPLACE) == 0) {
            return 0;
        }
        if (errno != EEXIST) {
            return errno == ENOENT ? 0 : -errno;
        }
    }
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes the entries of a directory below the top one; what is not empty goes up. */
static int empty_below(int top_fd, const char *name, uint64_t *counter)
{
    DIR *dir = open_dir(top_fd, name);
    struct dirent *entry;
    int r = 0;

    if (!dir) {
        return errno == ENOENT ? 0 : -errno;
    }
    while (r == 0 && (entry = readdir(dir))) {
        if (is_dot(entry->d_name)) {
            continue;
        }
        r = unlink_any(dirfd(dir), entry->d_name);
        if (r == -ENOTEMPTY) {
            r = lift(dirfd(dir), entry->d_name, top_fd, counter);
        } else if (r == -ENOENT) {
            r = 0;
        }
    }
    closedir(dir);
    return r;
}

/* 1: something was found. 0: the directory is empty. -errno. */
static int empty_pass(DIR *top, uint64_t *counter)
{
    struct dirent *entry;
    int found = 0;

    rewinddir(top);
    while ((entry = readdir(top))) {
        int r;

        if (is_dot(entry->d_name)) {
            continue;
        }
        found = 1;
        r = unlink_any(dirfd(top), entry->d_name);
        if (r == -ENOTEMPTY) {
            r = empty_below(dirfd(top), entry->d_name, counter);
        }
        if (r < 0 && r != -ENOENT) {
            return r;
        }
    }
    return found;
}

int remove_tree(void *arg)
{
    const RemoveTarget *target = arg;
    int r = remove_one(target);
    uint64_t counter = 0;
    DIR *top;

    if (r != -ENOTEMPTY) {
        return r;
    }
    top = open_dir(target->parent_fd, target->name);
    if (!top) {
        return -errno;
    }
    r = 1;
    for (int pass = 0; r > 0 && pass < REMOVE_PASSES_MAX; pass++) {
        r = empty_pass(top, &counter);
    }
    closedir(top);
    return r < 0 ? r : remove_one(target);
}
