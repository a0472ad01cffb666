/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gauges and counters of the queues, under the names that dashboards of controller-runtime programs
 * look for. Read from the executor at scrape, so counting costs nothing.
 */
#include "controller/engine/exec_internal.h"

typedef double (*ControllerValue)(const ExecController *controller);

static void each(MetricSink *sink, const Exec *exec, ControllerValue value)
{
    for (size_t i = 0; i < exec->n_controllers; i++) {
        const ExecController *controller = &exec->controllers[i];
        const Str labels[] = {str_from(controller->reconciler->name)};

        metric_emit(sink, labels, value(controller));
    }
}

static KubeQueueStats stats_of(const ExecController *controller)
{
    KubeQueueStats stats;

    kube_queue_stats(controller->queue, &stats);
    return stats;
}

static double queue_depth(const ExecController *controller)
{
    return (double)stats_of(controller).depth;
}

static double queue_adds(const ExecController *controller)
{
    return (double)stats_of(controller).adds;
}

static double queue_retries(const ExecController *controller)
{
    return (double)stats_of(controller).retries;
}

/* The sum of the times that keys have been in work, or the longest of them, in seconds. */
static double work_seconds(const ExecController *controller, bool longest)
{
    const Exec *exec = controller->exec;
    uint64_t now = loop_now(exec->config.loop);
    double result = 0;

    list_foreach (&exec->runs, node) {
        const ExecRun *run = list_entry(node, ExecRun, node);
        double took = (double)(now - run->started_ns) / 1e9;

        if (run->controller == controller) {
            result = longest ? (took > result ? took : result) : result + took;
        }
    }
    return result;
}

static double work_unfinished(const ExecController *controller)
{
    return work_seconds(controller, false);
}

static double work_longest(const ExecController *controller)
{
    return work_seconds(controller, true);
}

static double workers_active(const ExecController *controller)
{
    return (double)controller->running;
}

static double workers_max(const ExecController *controller)
{
    return (double)controller->workers;
}

static void collect_depth(MetricSink *sink, void *ctx)
{
    each(sink, ctx, queue_depth);
}

static void collect_adds(MetricSink *sink, void *ctx)
{
    each(sink, ctx, queue_adds);
}

static void collect_retries(MetricSink *sink, void *ctx)
{
    each(sink, ctx, queue_retries);
}

static void collect_unfinished(MetricSink *sink, void *ctx)
{
    each(sink, ctx, work_unfinished);
}

static void collect_longest(MetricSink *sink, void *ctx)
{
    each(sink, ctx, work_longest);
}

static void collect_active(MetricSink *sink, void *ctx)
{
    each(sink, ctx, workers_active);
}

static void collect_max(MetricSink *sink, void *ctx)
{
    each(sink, ctx, workers_max);
}

static void collect_requests(MetricSink *sink, void *ctx)
{
    const Exec *exec = ctx;

    for (size_t i = 0; i < PLAN_VERB_MAX_; i++) {
        const Str labels[] = {str_from(plan_verb_name((PlanVerb)i))};

        metric_emit(sink, labels, (double)exec->stats.calls[i]);
    }
}

void exec_metrics_register(Exec *exec)
{
    static const char *const by_name[] = {"name", NULL};
    static const char *const by_controller[] = {"controller", NULL};
    static const char *const by_verb[] = {"verb", NULL};
    static const struct {
        MetricType type;
        MetricSpec spec;
        MetricCollect collect;
    } table[] = {
        {METRIC_GAUGE,
         {.name = "workqueue_depth", .help = "Keys that wait for a worker", .labels = by_name},
         collect_depth},
        {METRIC_COUNTER,
         {.name = "workqueue_adds_total", .help = "Keys added to the queue", .labels = by_name},
         collect_adds},
        {METRIC_COUNTER,
         {.name = "workqueue_retries_total",
          .help = "Keys added again after a failure",
          .labels = by_name},
         collect_retries},
        {METRIC_GAUGE,
         {.name = "workqueue_unfinished_work_seconds",
          .help = "Seconds that keys in work have been so, summed up",
          .labels = by_name},
         collect_unfinished},
        {METRIC_GAUGE,
         {.name = "workqueue_longest_running_processor_seconds",
          .help = "Seconds that the key longest in work has been so",
          .labels = by_name},
         collect_longest},
        {METRIC_GAUGE,
         {.name = "controller_runtime_active_workers",
          .help = "Keys in work",
          .labels = by_controller},
         collect_active},
        {METRIC_GAUGE,
         {.name = "controller_runtime_max_concurrent_reconciles",
          .help = "Most keys in work at once",
          .labels = by_controller},
         collect_max},
        {METRIC_COUNTER,
         {.name = "cofferdam_controller_actions_total",
          .help = "Requests sent by plans; event: Events recorded",
          .labels = by_verb},
         collect_requests},
    };

    if (!exec->config.metrics) {
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        metrics_collect(exec->config.metrics, table[i].type, &table[i].spec, table[i].collect,
                        exec);
    }
}
