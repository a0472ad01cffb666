/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How full a worker is, for the thread that is asked for metrics: after each turn of its loop a
 * worker writes its numbers down here. Nothing is counted per request.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "metrics/metrics.h"

typedef enum GaugeId {
    GAUGE_CLIENT_CONNECTIONS,
    GAUGE_SANDBOX_CONNECTIONS,
    GAUGE_SANDBOX_IDLE,
    GAUGE_WAITING,
    GAUGE_BYTES_IN,  /* of request bodies and tunnels, towards sandboxes */
    GAUGE_BYTES_OUT, /* of replies */
    GAUGES,
} GaugeId;

typedef struct Gauges {
    _Atomic uint64_t values[GAUGES];
} Gauges;

typedef struct App App;

/* Families whose values are the sums over the workers of `app`. */
void gauges_register(Metrics *metrics, App *app);
