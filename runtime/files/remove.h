/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Removing a file, a link (never what it leads to) or a directory.
 *
 * A whole tree is removed without recursion: directories found below are moved up to the top one
 * and emptied there, so depth costs neither stack nor descriptors.
 */
#include "runtime/files/root.h"

#define REMOVE_PASSES_MAX 100000 /* re-reads of the top directory while others keep filling it */

/* A place to remove: the parent is open, so that it cannot be exchanged under the removal. */
typedef struct RemoveTarget {
    int parent_fd;
    char name[NAME_MAX + 1];
} RemoveTarget;

/* -EXDEV outside, -EPERM for the root itself, -ENOENT, -EACCES, ... */
int remove_open(const Root *root, Str path, RemoveTarget *ret_target);
void remove_close(RemoveTarget *target);

/* A file, a link or an empty directory. -ENOTEMPTY otherwise. */
int remove_one(const RemoveTarget *target);
/* With all that is below. Slow: meant for a Task (takes a RemoveTarget as void *). */
int remove_tree(void *target);
