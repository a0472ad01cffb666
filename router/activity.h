/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * When a sandbox was last used, written into an annotation of the Sandbox for whoever suspends idle
 * ones. Workers note the time in the route itself (a request costs two relaxed atomics and no
 * lock); the main thread walks the table once an interval and patches the Sandboxes that were used
 * since, at most ACTIVITY_INFLIGHT_MAX at a time. An open request, stream or upgrade is use.
 *
 * Nothing is queued: the walk goes on as answers come, and one that takes longer than an interval
 * puts the next one off. A write that failed is made in the next walk.
 */
#include "base/log.h"
#include "kube/api.h"
#include "metrics/metrics.h"
#include "router/table.h"

#define ACTIVITY_INFLIGHT_MAX 8

typedef struct Activity Activity;

typedef struct ActivityConfig {
    KubeApi *api;
    RouteBoard *board;
    const char *annotation;
    uint64_t interval_ns;
    Metrics *metrics;
    Logger *log;
    void (*on_idle)(void *ctx); /* after a walk: everything that was to be written is */
    void *ctx;
} ActivityConfig;

Activity *activity_new(const ActivityConfig *config); /* the first walk is an interval away */
Activity *activity_free(Activity *activity);          /* NULL is fine */
void activity_flush(Activity *activity);              /* walks now: the router is going */
bool activity_is_idle(const Activity *activity);

/* Workers: a use of this route begins (a reference is taken) and ends. */
const Route *activity_begin(const Route *route);
void activity_end(const Route *route, int64_t wall_ns);
