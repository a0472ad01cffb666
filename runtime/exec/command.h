/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One running command as the main loop sees it: its supervisor, two output pipes, a deadline.
 *
 * The result is delivered once, when the command has ended and both pipes are drained. A process
 * that the command left in the background may hold a pipe open for ever: COMMAND_DRAIN_NS after the
 * command's own end the result goes out without it, and the process lives on. On timeout the whole
 * tree is killed, and nothing is waited for longer than COMMAND_KILL_NS.
 *
 * The supervisors are children of this process: a Reaper must collect them on SIGCHLD.
 *
 * Ownership: a Command belongs to its Executor. The callback must take what it wants from the
 * captures; after it, or after command_cancel(), the pointer is dead. Cancelling kills the tree in
 * the background and guarantees that the callback does not come.
 */
#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "runtime/exec/capture.h"

#define COMMAND_DRAIN_NS (2 * NS_PER_S)
#define COMMAND_KILL_NS (7 * NS_PER_S) /* a little more than the supervisor's own limit */
#define COMMAND_READ_SIZE (64 * 1024)
#define COMMAND_READS_MAX                                                                          \
    8 /* reads of one pipe a tick: a fast writer does not starve the others                        \
       */

typedef struct Executor Executor;
typedef struct Command Command;

typedef struct CommandSpec {
    char *const *argv; /* at least one word */
    char *const *envp;
    Str path;   /* value of PATH for the lookup; STR_NULL = the default */
    int cwd_fd; /* borrowed for the call */
    uint64_t timeout_ns;
    size_t output_max; /* bytes kept of each stream */
} CommandSpec;

typedef struct CommandResult {
    int spawn_errno; /* positive: the command never ran */
    int status;      /* as from waitpid; only when spawn_errno is 0 */
    bool lost;       /* the supervisor was killed, so the status is not known */
    bool timed_out;
    bool survivors; /* processes that SIGKILL did not end within the limit */
    uint64_t duration_ns;
    Capture *out; /* borrowed; capture_take() moves it, but not beyond the executor's life */
    Capture *err;
} CommandResult;

typedef void (*CommandFn)(const CommandResult *result, void *ctx);

/* `output_total`: bytes that the captures of all commands may hold together, see capture.h. */
Executor *executor_new(Loop *loop, size_t output_total);
/* Kills what runs (no callbacks) without waiting. NULL is fine; returns NULL. */
Executor *executor_free(Executor *executor);
size_t executor_running(const Executor *executor); /* commands whose result is not delivered yet */

/*
 * 0: the callback will come, never from inside this call. -errno: the program cannot be started
 * (-ENOENT, -EACCES and so on from the lookup; -EMFILE, -EAGAIN, -ENOMEM from the kernel).
 */
int command_start(Executor *executor, const CommandSpec *spec, CommandFn fn, void *ctx,
                  Command **ret_command);
void command_cancel(Command *command);

DEFINE_AUTO_PTR(executor, Executor, executor_free)
