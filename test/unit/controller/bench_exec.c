/* SPDX-License-Identifier: Apache-2.0 */
/* See bench_exec.h. */
#include "test/unit/controller/bench_exec.h"

#include <stdio.h>

#include "test/harness/t.h"

/* plan() has no context of its own: the bench of the running test. */
static Bench *current;

static void plan_by_test(const View *view, KubeKey key, Arena *arena, Plan *plan)
{
    UNUSED(arena);
    current->n_plans++;
    current->plan(current, view, key, plan);
}

static size_t two_workers(const ControllerOptions *options)
{
    UNUSED(options);
    return 2;
}

const Reconciler *bench_reconciler(void)
{
    static const WatchRule watches[] = {
        {.kind = KUBE_SANDBOX, .map = watch_map_self},
        {.kind = KUBE_SERVICE, .map = watch_map_self, .gather_ns = BENCH_GATHER_NS},
    };
    static const Reconciler reconciler = {
        .name = "bench",
        .reporter = "bench-controller",
        .kind = KUBE_SANDBOX,
        .backoff_max_ns = 10 * NS_PER_S,
        .workers = two_workers,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .plan = plan_by_test,
    };

    return &reconciler;
}

static void informers_start(Bench *bench)
{
    static const KubeKindId kinds[] = {KUBE_SANDBOX, KUBE_POD, KUBE_SERVICE, KUBE_PVC};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        KubeInformerConfig config = {
            .api = bench->world.client,
            .kind = kube_kind(kinds[i]),
            .label_selector = view_store_selector(kinds[i]),
            .seed = i,
        };

        config.indexes = view_store_indexes(kinds[i], &config.n_indexes);
        bench->informers[kinds[i]] = kube_informer_new(&config);
        kube_informer_start(bench->informers[kinds[i]]);
    }
}

static bool may_write(void *ctx)
{
    return !((Bench *)ctx)->asleep;
}

static void on_rival(void *ctx)
{
    ((Bench *)ctx)->n_rivals++;
}

void bench_init(Bench *bench)
{
    ExecConfig config = {0};

    *bench = (Bench){0};
    current = bench;
    fake_world_init(&bench->world, 1);
    options_defaults(&bench->options);
    bench->metrics = metrics_new();
    bench->meters = meters_new(bench->metrics);
    informers_start(bench);
    config.loop = bench->world.loop;
    config.api = bench->world.client;
    config.metrics = bench->metrics;
    config.meters = bench->meters;
    config.options = &bench->options;
    config.may_write = may_write;
    config.on_rival = on_rival;
    config.ctx = bench;
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        config.stores[i] = bench->informers[i] ? kube_informer_store(bench->informers[i]) : NULL;
    }
    bench->exec = exec_new(&config);
    exec_add(bench->exec, bench_reconciler());
    fake_world_run(&bench->world, 100 * NS_PER_MS);
    T_CHECK(kube_informer_synced(bench->informers[KUBE_SANDBOX]));
}

void bench_deinit(Bench *bench)
{
    exec_free(bench->exec);
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        kube_informer_free(bench->informers[i]);
    }
    meters_free(bench->meters);
    metrics_free(bench->metrics);
    options_deinit(&bench->options);
    fake_world_deinit(&bench->world);
    current = NULL;
}

void bench_start(Bench *bench, BenchPlanFn plan)
{
    bench->plan = plan;
    exec_start(bench->exec);
}

void bench_run(Bench *bench, uint64_t ns)
{
    fake_world_run(&bench->world, ns);
}

void bench_sandbox(Bench *bench, const char *name)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, metadata: {name: %s, "
                   "namespace: a}, spec: {podTemplate: {spec: {containers: [{name: m}]}}}}",
                   name);
    T_EQ_INT(fakeapi_create(bench->world.api, text), 0);
}

ExecStats bench_stats(const Bench *bench)
{
    ExecStats stats;

    exec_stats(bench->exec, &stats);
    return stats;
}
