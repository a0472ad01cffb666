/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * New configuration for a running router: on SIGHUP, and when the file of --config changes. Command
 * line, environment and file are read anew, with their precedence. What may change is put on the
 * tuning board; a flag that needs a restart is named in the log and keeps its value; a
 * configuration that is wrong changes nothing.
 */
#include "base/filemark.h"
#include "base/log.h"
#include "base/loop.h"
#include "metrics/metrics.h"
#include "router/options.h"
#include "router/tuning.h"

#define RELOAD_LOOK_NS (2 * NS_PER_S) /* between two looks at the file */

typedef struct Reload {
    const RouterOptions *running; /* what the process was started with */
    RouterOptions latest;         /* what was read last */
    bool owned;                   /* `latest` was read by a reload */
    TuningBoard *board;
    Loop *loop;
    Logger *log;
    LoopTimer timer;
    FileMark seen;
    CounterFamily *results;
    void (*on_change)(void *ctx, const RouterOptions *options); /* the board has the new values */
    void *ctx;
} Reload;

/* Registers its metric. Fields up to `log`, on_change and ctx are set by the caller; `running`
 * outlives it. */
void reload_init(Reload *reload, Metrics *metrics);
void reload_deinit(Reload *reload);
void reload_now(Reload *reload);

bool reload_may_change(const char *flag); /* without a restart */
