/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/task.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "runtime/exec/fds.h"

static void on_ended(ReapEntry *entry, int status)
{
    Task *task = container_of(entry, Task, reap);

    task->done(task, WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO);
}

int task_start(Task *task, Reaper *reaper, TaskFn fn, void *ctx, const int *keep, size_t n_keep,
               TaskDoneFn done)
{
    int kept[TASK_FDS_MAX + 1] = {STDERR_FILENO};
    pid_t pid;

    CHECK(n_keep <= TASK_FDS_MAX);
    pid = fork();
    if (pid < 0) {
        return -errno;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        memcpy(kept + 1, keep, n_keep * sizeof(*keep));
        fds_close_except(kept, n_keep + 1);
        _exit(-fn(ctx));
    }
    task->done = done;
    reaper_add(reaper, &task->reap, pid, on_ended);
    return 0;
}

void task_cancel(Task *task)
{
    if (task->reap.reaper) {
        kill(task->reap.pid, SIGKILL);
        reaper_remove(&task->reap);
    }
}
