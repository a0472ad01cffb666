/* SPDX-License-Identifier: Apache-2.0 */
/* See signal.h. */
#include "base/signal.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void signals_ready(LoopIo *io, uint32_t events)
{
    Signals *signals = container_of(io, Signals, io);
    struct signalfd_siginfo info;

    UNUSED(events);
    while (loop_io_is_added(io) && read(io->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        signals->fn(signals, (int)info.ssi_signo);
    }
}

int signals_init(Signals *signals, Loop *loop, const int *signos, SignalsFn fn)
{
    sigset_t mask;
    sigset_t old;
    int fd;
    int r;

    sigemptyset(&mask);
    for (; *signos; signos++) {
        sigaddset(&mask, *signos);
    }
    *signals = (Signals){.fn = fn};
    signal(SIGPIPE, SIG_IGN);
    r = pthread_sigmask(SIG_BLOCK, &mask, &old);
    if (r != 0) {
        return -r;
    }
    fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    r = fd < 0 ? -errno : loop_io_add(loop, &signals->io, fd, EPOLLIN, signals_ready);
    if (r < 0) {
        if (fd >= 0) {
            close(fd);
        }
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    return r;
}

void signals_deinit(Signals *signals)
{
    if (loop_io_is_added(&signals->io)) {
        int fd = signals->io.fd;

        loop_io_remove(&signals->io);
        close(fd);
    }
}
