/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Entries of a directory, one at a time, in the order of the file system. A link is described by
 * what it leads to, or by itself when that is missing or outside of the root.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "runtime/files/root.h"

typedef struct Lister Lister;

typedef struct ListEntry {
    Str name; /* valid until the next call */
    uint64_t size;
    bool directory;
    int64_t mtime_s;
    uint32_t mtime_ns;
} ListEntry;

/* `root` must outlive the lister. -ENOENT, -ENOTDIR, -EACCES, ... */
int lister_open(const Root *root, const RootPath *path, Lister **ret_lister);
Lister *lister_free(Lister *lister); /* NULL is fine; returns NULL */
/* 1: an entry. 0: the end. -errno. */
int lister_next(Lister *lister, ListEntry *ret_entry);

DEFINE_AUTO_PTR(lister, Lister, lister_free)
