/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Metrics and access log of the proxy port. Names and labels are those of the Go router; what a
 * caller can choose freely never becomes a label: methods are normalised, a namespace counts only
 * when it is one of the table's. Safe from any worker.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "http/parse.h"
#include "metrics/metrics.h"

#define OBSERVE_NAMESPACES_MAX 2000 /* series of one family */

typedef struct Observe {
    Metrics *metrics;
    Logger *access; /* NULL = no access log */
    int access_fd; /* where lines of the default format are written directly, -1 = use the logger */
    CounterFamily *requests;
    HistogramFamily *duration;
    CounterFamily *upstream_errors;
    CounterFamily *upstream_retries;
    CounterFamily *invalidations;
    CounterFamily *authz;
    CounterFamily *cert_reloads;
    CounterFamily *limited;
    CounterFamily *h2_calmed;
    _Atomic int64_t inflight;
    _Atomic int64_t upgrades;
    _Atomic uint64_t routes;
} Observe;

/* One finished request, as the log line and the counters see it. */
typedef struct ObserveRequest {
    HttpMethod method_id;
    Str method;
    Str path;
    int status;
    uint64_t duration_ns;
    Str client_ip;
    Str sandbox_id;
    Str sandbox_namespace;
    bool known; /* the namespace came from the table */
    bool quiet; /* not in the access log */
    uint64_t bytes_out;
    Str user_agent;
    Str trace_id; /* hex, empty without tracing */
    Str span_id;
    Str identity;       /* of a client certificate; empty = none */
    const char *error;  /* why it failed, "" = it did not */
    const char *source; /* "cache-name", "pod-ip", "dns", "" */
} ObserveRequest;

/* access_fd: -1 unless the log's format is the default one, JSON with RFC 3339 seconds. */
void observe_init(Observe *observe, Metrics *metrics, Logger *access, int access_fd);
/* A line by way of the logger, in whatever format that writes. access.h is the usual way. */
void observe_log(Observe *observe, const ObserveRequest *request);
/* reason: "dial", "timeout", "eof", "other" */
void observe_upstream_error(Observe *observe, Str ns, const char *reason);
void observe_upstream_retry(Observe *observe, Str ns);
void observe_invalidation(Observe *observe, Str ns);
void observe_limited(Observe *observe, const char *scope, const char *limit);
void observe_h2_calmed(Observe *observe); /* a flood on HTTP/2 ended its connection */
void observe_cert_reload(Observe *observe, bool loaded);
void observe_authz(Observe *observe, bool allowed);
