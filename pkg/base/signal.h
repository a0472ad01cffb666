/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Signals as loop events (signalfd). Blocks the given signals in the calling thread: set it up
 * before threads start. The mask from before is restored by signals_deinit().
 */
#include <signal.h>

#include "base/loop.h"

typedef struct Signals Signals;
typedef void (*SignalsFn)(Signals *signals, int signo);

struct Signals {
    LoopIo io;
    sigset_t old_mask;
    SignalsFn fn;
};

/* `signos` ends with 0. Also ignores SIGPIPE for the process. -errno on failure. */
int signals_init(Signals *signals, Loop *loop, const int *signos, SignalsFn fn);
void signals_deinit(Signals *signals);
