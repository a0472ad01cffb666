/* SPDX-License-Identifier: Apache-2.0 */
/* See meters.h. */
#include "controller/engine/meters.h"

#include <math.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

/* Most (namespace, template, …) combinations that get a series of their own. */
#define METER_SERIES_MAX 4000

typedef union MeterFamily {
    CounterFamily *counter;
    HistogramFamily *histogram;
} MeterFamily;

struct Meters {
    MeterFamily families[METER_MAX_];
};

static const double claim_buckets[] = {100,  250,  500,   750,   1000,  1250,   1500,  2000,
                                       2500, 5000, 10000, 30000, 60000, 120000, 240000};
static const double creation_buckets[] = {50,    100,   250,   500,    1000,   2500,   5000,
                                          10000, 30000, 60000, 120000, 240000, 300000, 600000};

/* Warm claims take some tens of milliseconds, which the buckets above show as one. */
static const double fine_buckets[] = {1,    2,    5,    10,    15,    20,   30,  40,
                                      50,   60,   75,   100,   150,   200,  300, 500,
                                      1000, 2000, 5000, 10000, 30000, 60000};

/* A stage of a warm claim is one request, or none at all. */
static const double stage_buckets[] = {.1,   .5,   1,    2,     5,     10,    15,     20,
                                       30,   50,   75,   100,   150,   200,   300,    500,
                                       1000, 2000, 5000, 10000, 30000, 60000, 120000, 240000};

static const char *const stage_labels[] = {"launch_type", "stage", NULL};
static const char *const claim_labels[] = {"launch_type", "sandbox_template", NULL};
static const char *const creation_labels[] = {"namespace", "launch_type", "sandbox_template", NULL};
static const char *const total_labels[] = {
    "namespace",     "sandbox_template", "launch_type", "warmpool_name",
    "pod_condition", "created_by",       NULL};
static const char *const owned_labels[] = {"namespace", "sandbox_template", "owned_by", NULL};
static const char *const owned_result_labels[] = {"namespace", "sandbox_template", "owned_by",
                                                  "result", NULL};
static const char *const owned_reason_labels[] = {"namespace", "sandbox_template", "owned_by",
                                                  "reason", NULL};
static const char *const owned_policy_labels[] = {"namespace", "sandbox_template", "owned_by",
                                                  "shutdown_policy", NULL};
static const char *const result_labels[] = {"controller", "result", NULL};
static const char *const controller_labels[] = {"controller", NULL};
static const char *const name_labels[] = {"name", NULL};
/* The two of controller-runtime: dashboards compute with them. */
static const double queue_buckets[] = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                       1e-2, 1e-1, 1,    10,   100,  1000};
static const double reconcile_buckets[] = {
    .005, .01, .025, .05, .1,  .15, .2,  .25, .3, .35, .4, .45, .5, .6, .7, .8, .9, 1,  1.25, 1.5,
    1.75, 2,   2.5,  3,   3.5, 4,   4.5, 5,   6,  7,   8,  9,   10, 15, 20, 25, 30, 40, 50,   60};

