/* SPDX-License-Identifier: Apache-2.0 */
/* Commands with a real loop and real processes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/signal.h"
#include "runtime/exec/command.h"
#include "runtime/exec/fds.h"
#include "runtime/exec/task.h"
#include "runtime/exec/tree.h"
#include "test/harness/t.h"

typedef struct Fixture {
    Loop *loop;
    Reaper *reaper;
    Executor *executor;
    Signals signals;
    int cwd;
    /* the last result */
    int results;
    CommandResult result;
    Capture out, err;
    int task_result;
} Fixture;

static void on_signal(Signals *signals, int signo)
{
    UNUSED(signo);
    reaper_collect(container_of(signals, Fixture, signals)->reaper);
}

static void setup(Fixture *f)
{
    static const int SIGNALS[] = {SIGCHLD, 0};

    *f = (Fixture){.task_result = 1};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    T_OK(loop_new(clock_system(), &f->loop));
    f->reaper = reaper_new();
    T_OK(signals_init(&f->signals, f->loop, SIGNALS, on_signal));
    f->executor = executor_new(f->loop, 1 << 20);
    f->cwd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void clear(Fixture *f)
{
    capture_deinit(&f->out);
    capture_deinit(&f->err);
    f->results = 0;
}

static void teardown(Fixture *f)
{
    int status;
    bool seen;

    clear(f);
    executor_free(f->executor);
    T_EQ_INT(tree_kill_own(0, &status, &seen), 0);
    signals_deinit(&f->signals);
    reaper_free(f->reaper);
    close(f->cwd);
    loop_free(f->loop);
}

static void on_result(const CommandResult *result, void *ctx)
{
    Fixture *f = ctx;

    f->results++;
    f->result = *result;
    f->out = capture_take(result->out);
    f->err = capture_take(result->err);
}

static int start(Fixture *f, const char *script, uint64_t timeout_ms, Command **ret)
{
    char sh[] = "/bin/sh", dash_c[] = "-c", text[1024];
    char *argv[] = {sh, dash_c, text, NULL};
    char path[] = "PATH=/usr/bin:/bin";
    char *envp[] = {path, NULL};
    CommandSpec spec = {.argv = argv,
                        .envp = envp,
                        .cwd_fd = f->cwd,
                        .timeout_ns = timeout_ms * NS_PER_MS,
                        .output_max = 64 * 1024};

    snprintf(text, sizeof(text), "%s", script);
    return command_start(f->executor, &spec, on_result, f, ret);
}

static void wait_until(Fixture *f, const int *counter, int value)
{
    uint64_t deadline = clock_mono_ns(clock_system()) + 60 * NS_PER_S;

    while (*counter < value && clock_mono_ns(clock_system()) < deadline) {
        T_OK(loop_step(f->loop, 10 * NS_PER_MS));
    }
    T_CHECK(*counter >= value);
}

/* Runs the script to its result. Returns how long that took, in milliseconds. */
static uint64_t run(Fixture *f, const char *script, uint64_t timeout_ms)
{
    uint64_t begin = clock_mono_ns(clock_system());
    Command *command;

    clear(f);
    T_OK(start(f, script, timeout_ms, &command));
    wait_until(f, &f->results, 1);
    T_EQ_INT(executor_running(f->executor), 0);
    return (clock_mono_ns(clock_system()) - begin) / NS_PER_MS;
}

static Str out(const Fixture *f)
{
    return (Str){f->out.mem ? f->out.mem : "", f->out.len};
}

/* Living processes below this one, once those that are about to end have ended. */
static size_t alive_soon(Fixture *f)
{
    AUTO(tree) Tree tree = {0};

    for (int i = 0; i < 200; i++) {
        T_OK(loop_step(f->loop, 5 * NS_PER_MS));
        T_OK(tree_scan(&tree, getpid()));
        if (tree_alive(&tree) == 0) {
            return 0;
        }
    }
    return tree_alive(&tree);
}

T_TEST(command_exit_signal_and_output)
{
    Fixture f;

    setup(&f);
    run(&f, "echo out; echo err >&2; exit 3", 10000);
    T_CHECK(WIFEXITED(f.result.status) && WEXITSTATUS(f.result.status) == 3);
    T_EQ_STR(out(&f), "out\n");
    T_EQ_INT(f.err.len, 4);
    run(&f, "kill -SEGV $$", 10000);
    T_CHECK(WIFSIGNALED(f.result.status) && WTERMSIG(f.result.status) == SIGSEGV);
    run(&f, "cat; echo done", 10000); /* stdin is empty */
    T_EQ_STR(out(&f), "done\n");
    T_EQ_INT(alive_soon(&f), 0);
    teardown(&f);
}

T_TEST(command_ignores_nothing_that_we_ignore)
{
    Fixture f;

    setup(&f);
    /* Signals 1 to 28; libc keeps two above 31 for itself. */
    run(&f, "sed -nE 's/^Sig(Blk|Ign):.*(.......)$/\\2/p' /proc/self/status", 10000);
    T_EQ_STR(out(&f), "0000000\n0000000\n");
    run(&f, "ls /proc/self/fd | wc -l", 10000); /* 0, 1, 2 and the directory that ls reads */
    T_EQ_STR(out(&f), "4\n");
    teardown(&f);
}

T_TEST(command_that_cannot_start)
{
    Fixture f;
    Command *command = NULL;
    char nope[] = "nope", bad[] = "/etc/passwd";
    char *argv[] = {nope, NULL}, *envp[] = {NULL};
    CommandSpec spec = {.argv = argv, .envp = envp, .timeout_ns = NS_PER_S, .output_max = 4096};

    setup(&f);
    spec.cwd_fd = f.cwd;
    T_EQ_INT(command_start(f.executor, &spec, on_result, &f, &command), -ENOENT);
    T_CHECK(command == NULL);
    argv[0] = bad;
    T_OK(command_start(f.executor, &spec, on_result, &f, &command));
    wait_until(&f, &f.results, 1);
    T_EQ_INT(f.result.spawn_errno, EACCES);
    T_EQ_INT(alive_soon(&f), 0);
    teardown(&f);
}

T_TEST(command_timeout_kills_the_whole_tree)
{
    static const char *const SCRIPTS[] = {
        "echo part; sleep 100",
        "trap '' TERM INT HUP; echo part; sleep 100 & sleep 100",
        "setsid sh -c 'setsid sleep 100 & sleep 100' & echo part; exec sleep 100",
        "exec >&- 2>&-; sleep 100",
        "(setsid sh -c '(sleep 100 &) ; sleep 100' &) ; echo part; sleep 100",
    };
    Fixture f;

    setup(&f);
    for (size_t i = 0; i < ARRAY_LEN(SCRIPTS); i++) {
        t_row(SCRIPTS[i]);
        T_CHECK(run(&f, SCRIPTS[i], 300) < 3000);
        T_CHECK(f.result.timed_out && !f.result.survivors);
        T_EQ_STR(out(&f), strstr(SCRIPTS[i], "part") ? "part\n" : "");
        T_EQ_INT(alive_soon(&f), 0);
    }
    t_row(NULL);
    teardown(&f);
}

/* Processes that fork and exit in an endless chain, each in a session of its own. */
T_TEST(command_timeout_ends_a_fork_chain)
{
    Fixture f;

    setup(&f);
    run(&f,
        "chain() { setsid sh -c \"$1\" chain \"$1\" & exit; }; "
        "S='exec setsid sh -c \"$1\" c \"$1\"'; for i in 1 2 3; do setsid sh -c \"$S\" c \"$S\" & "
        "done; echo on; sleep 100",
        500);
    T_CHECK(f.result.timed_out);
    T_EQ_STR(out(&f), "on\n");
    T_EQ_INT(alive_soon(&f), 0);
    teardown(&f);
}

T_TEST(command_does_not_wait_for_what_it_left_behind)
{
    Fixture f;
    uint64_t ms;

    setup(&f);
    ms = run(&f, "sleep 100 & echo started", 30000);
    T_CHECK(ms >= COMMAND_DRAIN_NS / NS_PER_MS && ms < 6000);
    T_CHECK(!f.result.timed_out && WIFEXITED(f.result.status));
    T_EQ_STR(out(&f), "started\n");
    ms = run(&f, "setsid sleep 100 >/dev/null 2>&1 & echo quick", 30000);
    T_CHECK(ms < 1500);
    T_CHECK(alive_soon(&f) >= 2); /* both live on; teardown ends them */
    teardown(&f);
}

T_TEST(command_writes_much_and_is_kept_small)
{
    Fixture f;

    setup(&f);
    run(&f, "head -c 50000000 /dev/zero; echo end", 60000);
    T_EQ_INT(f.out.total, 50000004);
    T_EQ_INT(f.out.len, 64 * 1024);
    T_EQ_INT(f.out.cap, 64 * 1024);
    teardown(&f);
}

T_TEST(command_cancelled_is_silent_and_gone)
{
    Fixture f;
    Command *command;

    setup(&f);
    T_OK(start(&f, "setsid sleep 100 & sleep 100", 60000, &command));
    for (int i = 0; i < 20; i++) {
        T_OK(loop_step(f.loop, 10 * NS_PER_MS));
    }
    command_cancel(command);
    T_EQ_INT(executor_running(f.executor), 0);
    T_EQ_INT(alive_soon(&f), 0);
    T_EQ_INT(f.results, 0);
    teardown(&f);
}

T_TEST(command_that_kills_its_supervisor_still_ends)
{
    Fixture f;

    setup(&f);
    T_CHECK(run(&f, "echo part; kill -KILL $PPID; sleep 100", 20000) < 5000);
    T_CHECK(f.result.lost && !f.result.timed_out);
    T_EQ_STR(out(&f), "part\n");
    T_EQ_INT(alive_soon(&f), 0);
    run(&f, "kill -TERM $PPID; kill -STOP $PPID; kill -CONT $PPID; echo fine", 20000);
    T_EQ_STR(out(&f), "fine\n");
    teardown(&f);
}

static int task_fn(void *ctx)
{
    int *fd = ctx;

    if (*fd < 0) {
        sleep(100);
    }
    return write(*fd, "x", 1) == 1 ? -ENOSPC : 0;
}

typedef struct TaskFixture {
    Fixture f;
    Task task;
    int done;
    int r;
} TaskFixture;

static void on_task(Task *task, int r)
{
    TaskFixture *t = container_of(task, TaskFixture, task);

    t->done++;
    t->r = r;
}

T_TEST(task_tells_its_errno_and_can_be_cancelled)
{
    TaskFixture t = {.done = 0};
    int fds[2], none = -1;
    char byte;

    setup(&t.f);
    T_OK(pipe2(fds, O_CLOEXEC));
    T_OK(task_start(&t.task, t.f.reaper, task_fn, &fds[1], &fds[1], 1, on_task));
    wait_until(&t.f, &t.done, 1);
    T_EQ_INT(t.r, -ENOSPC);
    T_EQ_INT(read(fds[0], &byte, 1), 1);
    T_OK(task_start(&t.task, t.f.reaper, task_fn, &none, NULL, 0, on_task));
    task_cancel(&t.task);
    task_cancel(&t.task);
    T_EQ_INT(alive_soon(&t.f), 0);
    T_EQ_INT(t.done, 1);
    close(fds[0]);
    close(fds[1]);
    teardown(&t.f);
}
