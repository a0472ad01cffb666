/* SPDX-License-Identifier: Apache-2.0 */
/* The executor and objects that came, or came anew, while a request was on its way. */
#include "kube/meta.h"
#include "test/harness/t.h"
#include "test/unit/controller/bench_exec.h"

static json_t *note_patch(const char *value)
{
    json_t *patch = NULL;

    kube_patch_annotation(&patch, "note", str_from(value));
    return patch;
}

static Str annotation(const Bench *bench, const char *name, const char *key)
{
    return jx_get_str(fakeapi_get(bench->world.api, KUBE_SANDBOX, "a", name), "metadata",
                      "annotations", key);
}

/* One Sandbox "x", seen by the cache. */
static void init_with_sandbox(Bench *bench)
{
    bench_init(bench);
    bench_sandbox(bench, "x");
    bench_run(bench, NS_PER_S);
}

static void plan_note_old(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    if (bench->step++ == 0) {
        plan_patch(plan, view_get(view, KUBE_SANDBOX, key.ns, key.name), note_patch("for the old"));
    }
}

/* Found by the simulator: a claim's metadata went to another claim of the same name. */
T_TEST(exec_does_not_patch_an_object_made_anew_under_the_name)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    fakeapi_set_latency(bench.world.api, 100 * NS_PER_MS);
    bench_start(&bench, plan_note_old);
    bench_run(&bench, NS_PER_MS);
    T_EQ_INT(bench.step, 1);
    T_EQ_INT(fakeapi_delete(bench.world.api, KUBE_SANDBOX, "a", "x"), 0);
    bench_sandbox(&bench, "x");
    bench_run(&bench, 5 * NS_PER_S);
    T_CHECK(!annotation(&bench, "x", "note").ptr);
    T_EQ_INT(bench_stats(&bench).calls[PLAN_PATCH], 1);
    T_EQ_INT(bench_stats(&bench).errors, 0);
    T_CHECK(bench.step > 1);
}

static FakeVerdict answer_late(void *ctx, const FakeCall *call)
{
    UNUSED(ctx);
    return (FakeVerdict){.kind = FAKE_PASS, .delay_ns = call->watch ? 0 : NS_PER_S};
}

static void plan_read_own(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    UNUSED(view);
    if (bench->step++ == 0) {
        plan_read(plan, KUBE_POD, key.ns, key.name);
    }
}

/* Found by the simulator: the answer told of the time before the object came. */
T_TEST(exec_does_not_forget_what_is_newer_than_a_late_answer)
{
    AUTO(bench) Bench bench;
    const KubeKey key = {STR("a"), STR("x")};

    init_with_sandbox(&bench);
    fakeapi_set_hook(bench.world.api, answer_late, NULL);
    bench_start(&bench, plan_read_own);
    bench_run(&bench, 100 * NS_PER_MS);
    T_EQ_INT(fakeapi_create(bench.world.api,
                            "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: a, labels: "
                            "{agents.x-k8s.io/sandbox-name-hash: h}}}"),
             0);
    bench_run(&bench, 100 * NS_PER_MS);
    T_CHECK(kube_store_get(kube_informer_store(bench.informers[KUBE_POD]), key));
    T_EQ_INT(bench.step, 1);
    bench_run(&bench, 2 * NS_PER_S);
    T_CHECK(bench.step > 1);
    T_CHECK(kube_store_get(kube_informer_store(bench.informers[KUBE_POD]), key));
}
