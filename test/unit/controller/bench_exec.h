/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A workbench for the executor: a fake API server, informers, and one reconciler for Sandboxes
 * whose plan the test writes itself.
 */
#include "controller/engine/exec.h"
#include "kube/informer.h"
#include "test/fakeapi/world.h"

/* How long a change of a Service waits before it wakes the Sandbox of the same name. */
#define BENCH_GATHER_NS (100 * NS_PER_MS)

typedef struct Bench Bench;
typedef void (*BenchPlanFn)(Bench *bench, const View *view, KubeKey key, Plan *plan);

struct Bench {
    FakeWorld world;
    KubeInformer *informers[KUBE_KIND_MAX_];
    ControllerOptions options;
    Metrics *metrics;
    Meters *meters;
    Exec *exec;
    BenchPlanFn plan;
    unsigned n_plans;
    int step;     /* for the test's plan function */
    bool asleep;  /* no write may be sent */
    int n_rivals; /* signs of another leader */
};

/* Everything is running and synced; nothing is planned before bench_start(). */
void bench_init(Bench *bench);
void bench_deinit(Bench *bench);
void bench_start(Bench *bench, BenchPlanFn plan);
void bench_run(Bench *bench, uint64_t ns);
/* Sandbox a/NAME, as a user would make it. */
void bench_sandbox(Bench *bench, const char *name);
ExecStats bench_stats(const Bench *bench);
const Reconciler *bench_reconciler(void);

DEFINE_AUTO(bench, Bench, bench_deinit)
