/* SPDX-License-Identifier: Apache-2.0 */
/* Watch rules whose keys wait for more changes. */
#include "base/mem.h"
#include "test/harness/t.h"
#include "test/unit/controller/bench_exec.h"

static void plan_nothing(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    UNUSED(bench);
    UNUSED(view);
    UNUSED(key);
    UNUSED(plan);
}

T_TEST(exec_gathers_changes_of_a_crowd_into_one_pass)
{
    AUTO(bench) Bench bench;

    bench_init(&bench);
    bench_sandbox(&bench, "x");
    bench_run(&bench, NS_PER_S);
    bench_start(&bench, plan_nothing);
    bench_run(&bench, NS_PER_S);
    bench.n_plans = 0;
    T_EQ_INT(fakeapi_create(bench.world.api,
                            "{apiVersion: v1, kind: Service, metadata: {name: x, namespace: a, "
                            "labels: {agents.x-k8s.io/sandbox-name-hash: h}}}"),
             0);
    for (int i = 0; i < 8; i++) {
        AUTO(mem) char *patch = xasprintf("metadata: {annotations: {n: \"%d\"}}", i);

        T_EQ_INT(fakeapi_patch(bench.world.api, KUBE_SERVICE, "a", "x", patch), 0);
        bench_run(&bench, BENCH_GATHER_NS / 10);
    }
    T_EQ_INT(bench.n_plans, 0);
    bench_run(&bench, BENCH_GATHER_NS / 2);
    T_EQ_INT(bench.n_plans, 1);
    /* A change that does not wait takes along what waits. */
    T_EQ_INT(fakeapi_patch(bench.world.api, KUBE_SERVICE, "a", "x", "metadata: {labels: {b: c}}"),
             0);
    bench_run(&bench, BENCH_GATHER_NS / 10);
    exec_enqueue(bench.exec, bench_reconciler(), (KubeKey){STR("a"), STR("x")});
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench.n_plans, 2);
}
