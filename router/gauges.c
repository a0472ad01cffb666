/* SPDX-License-Identifier: Apache-2.0 */
/* See gauges.h. */
#include "router/gauges.h"

#include "router/app.h"

static double sum(const App *app, GaugeId id)
{
    uint64_t total = 0;

    for (size_t i = 0; i < app->n_started; i++) {
        total += atomic_load_explicit(&app->workers[i]->gauges.values[id], memory_order_relaxed);
    }
    return (double)total;
}

static void client_connections(MetricSink *sink, void *ctx)
{
    metric_emit(sink, NULL, sum(ctx, GAUGE_CLIENT_CONNECTIONS));
}

static void sandbox_connections(MetricSink *sink, void *ctx)
{
    double idle = sum(ctx, GAUGE_SANDBOX_IDLE), all = sum(ctx, GAUGE_SANDBOX_CONNECTIONS);

    metric_emit(sink, (const Str[]){STR("active")}, all > idle ? all - idle : 0);
    metric_emit(sink, (const Str[]){STR("idle")}, idle);
}

static void waiting(MetricSink *sink, void *ctx)
{
    metric_emit(sink, NULL, sum(ctx, GAUGE_WAITING));
}

static void bytes(MetricSink *sink, void *ctx)
{
    metric_emit(sink, (const Str[]){STR("to_client")}, sum(ctx, GAUGE_BYTES_OUT));
    metric_emit(sink, (const Str[]){STR("to_sandbox")}, sum(ctx, GAUGE_BYTES_IN));
}

static void limit_entries(MetricSink *sink, void *ctx)
{
    const App *app = ctx;

    metric_emit(sink, NULL, (double)limits_entries(app->shared.limits));
}

static void limit_overflows(MetricSink *sink, void *ctx)
{
    const App *app = ctx;

    metric_emit(sink, NULL, (double)limits_overflows(app->shared.limits));
}

void gauges_register(Metrics *metrics, App *app)
{
    static const char *const state[] = {"state", NULL};
    static const char *const direction[] = {"direction", NULL};
    static const struct {
        MetricType type;
        MetricSpec spec;
        MetricCollect collect;
    } families[] = {
        {METRIC_GAUGE,
         {.name = "sandbox_router_client_connections", .help = "Open connections of clients."},
         client_connections},
        {METRIC_GAUGE,
         {.name = "sandbox_router_sandbox_connections",
          .help = "Open connections to sandboxes.",
          .labels = state},
         sandbox_connections},
        {METRIC_GAUGE,
         {.name = "sandbox_router_waiting_requests",
          .help = "Requests that wait for a sandbox to become known."},
         waiting},
        {METRIC_COUNTER,
         {.name = "sandbox_router_bytes_total",
          .help = "Bytes of bodies and upgrades, counted when an exchange ends.",
          .labels = direction},
         bytes},
        {METRIC_GAUGE,
         {.name = "sandbox_router_limit_entries",
          .help = "Clients and sandboxes that limits count one by one."},
         limit_entries},
        {METRIC_COUNTER,
         {.name = "sandbox_router_limit_overflows_total",
          .help = "Times that a limit's allowance was shared because its table was full."},
         limit_overflows},
    };

    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        metrics_collect(metrics, families[i].type, &families[i].spec, families[i].collect, app);
    }
}
