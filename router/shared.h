/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What all workers share. Set up by the main thread before the workers start and not changed
 * afterwards; what does change (table, counters) is a board or atomic.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "router/authz.h"
#include "router/dns.h"
#include "router/observe.h"
#include "router/table.h"

typedef struct RouterLimits {
    uint64_t response_header_ns;
    uint64_t proxy_ns;     /* cap of the above, and the idle limit after headers */
    uint64_t resolve_ns;   /* wait for an unknown name */
    uint64_t body_max;     /* 0 = unlimited */
    int64_t dial_retries;  /* additional attempts */
    uint64_t retry_min_ns; /* doubles up to retry_max_ns */
    uint64_t retry_max_ns;
} RouterLimits;

typedef struct RouterShared {
    RouterLimits limits;
    Authz authz;
    bool allow_loopback;
    bool trust_pod_ip; /* X-Sandbox-Pod-IP and DNS are targets */
    bool use_table;
    const char *cluster_domain;
    RouteBoard *board;
    Dns *dns; /* NULL unless trust_pod_ip */
    Observe *observe;
    Logger *log;
} RouterShared;
