/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * rest_client_requests_total{code,host,method}: every request to the API server that ended, under
 * the name that dashboards of Kubernetes clients look for. A watch counts when it ends; a request
 * without an answer has the code <error>.
 */
#include "base/str.h"
#include "kube/transport.h"
#include "metrics/metrics.h"

typedef struct RestMeter {
    CounterFamily *family;
    char host[256];
} RestMeter;

/* server: its URL, of which host and port become the label. */
void restmeter_init(RestMeter *meter, Metrics *metrics, Str server);
/* Of KubeCurlOptions.on_result; ctx is the RestMeter. */
void restmeter_on_result(void *ctx, KubeMethod method, int http_status);
