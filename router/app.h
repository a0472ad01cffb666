/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The router as a whole, on the main thread: start, table, readiness, drain. */
#include "base/signal.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/curl.h"
#include "router/activity.h"
#include "router/feed.h"
#include "router/options.h"
#include "router/probes.h"
#include "router/reload.h"
#include "router/tlsport.h"
#include "router/worker.h"

#define APP_FLUSH_NS (2 * NS_PER_S) /* of waiting spans, at the end */
#define APP_SYNC_NS (60 * NS_PER_S) /* the first list of Pods may take this long */

struct App {
    const RouterOptions *options;
    Loop *loop;
    Logger *log;
    Logger *access;
    Metrics *registry;
    Observe observe;
    RouteBoard board;
    TuningBoard tuning;
    Reload reload;
    uint64_t shutdown_timeout_ns;
    uint64_t shutdown_delay_ns;
    RouterShared shared;
    Probes probes;
    TlsPort tls;
    Signals signals;
    LoopWake done;   /* a worker is drained */
    LoopTimer timer; /* sync, then drain steps */
    int stage;
    int exit_code;

    bool curl_ready;
    KubeConfig *kube_config;
    KubeCurl *curl;
    KubeApi *api;
    Tracer *tracer; /* NULL without tracing */
    Feed *feed;
    Activity *activity; /* NULL without --activity-annotation */

    WorkerSockets *listeners; /* of each worker */
    Worker **workers;
    size_t n_workers;
    size_t n_started;
    uint64_t drain_end_ns;
};

/* 0 or -errno with the reason; app_free() either way. */
int app_init(App *app, const RouterOptions *options, Err *reterr);
int app_run(App *app); /* exit code */
void app_free(App *app);
