/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/files/list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/mem.h"
#include "runtime/exec/fds.h"
#include "runtime/files/stage.h"

struct Lister {
    const Root *root;
    DIR *dir;
    RootPath path;
};

int lister_open(const Root *root, const RootPath *path, Lister **ret_lister)
{
    AUTO(fd) int fd = root_openat(root, path, O_RDONLY | O_DIRECTORY);
    DIR *dir;
    Lister *lister;

    if (fd < 0) {
        return fd;
    }
    dir = fdopendir(fd);
    if (!dir) {
        return -errno;
    }
    fd_take(&fd);
    lister = xcalloc(1, sizeof(*lister));
    lister->root = root;
    lister->dir = dir;
    lister->path = *path;
    *ret_lister = lister;
    return 0;
}

Lister *lister_free(Lister *lister)
{
    if (lister) {
        closedir(lister->dir);
        free(lister);
    }
    return NULL;
}

/* Replaces the link's own data by its target's, when that is inside and there. */
static void describe_target(const Lister *lister, const char *name, struct stat *st)
{
    AUTO(strbuf) StrBuf path = STRBUF_INIT(PATH_MAX);
    RootPath target;
    struct stat found;

    strbuf_append(&path, (Str){lister->path.text, lister->path.len});
    strbuf_append_char(&path, '/');
    if (strbuf_append_cstr(&path, name) == 0 &&
        root_resolve(lister->root, strbuf_str(&path), true, &target) == 0 &&
        root_stat(lister->root, &target, &found) == 0) {
        *st = found;
    }
}

static bool is_hidden(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strncmp(name, STAGE_PREFIX, strlen(STAGE_PREFIX)) == 0;
}

int lister_next(Lister *lister, ListEntry *ret_entry)
{
    struct dirent *entry;
    struct stat st;

    for (;;) {
        errno = 0;
        entry = readdir(lister->dir);
        if (!entry) {
            return -errno;
        }
        if (!is_hidden(entry->d_name) &&
            fstatat(dirfd(lister->dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            break; /* else it is gone since it was read */
        }
    }
    if (S_ISLNK(st.st_mode)) {
        describe_target(lister, entry->d_name, &st);
    }
    *ret_entry = (ListEntry){
        .name = str_from(entry->d_name),
        .size = (uint64_t)st.st_size,
        .directory = S_ISDIR(st.st_mode),
        .mtime_s = st.st_mtim.tv_sec,
        .mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
    };
    return 1;
}
