/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The controller's two small HTTP servers: /healthz and /readyz on one address, /metrics on
 * another. Probes say "ok" as soon as the process listens, on every replica: a standby is healthy.
 */
#include "base/err.h"
#include "base/loop.h"
#include "metrics/metrics.h"

#define ADMIN_METRICS_MAX (32u << 20) /* bytes of one scrape; beyond it the answer is 500 */
#define ADMIN_CONNS_MAX 64

typedef struct Admin Admin;

/* An address of "0" or "" turns its server off. -errno when one cannot listen. */
int admin_new(Loop *loop, Metrics *metrics, const char *metrics_address, const char *probe_address,
              Admin **ret_admin, Err *reterr);
Admin *admin_free(Admin *admin); /* NULL is fine; returns NULL */

DEFINE_AUTO_PTR(admin, Admin, admin_free)
