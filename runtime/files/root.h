/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The one directory that the file API may touch.
 *
 * A request's path becomes a canonical one in two steps. root_resolve() follows symbolic links and
 * `..` the way realpath does, component by component, with missing names allowed, and refuses what
 * ends outside. The result has no links and no `..` in it, and every open of it goes through
 * openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS: if somebody puts a
 * link in between, the kernel refuses. So the first step decides what is meant, the second what is
 * safe, and no race between them leads outside.
 *
 * Leading slashes are dropped: /etc/x means etc/x below the root. Bytes are taken as they are.
 */
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#define ROOT_LINKS_MAX 40 /* symbolic links followed for one path, as the kernel does */

typedef struct Root Root;

/* A canonical path relative to the root: "." or "a/b", no links, no "..", NUL-terminated. */
typedef struct RootPath {
    size_t len;
    char text[PATH_MAX];
} RootPath;

/*
 * Opens `base`, making it when it is missing and that is possible. Fails when the kernel has no
 * openat2 or a filter forbids it: without it nothing is served.
 */
int root_open(const char *base, Root **ret_root, Err *reterr);
Root *root_free(Root *root);             /* NULL is fine; returns NULL */
const char *root_base(const Root *root); /* absolute and canonical */

/*
 * Where `path` leads. With `follow` false the last component is not followed when it is a link.
 * -EXDEV: outside, or a NUL in the path. -ELOOP: too many links. -ENAMETOOLONG.
 */
int root_resolve(const Root *root, Str path, bool follow, RootPath *ret_path);
/* As above, but an absolute path that lies below the base means that place. */
int root_resolve_absolute(const Root *root, Str path, RootPath *ret_path);

/* openat2 of a canonical path. A descriptor or -errno. */
int root_openat(const Root *root, const RootPath *path, int flags);
/* A regular file for reading, never blocking. Anything else is -ENOENT. */
int root_open_file(const Root *root, const RootPath *path, struct stat *ret_stat);
/* 0 or -errno. */
int root_stat(const Root *root, const RootPath *path, struct stat *ret_stat);
/* Opens the directory, making what is missing (0777 less umask). A descriptor or -errno. */
int root_make_dirs(const Root *root, const RootPath *path);

/* Splits "a/b/c" into "a/b" and "c"; *ret_name points into `path`. -EISDIR for the root. */
int root_path_split(const RootPath *path, RootPath *ret_parent, const char **ret_name);

DEFINE_AUTO_PTR(root, Root, root_free)
