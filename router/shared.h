/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What all workers share. Set up by the main thread before the workers start and not changed
 * afterwards; what does change (table, limits, counters) is a board or atomic.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "http/tls.h"
#include "router/authz.h"
#include "router/census.h"
#include "router/dns.h"
#include "router/observe.h"
#include "router/table.h"
#include "router/tuning.h"
#include "router/wake.h"
#include "trace/tracer.h"

typedef struct RouterShared {
    TuningBoard *tuning;
    Limits *limits;
    HttpTls *tls; /* of --https-bind-address; NULL = none */
    Authz authz;
    RoutingPorts ports;
    const char *path_prefix; /* "" = targets are in headers only */
    bool allow_loopback;
    bool trust_pod_ip; /* X-Sandbox-Pod-IP and DNS are targets */
    bool use_table;
    bool note_use; /* --activity-annotation: exchanges note when a route is used */
    bool http2;    /* clients may speak it */
    const char *cluster_domain;
    RouteBoard *board;
    Wake *wake; /* NULL = the API server is not asked about sandboxes without a route */
    Dns *dns;   /* NULL unless trust_pod_ip */
    Observe *observe;
    Census *census; /* NULL without --metrics-per-sandbox */
    Tracer *tracer; /* NULL without tracing */
    Logger *log;
} RouterShared;
