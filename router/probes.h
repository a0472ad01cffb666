/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The ports for machines: /healthz and /readyz on one, /metrics on the other; main thread only. */
#include "http/server.h"
#include "metrics/metrics.h"

typedef struct Probes {
    HttpServer *health;  /* NULL = off */
    HttpServer *metrics; /* NULL = off */
    Metrics *registry;
    const char *not_ready; /* why /readyz says 503; NULL = ready */
} Probes;

/* Addresses "" and "0" turn a port off. On failure what was opened stays for probes_stop(). */
int probes_start(Probes *probes, Loop *loop, Metrics *registry, Str health_address,
                 Str metrics_address, Err *reterr);
void probes_stop(Probes *probes);