static const struct {
    MetricType type;
    bool integers; /* truncated before observing */
    MetricSpec spec;
} table[METER_MAX_] = {
    [METER_CLAIM_STARTUP_MS] =
        {METRIC_HISTOGRAM,
         true,
         {"agent_sandbox_claim_startup_latency_ms",
          "Time from the webhook's first sight of a claim to Ready, in milliseconds", claim_labels,
          METER_SERIES_MAX, claim_buckets, ARRAY_LEN(claim_buckets)}},
    [METER_CLAIM_CONTROLLER_STARTUP_MS] =
        {METRIC_HISTOGRAM,
         true,
         {"agent_sandbox_claim_controller_startup_latency_ms",
          "Time from the controller's first sight of a claim to Ready, in milliseconds",
          claim_labels, METER_SERIES_MAX, claim_buckets, ARRAY_LEN(claim_buckets)}},
    [METER_CLAIM_CLIENT_STARTUP_MS] = {METRIC_HISTOGRAM,
                                       true,
                                       {"agent_sandbox_client_claim_startup_latency_ms",
                                        "Time from the client's request to Ready, in milliseconds",
                                        claim_labels, METER_SERIES_MAX, claim_buckets,
                                        ARRAY_LEN(claim_buckets)}},
    [METER_SANDBOX_CREATION_MS] = {METRIC_HISTOGRAM,
                                   true,
                                   {"agent_sandbox_creation_latency_ms",
                                    "Time from creation of a Sandbox to Ready, in milliseconds",
                                    creation_labels, METER_SERIES_MAX, creation_buckets,
                                    ARRAY_LEN(creation_buckets)}},
    [METER_CLAIM_CREATION_TOTAL] =
        {METRIC_COUNTER,
         false,
         {.name = "agent_sandbox_claim_creation_total",
          .help = "Claims that got a Sandbox, by adoption or by a cold start",
          .labels = total_labels,
          .series_max = METER_SERIES_MAX}},
    [METER_SUSPEND_TOTAL] = {METRIC_COUNTER,
                             false,
                             {.name = "agent_sandbox_suspend_total",
                              .help = "Suspends: requested, pod_terminated when done, error",
                              .labels = owned_result_labels,
                              .series_max = METER_SERIES_MAX}},
    [METER_RESUME_TOTAL] = {METRIC_COUNTER,
                            false,
                            {.name = "agent_sandbox_resume_total",
                             .help = "Resumes: requested, ready when done, error",
                             .labels = owned_result_labels,
                             .series_max = METER_SERIES_MAX}},
    [METER_FINISHED_TOTAL] = {METRIC_COUNTER,
                              false,
                              {.name = "agent_sandbox_finished_total",
                               .help = "Sandboxes whose Pod has ended, by reason",
                               .labels = owned_reason_labels,
                               .series_max = METER_SERIES_MAX}},
    [METER_EXPIRED_TOTAL] = {METRIC_COUNTER,
                             false,
                             {.name = "agent_sandbox_expired_total",
                              .help = "Sandboxes that reached their shutdownTime, by policy",
                              .labels = owned_policy_labels,
                              .series_max = METER_SERIES_MAX}},
    [METER_SUSPEND_MS] = {METRIC_HISTOGRAM,
                          true,
                          {"agent_sandbox_suspend_latency_ms",
                           "Time from not Ready any more until the Pod of a suspended Sandbox is "
                           "gone, in milliseconds counted from a whole second",
                           owned_labels, METER_SERIES_MAX, creation_buckets,
                           ARRAY_LEN(creation_buckets)}},
    [METER_RESUME_MS] = {METRIC_HISTOGRAM,
                         true,
                         {"agent_sandbox_resume_latency_ms",
                          "Time from the resume of a Sandbox to Ready, in milliseconds counted "
                          "from a whole second",
                          owned_labels, METER_SERIES_MAX, creation_buckets,
                          ARRAY_LEN(creation_buckets)}},
    [METER_CLAIM_STAGE_MS] =
        {METRIC_HISTOGRAM,
         false,
         {"cofferdam_claim_stage_latency_ms",
          "Time of a claim in a stage on its way to Ready, in milliseconds: queue, adopt, pod, "
          "status",
          stage_labels, 0, stage_buckets, ARRAY_LEN(stage_buckets)}},
    [METER_CLAIM_FINE_MS] = {METRIC_HISTOGRAM,
                             true,
                             {"cofferdam_claim_controller_startup_latency_ms",
                              "Time from the controller's first sight of a claim to Ready, in "
                              "milliseconds, in finer buckets",
                              claim_labels, METER_SERIES_MAX, fine_buckets,
                              ARRAY_LEN(fine_buckets)}},
    [METER_RECONCILE_TOTAL] = {METRIC_COUNTER,
                               false,
                               {.name = "controller_runtime_reconcile_total",
                                .help = "Passes by controller and result",
                                .labels = result_labels}},
    [METER_RECONCILE_ERRORS_TOTAL] = {METRIC_COUNTER,
                                      false,
                                      {.name = "controller_runtime_reconcile_errors_total",
                                       .help = "Passes that failed, by controller",
                                       .labels = controller_labels}},
    [METER_RECONCILE_TIME_SECONDS] = {METRIC_HISTOGRAM,
                                      false,
                                      {"controller_runtime_reconcile_time_seconds",
                                       "Length of a pass, by controller", controller_labels, 0,
                                       reconcile_buckets, ARRAY_LEN(reconcile_buckets)}},
    [METER_QUEUE_SECONDS] = {METRIC_HISTOGRAM,
                             false,
                             {"workqueue_queue_duration_seconds",
                              "Time a key waited for a worker, in seconds", name_labels, 0,
                              queue_buckets, ARRAY_LEN(queue_buckets)}},
    [METER_WORK_SECONDS] = {METRIC_HISTOGRAM,
                            false,
                            {"workqueue_work_duration_seconds", "Length of a pass, in seconds",
                             name_labels, 0, queue_buckets, ARRAY_LEN(queue_buckets)}},
};

static size_t label_count(MeterId id)
{
    size_t n = 0;

    while (table[id].spec.labels[n]) {
        n++;
    }
    return n;
}

Meters *meters_new(Metrics *metrics)
{
    Meters *meters = xcalloc(1, sizeof(*meters));

    for (size_t i = 0; i < METER_MAX_; i++) {
        MetricSpec spec = table[i].spec;

        if (table[i].type == METRIC_COUNTER) {
            meters->families[i].counter = metrics_counter(metrics, &spec);
            continue;
        }
        if (!spec.buckets) {
            spec.buckets = METRICS_BUCKETS_DEFAULT;
            spec.n_buckets = METRICS_BUCKETS_DEFAULT_LEN;
        }
        meters->families[i].histogram = metrics_histogram(metrics, &spec);
    }
    return meters;
}

Meters *meters_free(Meters *meters)
{
    free(meters);
    return NULL;
}

void meters_sample(Meters *meters, MeterId id, double value, const Str *labels, size_t n_labels)
{
    if (!meters) {
        return;
    }
    CHECK(n_labels == label_count(id));
    if (table[id].type == METRIC_COUNTER) {
        counter_add(counter_series(meters->families[id].counter, labels), (uint64_t)value);
    } else {
        histogram_observe(histogram_series(meters->families[id].histogram, labels),
                          table[id].integers ? trunc(value) : value);
    }
    if (id == METER_CLAIM_CONTROLLER_STARTUP_MS) {
        meters_sample(meters, METER_CLAIM_FINE_MS, value, labels, n_labels);
    }
}
