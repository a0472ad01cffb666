/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A piece of file work that may take long (flushing a big upload, removing a big tree), done in a
 * forked child so that the loop never waits for a disk. Its outcome is an errno, carried by the
 * exit status. Cancelling kills the child; the callback then does not come.
 */
#include "runtime/exec/reap.h"

typedef struct Task Task;
/* Runs in the child. Returns 0 or -errno. */
typedef int (*TaskFn)(void *ctx);
/* r: what fn returned, or -EIO when the child was killed. */
typedef void (*TaskDoneFn)(Task *task, int r);

struct Task {
    ReapEntry reap;
    TaskDoneFn done;
};

#define TASK_FDS_MAX 4

/* `keep`: descriptors that fn uses; all others are closed in the child. 0 or -errno from fork. */
int task_start(Task *task, Reaper *reaper, TaskFn fn, void *ctx, const int *keep, size_t n_keep,
               TaskDoneFn done);
void task_cancel(Task *task); /* does nothing when it is not running */
