/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The controller's two small HTTP servers: /healthz and /readyz on one address, /metrics on
 * another. Probes say "ok" as soon as the process listens, on every replica: a standby is healthy.
 */
#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"
#include "http/tls.h"
#include "metrics/metrics.h"

#define ADMIN_METRICS_MAX (32u << 20) /* bytes of one scrape; beyond it the answer is 500 */
#define ADMIN_CONNS_MAX 64

typedef struct Admin Admin;

typedef struct AdminConfig {
    Loop *loop; /* both borrowed */
    Metrics *metrics;
    const char *metrics_address; /* "0" or "" turns the server off */
    HttpTls *metrics_tls;        /* NULL = plain; outlives the admin */
    const char *probe_address;
    bool profiles_wanted; /* say at /debug/pprof why there are none, instead of 404 */
} AdminConfig;

/* -errno when an address cannot be listened on. */
int admin_new(const AdminConfig *config, Admin **ret_admin, Err *reterr);
Admin *admin_free(Admin *admin); /* NULL is fine; returns NULL */

DEFINE_AUTO_PTR(admin, Admin, admin_free)
