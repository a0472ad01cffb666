/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A file on its way in: bytes go into a temporary file beside the target and take its name in one
 * rename, so that nobody ever sees half of it. Missing directories are made; the mode of a file
 * that is replaced is kept. An upload that ends early leaves nothing but those directories.
 */
#include "base/attr.h"
#include "runtime/files/root.h"

#define STAGE_PREFIX ".cofferdam-upload-" /* listings leave these names out */

typedef struct Stage Stage;

/* -EXDEV outside of the root, -EISDIR, -ENOTDIR, -EACCES, -ENOSPC, ... */
int stage_open(const Root *root, Str path, Stage **ret_stage);
int stage_write(Stage *stage, Str bytes);
/*
 * Flushes the file to the disk, renames it, flushes the directory. Slow: meant for a Task (it takes
 * a Stage as void *). The stage must still be freed.
 */
int stage_commit(void *stage);
/* Descriptors that stage_commit needs. */
void stage_fds(const Stage *stage, int ret_fds[2]);
/* Removes the temporary file unless `committed`. NULL is fine; returns NULL. */
Stage *stage_free(Stage *stage, bool committed);

static inline void stage_drop(Stage *stage)
{
    stage_free(stage, false);
}

DEFINE_AUTO_PTR(stage, Stage, stage_drop)
