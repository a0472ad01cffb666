/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Signals as loop events (signalfd). Blocks the given signals in the calling thread: set it up
 * before threads start. They stay blocked after signals_deinit(): a program that is about to exit
 * is not killed by a signal that comes late.
 */
#include <signal.h>

#include "base/loop.h"

typedef struct Signals Signals;
typedef void (*SignalsFn)(Signals *signals, int signo);

struct Signals {
    LoopIo io;
    SignalsFn fn;
};

/* `signos` ends with 0. Also ignores SIGPIPE for the process. -errno on failure. */
int signals_init(Signals *signals, Loop *loop, const int *signos, SignalsFn fn);
void signals_deinit(Signals *signals);
