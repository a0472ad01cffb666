/* SPDX-License-Identifier: Apache-2.0 */
/* The executor when it leads no more, when another leads too, and when the server's versions go
 * back. */
#include "controller/keys.h"
#include "kube/meta.h"
#include "test/harness/t.h"
#include "test/unit/controller/bench_exec.h"
#include "test/unit/controller/fixture.h"

static json_t *pod_body(Str ns, Str name)
{
    json_t *pod = kube_meta_new(kube_kind(KUBE_POD), ns, name);

    kube_meta_set_label(pod, LABEL_SANDBOX_NAME_HASH, STR("00000000"));
    return pod;
}

static bool trace_has(const Bench *bench, const char *line)
{
    Str trace = fakeapi_trace(bench->world.api);

    return memmem(trace.ptr, trace.len, line, strlen(line)) != NULL;
}

static void plan_pod_once(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    UNUSED(bench);
    if (!view_get(view, KUBE_POD, key.ns, key.name)) {
        plan_create(plan, KUBE_POD, key.ns, key.name, pod_body(key.ns, key.name));
    }
}

T_TEST(exec_sends_no_write_when_it_may_not)
{
    AUTO(bench) Bench bench;

    bench_init(&bench);
    bench_sandbox(&bench, "x");
    bench_run(&bench, NS_PER_S);
    bench.asleep = true;
    bench_start(&bench, plan_pod_once);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench_stats(&bench).calls[PLAN_CREATE], 0);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), 0);
    bench.asleep = false;
    bench_run(&bench, 10 * NS_PER_S);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), 1);
}

static void plan_old_status(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    json_t *status = jx_object_new();

    if (bench->step++ > 0) {
        json_decref(status);
        return;
    }
    jx_set_path(status, jx_string_new(STR("n")), "status", "nodeName");
    plan_if_rv(plan, plan_patch_status(plan, sandbox, status), STR("1"));
}

T_TEST(exec_tells_of_a_status_that_somebody_else_wrote)
{
    AUTO(bench) Bench bench;

    bench_init(&bench);
    bench_sandbox(&bench, "x");
    bench_run(&bench, NS_PER_S);
    fakeapi_trace_reset(bench.world.api);
    bench_start(&bench, plan_old_status);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench.n_rivals, 1);
    T_CHECK(trace_has(&bench, "GET sandboxes a/x")); /* and looks before it goes on */
}

/* ---- versions that go back ---- */

static void plan_note_always(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    json_t *patch = NULL;

    UNUSED(bench);
    if (!sandbox || kube_obj_annotation(sandbox, STR("note")).len > 0) {
        return;
    }
    kube_patch_annotation(&patch, "note", STR("x"));
    plan_if_rv(plan, plan_patch(plan, sandbox, patch), sandbox->rv_text);
}

/* A conflict with a state older than the cache's: waits for the informer, not hot. */
T_TEST(exec_waits_when_the_server_is_older_than_its_cache)
{
    AUTO(bench) Bench bench;
    FakeBackup *backup;

    bench_init(&bench);
    bench_sandbox(&bench, "x");
    backup = fakeapi_backup(bench.world.api);
    fakeapi_skip_versions(bench.world.api, 1000);
    T_OK(fakeapi_patch(bench.world.api, KUBE_SANDBOX, "a", "x", "{metadata: {labels: {a: b}}}"));
    bench_run(&bench, NS_PER_S);
    fakeapi_restore(bench.world.api, backup);
    backup = fakeapi_backup_free(backup);
    bench_start(&bench, plan_note_always);
    bench_run(&bench, 2 * NS_PER_S);
    T_CHECK(bench_stats(&bench).calls[PLAN_PATCH] >= 2);
    T_CHECK(bench_stats(&bench).calls[PLAN_PATCH] <= 12);
    bench_run(&bench, 30 * NS_PER_S);
    T_EQ_STR(jx_get_str(fakeapi_get(bench.world.api, KUBE_SANDBOX, "a", "x"), "metadata",
                        "annotations", "note"),
             "x");
}

/* A status that follows from what was not seen is never written over one that was. */
T_TEST(statuses_of_pools_and_sandboxes_are_bound_to_what_was_seen)
{
    AUTO(fixture) Fixture f;
    const KubeObj *pool;
    const KubeObj *sandbox;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    pool = view_get(&f.view, KUBE_WARMPOOL, STR("a"), STR("p"));
    (void)fixture_plan(&f, warmpool_reconciler()->plan, "p");
    T_EQ_STR(fixture_action(&f, PLAN_PATCH_STATUS, KUBE_WARMPOOL)->rv, pool->rv_text);
    sandbox = fixture_put(&f, KUBE_SANDBOX,
                          "{'metadata':{'name':'s'},'spec':{'operatingMode':'Suspended',"
                          "'podTemplate':{'spec':{}}}}");
    fixture_absent(&f, KUBE_POD, "s");
    fixture_absent(&f, KUBE_SERVICE, "s");
    (void)fixture_plan(&f, sandbox_reconciler()->plan, "s");
    T_EQ_STR(fixture_action(&f, PLAN_PATCH_STATUS, KUBE_SANDBOX)->rv, sandbox->rv_text);
}
