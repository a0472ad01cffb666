/* SPDX-License-Identifier: Apache-2.0 */
/* See observe.h. */
#include "router/observe.h"

#include "base/version.h"

static const char *const request_labels[] = {"method", "code", "sandbox_namespace", NULL};
static const char *const ns_labels[] = {"sandbox_namespace", NULL};
static const char *const error_labels[] = {"sandbox_namespace", "reason", NULL};
static const char *const authz_labels[] = {"sandbox_namespace", "decision", NULL};
static const char *const outcome_labels[] = {"outcome", NULL};
static const char *const limited_labels[] = {"scope", "limit", NULL};
static const char *const build_labels[] = {"git_version", "git_commit", "build_date", "go_version",
                                           "compiler",    "platform",   NULL};

static const double duration_buckets[] = {.005, .01, .025, .05, .1, .25, .5,
                                          1,    2.5, 5,    10,  30, 60,  180};

#define NO_NAMESPACE STR("-")

static void collect_inflight(MetricSink *sink, void *ctx)
{
    Observe *observe = ctx;

    metric_emit(sink, NULL, (double)atomic_load(&observe->inflight));
}

static void collect_upgrades(MetricSink *sink, void *ctx)
{
    Observe *observe = ctx;

    metric_emit(sink, NULL, (double)atomic_load(&observe->upgrades));
}

static void collect_routes(MetricSink *sink, void *ctx)
{
    Observe *observe = ctx;

    metric_emit(sink, NULL, (double)atomic_load(&observe->routes));
}

static CounterFamily *counter(Metrics *metrics, const char *name, const char *help,
                              const char *const *labels)
{
    MetricSpec spec = {
        .name = name, .help = help, .labels = labels, .series_max = OBSERVE_NAMESPACES_MAX};

    return metrics_counter(metrics, &spec);
}

static void register_gauges(Observe *observe)
{
    MetricSpec inflight = {.name = "sandbox_router_inflight_requests",
                           .help = "Requests being proxied now."};
    MetricSpec upgrades = {.name = "sandbox_router_open_upgrades",
                           .help = "Upgraded connections (WebSockets and others) open now."};
    MetricSpec routes = {.name = "sandbox_router_routes",
                         .help = "Sandboxes that can be reached by name."};
    MetricSpec build = {.name = "sandbox_router_build_info",
                        .help = "Build of this router; always 1.",
                        .labels = build_labels};
    Str values[] = {
        str_from(version_string()),   str_from(version_commit()),  STR("unknown"), STR(""),
        str_from(version_compiler()), str_from(version_platform())};

    metrics_collect(observe->metrics, METRIC_GAUGE, &inflight, collect_inflight, observe);
    metrics_collect(observe->metrics, METRIC_GAUGE, &upgrades, collect_upgrades, observe);
    metrics_collect(observe->metrics, METRIC_GAUGE, &routes, collect_routes, observe);
    gauge_set(gauge_series(metrics_gauge(observe->metrics, &build), values), 1);
}

void observe_init(Observe *observe, Metrics *metrics, Logger *access, int access_fd)
{
    MetricSpec duration = {.name = "sandbox_router_request_duration_seconds",
                           .help = "Time from the request's head to the end of the reply.",
                           .labels = request_labels,
                           .series_max = OBSERVE_NAMESPACES_MAX,
                           .buckets = duration_buckets,
                           .n_buckets = ARRAY_LEN(duration_buckets)};

    *observe = (Observe){.metrics = metrics, .access = access, .access_fd = access_fd};
    observe->requests =
        counter(metrics, "sandbox_router_requests_total",
                "Requests answered, by method, status code and namespace.", request_labels);
    observe->duration = metrics_histogram(metrics, &duration);
    observe->upstream_errors = counter(metrics, "sandbox_router_upstream_errors_total",
                                       "Requests that failed at the sandbox.", error_labels);
    observe->upstream_retries = counter(metrics, "sandbox_router_upstream_retries_total",
                                        "Attempts to connect after a failed one.", ns_labels);
    observe->invalidations =
        counter(metrics, "sandbox_router_cache_invalidations_total",
                "Addresses taken out of the table because the host was dead.", ns_labels);
    observe->authz = counter(metrics, "sandbox_router_authz_decisions_total",
                             "Decisions about who may call.", authz_labels);
    observe->cert_reloads = counter(metrics, "sandbox_router_cert_reloads_total",
                                    "Reloads of the serving certificate.", outcome_labels);
    observe->limited = counter(metrics, "sandbox_router_limited_total",
                               "Connections and requests refused by a limit.", limited_labels);
    observe->h2_calmed = counter(metrics, "sandbox_router_http2_calmed_total",
                                 "HTTP/2 connections ended because of a flood of frames.", NULL);
    register_gauges(observe);
}

void observe_log(Observe *observe, const ObserveRequest *request)
{
    LogField fields[15] = {
        F_STR("method", request->method),
        F_STR("path", request->path),
        F_I64("status", request->status),
        F_F64("duration_ms", (double)(request->duration_ns / NS_PER_US) / 1000),
        F_STR("client_ip", request->client_ip),
        F_STR("sandbox_id", request->sandbox_id),
        F_STR("sandbox_namespace", request->sandbox_namespace),
        F_I64("bytes_out", request->bytes_out),
        F_STR("user_agent", request->user_agent),
        F_CSTR("source", request->source),
        F_STR("trace_id", request->trace_id),
        F_STR("span_id", request->span_id),
    };
    size_t n = 12;

    if (request->identity.len > 0) {
        fields[n++] = F_STR("client_identity", request->identity);
    }
    if (request->error[0]) {
        fields[n++] = F_CSTR("error", request->error);
    }
    if (logger_enabled(observe->access, LOG_LEVEL_INFO)) {
        log_write(observe->access, LOG_LEVEL_INFO, "request", fields, n);
    }
}

void observe_upstream_error(Observe *observe, Str ns, const char *reason)
{
    counter_inc(counter_with(observe->upstream_errors, ns, str_from(reason)));
}

void observe_upstream_retry(Observe *observe, Str ns)
{
    counter_inc(counter_with(observe->upstream_retries, ns));
}

void observe_invalidation(Observe *observe, Str ns)
{
    counter_inc(counter_with(observe->invalidations, ns));
}

void observe_limited(Observe *observe, const char *scope, const char *limit)
{
    counter_inc(counter_with(observe->limited, str_from(scope), str_from(limit)));
}

void observe_h2_calmed(Observe *observe)
{
    counter_inc(counter_series(observe->h2_calmed, NULL));
}

void observe_cert_reload(Observe *observe, bool loaded)
{
    counter_inc(counter_with(observe->cert_reloads, loaded ? STR("success") : STR("failure")));
}

void observe_authz(Observe *observe, bool allowed)
{
    counter_inc(counter_with(observe->authz, NO_NAMESPACE, allowed ? STR("allow") : STR("deny")));
}
