/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/files/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "runtime/exec/fds.h"

struct Stage {
    int dir_fd;
    int fd;
    char name[NAME_MAX + 1];
    char temp[48];
};

static int create_temp(Stage *stage)
{
    uint64_t random;

    rng_os_fill(&random, sizeof(random));
    snprintf(stage->temp, sizeof(stage->temp), STAGE_PREFIX "%016" PRIx64, random);
    stage->fd = openat(stage->dir_fd, stage->temp,
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (stage->fd < 0) {
        int r = -errno;

        stage->temp[0] = '\0';
        return r;
    }
    return 0;
}

int stage_open(const Root *root, Str path, Stage **ret_stage)
{
    AUTO(stage) Stage *stage = xcalloc(1, sizeof(*stage));
    RootPath target, parent;
    const char *name;
    struct stat st;
    int r;

    stage->fd = stage->dir_fd = -1;
    r = root_resolve(root, path, true, &target);
    if (r < 0) {
        return r;
    }
    r = root_path_split(&target, &parent, &name);
    if (r < 0) {
        return r;
    }
    snprintf(stage->name, sizeof(stage->name), "%s", name);
    stage->dir_fd = root_make_dirs(root, &parent);
    if (stage->dir_fd < 0) {
        return stage->dir_fd;
    }
    if (fstatat(stage->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
        return -EISDIR;
    }
    r = create_temp(stage);
    if (r < 0) {
        return r;
    }
    *ret_stage = TAKE(stage);
    return 0;
}

int stage_write(Stage *stage, Str bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(stage->fd, bytes.ptr, bytes.len);

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        bytes = str_drop(bytes, n > 0 ? (size_t)n : 0);
    }
    return 0;
}

int stage_commit(void *arg)
{
    Stage *stage = arg;
    struct stat st;

    if (fstatat(stage->dir_fd, stage->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        fchmod(stage->fd, st.st_mode & 07777) < 0) {
        return -errno;
    }
    if (fsync(stage->fd) < 0 ||
        renameat(stage->dir_fd, stage->temp, stage->dir_fd, stage->name) < 0) {
        return -errno;
    }
    /* Some file systems cannot flush a directory; the file itself is complete either way. */
    (void)!fsync(stage->dir_fd);
    return 0;
}

void stage_fds(const Stage *stage, int ret_fds[2])
{
    ret_fds[0] = stage->dir_fd;
    ret_fds[1] = stage->fd;
}

Stage *stage_free(Stage *stage, bool committed)
{
    if (stage) {
        if (stage->temp[0] && !committed) {
            unlinkat(stage->dir_fd, stage->temp, 0);
        }
        fd_close(&stage->fd);
        fd_close(&stage->dir_fd);
        free(stage);
    }
    return NULL;
}
