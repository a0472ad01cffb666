/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/files/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "runtime/exec/fds.h"
#include "runtime/files/root_impl.h"

#define ROOT_RESOLVE (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int open_beneath(int dir_fd, const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)flags | O_CLOEXEC, .resolve = ROOT_RESOLVE};
    long fd;

    do {
        /* -EAGAIN: the kernel could not rule out a race with a rename; it asks for another try */
        fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
    } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
    return fd < 0 ? -errno : (int)fd;
}

static int check_kernel(Root *root, Err *reterr)
{
    AUTO(fd) int fd = open_beneath(root->fd, ".", O_PATH | O_DIRECTORY);

    if (fd == -ENOSYS) {
        return err_set(
            reterr, ENOSYS,
            "this kernel has no openat2 (Linux 5.6), which keeps file requests inside %s",
            root->base);
    }
    if (fd < 0) {
        return err_set_errno(reterr, -fd, "openat2 in %s (is it forbidden by a seccomp profile?)",
                             root->base);
    }
    return 0;
}

int root_open(const char *base, Root **ret_root, Err *reterr)
{
    AUTO(root) Root *root = xcalloc(1, sizeof(*root));
    int r;

    root->fd = -1;
    (void)!mkdir(base, 0777); /* a failure shows in the next step */
    root->base = realpath(base, NULL);
    if (!root->base) {
        return err_set_errno(reterr, errno, "base directory %s", base);
    }
    root->base_len = strlen(root->base);
    root->fd = open(root->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->fd < 0) {
        return err_set_errno(reterr, errno, "base directory %s", root->base);
    }
    r = check_kernel(root, reterr);
    if (r < 0) {
        return r;
    }
    *ret_root = TAKE(root);
    return 0;
}

Root *root_free(Root *root)
{
    if (root) {
        fd_close(&root->fd);
        free(root->base);
        free(root);
    }
    return NULL;
}

const char *root_base(const Root *root)
{
    return root->base;
}

int root_openat(const Root *root, const RootPath *path, int flags)
{
    return open_beneath(root->fd, path->text, flags);
}

int root_open_file(const Root *root, const RootPath *path, struct stat *ret_stat)
{
    AUTO(fd) int fd = root_openat(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        return fd;
    }
    if (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode)) {
        return -ENOENT;
    }
    return fd_take(&fd);
}

int root_stat(const Root *root, const RootPath *path, struct stat *ret_stat)
{
    AUTO(fd) int fd = root_openat(root, path, O_PATH | O_NOFOLLOW);

    if (fd < 0) {
        return fd;
    }
    return fstat(fd, ret_stat) < 0 ? -errno : 0;
}

static int make_one(int parent_fd, const char *name)
{
    int fd = open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY);

    if (fd != -ENOENT) {
        return fd;
    }
    if (mkdirat(parent_fd, name, 0777) < 0 && errno != EEXIST) {
        return -errno;
    }
    return open_beneath(parent_fd, name, O_RDONLY | O_DIRECTORY);
}

int root_make_dirs(const Root *root, const RootPath *path)
{
    AUTO(fd) int fd = root_openat(root, path, O_RDONLY | O_DIRECTORY);
    RootPath rest = *path;
    char *save, *name;

    if (fd != -ENOENT) {
        return fd_take(&fd);
    }
    fd = open_beneath(root->fd, ".", O_RDONLY | O_DIRECTORY);
    name = strtok_r(rest.text, "/", &save);
    for (; name && fd >= 0; name = strtok_r(NULL, "/", &save)) {
        int next = make_one(fd, name);

        fd_close(&fd);
        fd = next;
    }
    return fd_take(&fd);
}

int root_path_split(const RootPath *path, RootPath *ret_parent, const char **ret_name)
{
    const char *slash = strrchr(path->text, '/');

    if (strcmp(path->text, ".") == 0) {
        return -EISDIR;
    }
    if (!slash) {
        *ret_parent = (RootPath){.len = 1, .text = "."};
        *ret_name = path->text;
        return 0;
    }
    ret_parent->len = (size_t)(slash - path->text);
    memcpy(ret_parent->text, path->text, ret_parent->len);
    ret_parent->text[ret_parent->len] = '\0';
    *ret_name = slash + 1;
    return 0;
}
