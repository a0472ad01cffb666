/* SPDX-License-Identifier: Apache-2.0 */
/* See restmeter.h. */
#include "controller/restmeter.h"

#include <stdio.h>

void restmeter_init(RestMeter *meter, Metrics *metrics, Str server)
{
    static const char *const labels[] = {"code", "host", "method", NULL};
    static const MetricSpec spec = {
        .name = "rest_client_requests_total",
        .help = "Requests to the API server by code, host and method",
        .labels = labels,
    };
    Str rest;
    Str host;

    (void)str_cut(server, '/', &rest); /* "https:" */
    (void)str_cut(rest, '/', &rest);
    host = str_cut(rest, '/', &rest);
    (void)snprintf(meter->host, sizeof(meter->host), STR_FMT, STR_ARG(str_take(host, 255)));
    meter->family = metrics_counter(metrics, &spec);
}

void restmeter_on_result(void *ctx, KubeMethod method, int http_status)
{
    RestMeter *meter = ctx;
    char code[16] = "<error>";

    if (http_status > 0) {
        (void)snprintf(code, sizeof(code), "%d", http_status);
    }
    counter_inc(counter_with(meter->family, str_from(code), str_from(meter->host),
                             str_from(kube_method_name(method))));
}
