/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * --metrics-secure-serving: the TLS of the metrics port. tls.crt and tls.key of --metrics-cert-dir,
 * followed while they change; without that folder a certificate made in memory.
 */
#include "base/log.h"
#include "controller/options.h"
#include "http/tls.h"
#include "metrics/metrics.h"

typedef struct MetricsTls {
    HttpTls *tls; /* NULL = plain text was asked for */
    Logger *log;
    Counter *reads;
    Counter *errors;
} MetricsTls;

/* -EINVAL, -ENOENT and the like with a text that names flag or file. metricstls_stop() either way.
 */
int metricstls_start(MetricsTls *port, const ControllerOptions *options, Loop *loop,
                     Metrics *metrics, Logger *log, Err *reterr);
void metricstls_stop(MetricsTls *port); /* after the server that uses it, before the loop */
