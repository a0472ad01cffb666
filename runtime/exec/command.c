/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "runtime/exec/fds.h"
#include "runtime/exec/lookup.h"
#include "runtime/exec/supervise.h"
#include "runtime/exec/tree.h"

typedef enum CommandPhase {
    COMMAND_RUNNING,
    COMMAND_DRAINING, /* the command has ended, a pipe is still open */
    COMMAND_KILLING,  /* the deadline has passed, the supervisor kills the tree */
} CommandPhase;

typedef struct CommandPipe {
    LoopIo io;
    int fd;
    Capture capture;
} CommandPipe;

struct Command {
    ListNode node;
    Executor *executor;
    CommandFn fn;
    void *ctx;
    CommandPhase phase;
    LoopIo control;
    int control_fd;
    CommandPipe pipes[2];
    LoopTimer timer;
    LoopDefer deliver;
    uint64_t started_ns;
    pid_t supervisor; /* also the session of the command */
    CommandResult result;
};

struct Executor {
    Loop *loop;
    List commands;
    size_t running;
    int null_fd;
    CaptureBudget output;
};

static void command_free(Command *c)
{
    loop_io_remove(&c->control);
    fd_close(&c->control_fd);
    for (int i = 0; i < 2; i++) {
        loop_io_remove(&c->pipes[i].io);
        fd_close(&c->pipes[i].fd);
        capture_deinit(&c->pipes[i].capture);
    }
    loop_timer_disarm(&c->timer);
    loop_defer_cancel(&c->deliver);
    if (list_node_is_linked(&c->node)) {
        list_remove(&c->node);
        c->executor->running--;
    }
    free(c);
}

DEFINE_AUTO_PTR(command, Command, command_free)

static void order(Command *c, SuperviseKind kind)
{
    SuperviseMessage message = {.kind = (int32_t)kind};

    /* A supervisor that is gone cannot take orders; its end is noticed elsewhere. */
    (void)!send(c->control_fd, &message, sizeof(message), MSG_NOSIGNAL);
}

/* Everything is known: the result goes out at the end of this tick. */
static void command_finish(Command *c)
{
    loop_timer_disarm(&c->timer);
    loop_io_remove(&c->control);
    loop_io_remove(&c->pipes[0].io);
    loop_io_remove(&c->pipes[1].io);
    loop_defer_post(c->executor->loop, &c->deliver);
}

static void on_deliver(LoopDefer *defer)
{
    Command *c = container_of(defer, Command, deliver);

    if (!c->result.timed_out) {
        order(c, SUPERVISE_RELEASE);
    }
    c->result.duration_ns = loop_now(c->executor->loop) - c->started_ns;
    c->result.out = &c->pipes[0].capture;
    c->result.err = &c->pipes[1].capture;
    list_remove(&c->node);
    c->executor->running--;
    c->fn(&c->result, c->ctx);
    command_free(c);
}

/* False when the pipe has ended. */
static bool read_pipe(CommandPipe *pipe)
{
    char bytes[COMMAND_READ_SIZE];

    for (int i = 0; i < COMMAND_READS_MAX; i++) {
        ssize_t n = read(pipe->fd, bytes, sizeof(bytes));

        if (n > 0) {
            capture_append(&pipe->capture, (Str){bytes, (size_t)n});
        } else if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return true;
        } else {
            return false;
        }
    }
    return true;
}

static void close_pipe(CommandPipe *pipe)
{
    loop_io_remove(&pipe->io);
    fd_close(&pipe->fd);
}

static bool pipes_open(const Command *c)
{
    return c->pipes[0].fd >= 0 || c->pipes[1].fd >= 0;
}

static void on_pipe(CommandPipe *pipe, Command *c)
{
    if (!read_pipe(pipe)) {
        close_pipe(pipe);
        if (c->phase == COMMAND_DRAINING && !pipes_open(c)) {
            command_finish(c);
        }
    }
}

static void on_stdout(LoopIo *io, uint32_t events)
{
    CommandPipe *pipe = container_of(io, CommandPipe, io);

    UNUSED(events);
    on_pipe(pipe, container_of(pipe, Command, pipes[0]));
}

static void on_stderr(LoopIo *io, uint32_t events)
{
    CommandPipe *pipe = container_of(io, CommandPipe, io);

    UNUSED(events);
    on_pipe(pipe, container_of(pipe, Command, pipes[1]));
}

/* The writers are dead: what the pipes still hold is all there will be. */
static void drain_now(Command *c)
{
    for (int i = 0; i < 2; i++) {
        if (c->pipes[i].fd >= 0 && !read_pipe(&c->pipes[i])) {
            close_pipe(&c->pipes[i]);
        }
    }
}

static void on_exited(Command *c, int status)
{
    c->result.status = status;
    if (c->phase != COMMAND_RUNNING) {
        return; /* killed: the tree is not down yet */
    }
    if (!pipes_open(c)) {
        command_finish(c);
        return;
    }
    c->phase = COMMAND_DRAINING;
    loop_timer_arm(c->executor->loop, &c->timer, loop_now(c->executor->loop) + COMMAND_DRAIN_NS);
}

