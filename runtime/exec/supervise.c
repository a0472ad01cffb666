/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/exec/fds.h"
#include "runtime/exec/tree.h"

/* Where the supervisor keeps its descriptors: 0 to 2 are the command's. */
#define SUPERVISE_FD_MAIN 3
#define SUPERVISE_FD_CWD 4

typedef struct Supervisor {
    int signal_fd;
    pid_t leader;
    int status;
    bool exited;
} Supervisor;

static void report(SuperviseKind kind, int value)
{
    SuperviseMessage message = {.kind = kind, .value = value};

    /* When the main process is gone nobody reads: the next poll finds out. */
    (void)!send(SUPERVISE_FD_MAIN, &message, sizeof(message), MSG_NOSIGNAL);
}

/* Moves the descriptors to their places. They are all above 4 first, so none overwrites another. */
static bool arrange(const SuperviseSpec *spec, int socket_fd)
{
    const int from[] = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd, socket_fd, spec->cwd_fd};
    int high[5];

    for (int i = 0; i < 5; i++) {
        high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 5);
        if (high[i] < 0) {
            return false;
        }
    }
    for (int i = 0; i < 5; i++) {
        if (dup3(high[i], i, i < SUPERVISE_FD_MAIN ? 0 : O_CLOEXEC) < 0) {
            return false;
        }
    }
    fds_close_except((int[]){0, 1, 2, SUPERVISE_FD_MAIN, SUPERVISE_FD_CWD}, 5);
    return fchdir(SUPERVISE_FD_CWD) == 0;
}

/*
 * 0 or errno of exec. The command leads a group of its own in the supervisor's session, which is
 * how the main process finds it should the supervisor be killed; it starts with default signals.
 */
static int spawn(const SuperviseSpec *spec, pid_t *ret_pid)
{
    posix_spawnattr_t attr;
    sigset_t none, all;
    int r;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    r = posix_spawn(ret_pid, spec->program, NULL, &attr, spec->argv, spec->envp);
    posix_spawnattr_destroy(&attr);
    return r;
}

static void collect(Supervisor *s)
{
    int status;

    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == s->leader) {
            s->exited = true;
            s->status = status;
            report(SUPERVISE_EXITED, status);
        }
    }
}

NORETURN static void kill_all(Supervisor *s)
{
    bool seen = false;
    int status = 0;
    size_t survivors = tree_kill_own(s->exited ? 0 : s->leader, &status, &seen);

    if (seen) {
        report(SUPERVISE_EXITED, status);
    }
    report(SUPERVISE_KILLED, (int)survivors);
    _exit(0);
}

NORETURN static void serve(Supervisor *s)
{
    struct pollfd polled[2] = {{.fd = SUPERVISE_FD_MAIN, .events = POLLIN},
                               {.fd = s->signal_fd, .events = POLLIN}};

    for (;;) {
        struct signalfd_siginfo info;
        SuperviseMessage order;
        ssize_t n;

        if (poll(polled, 2, -1) < 0 && errno != EINTR) {
            kill_all(s);
        }
        if (polled[1].revents) {
            (void)!read(s->signal_fd, &info, sizeof(info));
            collect(s);
        }
        if (!polled[0].revents) {
            continue;
        }
        n = recv(SUPERVISE_FD_MAIN, &order, sizeof(order), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            continue;
        }
        if (n == sizeof(order) && order.kind == SUPERVISE_RELEASE) {
            _exit(0);
        }
        kill_all(s);
    }
}

NORETURN static void supervise_main(const SuperviseSpec *spec, int socket_fd)
{
    Supervisor s = {.leader = 0};
    sigset_t all, child;
    int r;

    /* The command must not end its supervisor by a signal to everybody; only SIGKILL can. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    prctl(PR_SET_NAME, "supervisor");
    setsid();
    if (!arrange(spec, socket_fd) || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        report(SUPERVISE_FAILED, errno);
        _exit(1);
    }
    s.signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    r = s.signal_fd < 0 ? errno : spawn(spec, &s.leader);
    if (r != 0) {
        report(SUPERVISE_FAILED, r);
        _exit(0);
    }
    /* Only the command's tree holds the pipes now: their end is seen by the main process. */
    fds_close_except((int[]){SUPERVISE_FD_MAIN, s.signal_fd}, 2);
    (void)!chdir("/");
    report(SUPERVISE_STARTED, s.leader);
    serve(&s);
}

int supervise_start(const SuperviseSpec *spec, pid_t *ret_pid, int *ret_socket)
{
    int sockets[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) < 0) {
        return -errno;
    }
    pid = fork();
    if (pid < 0) {
        int r = -errno;

        close(sockets[0]);
        close(sockets[1]);
        return r;
    }
    if (pid == 0) {
        supervise_main(spec, sockets[1]);
    }
    close(sockets[1]);
    *ret_pid = pid;
    *ret_socket = sockets[0];
    return 0;
}