static void on_message(Command *c, const SuperviseMessage *message)
{
    switch ((SuperviseKind)message->kind) {
    case SUPERVISE_STARTED:
        break;
    case SUPERVISE_FAILED:
        c->result.spawn_errno = message->value;
        command_finish(c);
        break;
    case SUPERVISE_EXITED:
        on_exited(c, message->value);
        break;
    case SUPERVISE_KILLED:
        c->result.survivors = message->value > 0;
        drain_now(c);
        command_finish(c);
        break;
    case SUPERVISE_RELEASE:
    case SUPERVISE_KILL:
    case SUPERVISE_KIND_MAX_:
        break;
    }
}

/* Somebody killed the supervisor: the command's session still goes down with it. */
static void on_lost(Command *c)
{
    loop_io_remove(&c->control);
    if (c->phase == COMMAND_DRAINING) {
        return;
    }
    tree_kill_session(c->supervisor);
    c->result.lost = c->phase == COMMAND_RUNNING;
    drain_now(c);
    command_finish(c);
}

static void on_control(LoopIo *io, uint32_t events)
{
    Command *c = container_of(io, Command, control);

    UNUSED(events);
    while (loop_io_is_added(&c->control)) {
        SuperviseMessage message;
        ssize_t n = recv(c->control_fd, &message, sizeof(message), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n != sizeof(message)) {
            on_lost(c);
            return;
        }
        on_message(c, &message);
    }
}

static void on_timer(LoopTimer *timer)
{
    Command *c = container_of(timer, Command, timer);

    switch (c->phase) {
    case COMMAND_RUNNING:
        c->phase = COMMAND_KILLING;
        c->result.timed_out = true;
        order(c, SUPERVISE_KILL);
        loop_timer_arm(c->executor->loop, &c->timer, loop_now(c->executor->loop) + COMMAND_KILL_NS);
        return;
    case COMMAND_DRAINING:
        command_finish(c);
        return;
    case COMMAND_KILLING:
        c->result.survivors = true;
        command_finish(c);
        return;
    }
}

static int open_pipe(CommandPipe *pipe, int *ret_write_fd)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -errno;
    }
    pipe->fd = fds[0];
    *ret_write_fd = fds[1];
    return fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int watch(Command *c)
{
    Loop *loop = c->executor->loop;
    int r = loop_io_add(loop, &c->control, c->control_fd, EPOLLIN, on_control);

    if (r == 0) {
        r = loop_io_add(loop, &c->pipes[0].io, c->pipes[0].fd, EPOLLIN, on_stdout);
    }
    if (r == 0) {
        r = loop_io_add(loop, &c->pipes[1].io, c->pipes[1].fd, EPOLLIN, on_stderr);
    }
    return r;
}

static int launch(Command *c, const CommandSpec *spec)
{
    AUTO(mem) char *program = NULL;
    AUTO(fd) int out = -1;
    AUTO(fd) int err = -1;
    int r = lookup_program(str_from(spec->argv[0]), spec->path, spec->cwd_fd, &program);

    if (r == 0) {
        r = open_pipe(&c->pipes[0], &out);
    }
    if (r == 0) {
        r = open_pipe(&c->pipes[1], &err);
    }
    if (r == 0) {
        const SuperviseSpec supervise = {
            program, spec->argv, spec->envp, spec->cwd_fd, c->executor->null_fd, out, err};

        r = supervise_start(&supervise, &c->supervisor, &c->control_fd);
    }
    return r == 0 ? watch(c) : r;
}

int command_start(Executor *executor, const CommandSpec *spec, CommandFn fn, void *ctx,
                  Command **ret_command)
{
    AUTO(command) Command *c = xcalloc(1, sizeof(*c));
    int r;

    CHECK(spec->argv[0]);
    *c = (Command){.executor = executor, .fn = fn, .ctx = ctx, .control_fd = -1};
    for (int i = 0; i < 2; i++) {
        c->pipes[i].fd = -1;
        capture_init(&c->pipes[i].capture, spec->output_max, &executor->output);
    }
    loop_timer_init(&c->timer, on_timer);
    loop_defer_init(&c->deliver, on_deliver);
    c->started_ns = loop_now(executor->loop);
    r = launch(c, spec);
    if (r < 0) {
        return r; /* closing the control socket makes a supervisor that started kill its tree */
    }
    loop_timer_arm(executor->loop, &c->timer, c->started_ns + spec->timeout_ns);
    list_push_back(&executor->commands, &c->node);
    executor->running++;
    *ret_command = TAKE(c);
    return 0;
}

void command_cancel(Command *command)
{
    order(command, SUPERVISE_KILL);
    command_free(command);
}

Executor *executor_new(Loop *loop, size_t output_total)
{
    Executor *executor = xcalloc(1, sizeof(*executor));

    *executor = (Executor){.loop = loop, .output.max = output_total};
    list_init(&executor->commands);
    executor->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return executor;
}

Executor *executor_free(Executor *executor)
{
    if (executor) {
        list_foreach (&executor->commands, it) {
            command_cancel(list_entry(it, Command, node));
        }
        fd_close(&executor->null_fd);
        free(executor);
    }
    return NULL;
}

size_t executor_running(const Executor *executor)
{
    return executor->running;
}
