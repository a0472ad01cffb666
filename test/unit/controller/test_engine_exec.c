/* SPDX-License-Identifier: Apache-2.0 */
/* The executor over a fake API server: stages, preconditions, and what each failure leads to. */
#include <stdio.h>

#include "controller/engine/pace.h"
#include "controller/keys.h"
#include "kube/meta.h"
#include "test/harness/t.h"
#include "test/unit/controller/bench_exec.h"

static json_t *pod_body(Str ns, Str name)
{
    json_t *pod = kube_meta_new(kube_kind(KUBE_POD), ns, name);

    kube_meta_set_label(pod, LABEL_SANDBOX_NAME_HASH, STR("00000000"));
    return pod;
}

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

static bool trace_has(const Bench *bench, const char *line)
{
    Str trace = fakeapi_trace(bench->world.api);

    return memmem(trace.ptr, trace.len, line, strlen(line)) != NULL;
}

/* One Sandbox "x", seen by the cache. */
static void init_with_sandbox(Bench *bench)
{
    bench_init(bench);
    bench_sandbox(bench, "x");
    bench_run(bench, NS_PER_S);
    fakeapi_trace_reset(bench->world.api);
}

/* ---- nothing before start ---- */

static void plan_pod_once(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    UNUSED(bench);
    if (!view_get(view, KUBE_POD, key.ns, key.name)) {
        plan_create(plan, KUBE_POD, key.ns, key.name, pod_body(key.ns, key.name));
    }
}

T_TEST(exec_does_nothing_before_start_and_everything_known_after)
{
    AUTO(bench) Bench bench;

    bench_init(&bench);
    bench_sandbox(&bench, "x");
    bench_sandbox(&bench, "y");
    bench_sandbox(&bench, "z");
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench.n_plans, 0);
    bench_start(&bench, plan_pod_once);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), 3);
    T_EQ_INT(bench_stats(&bench).calls[PLAN_CREATE], 3);
    T_CHECK(exec_is_idle(bench.exec));
}

T_TEST(exec_works_on_no_more_keys_at_once_than_it_has_workers)
{
    AUTO(bench) Bench bench;
    char name[16];

    bench_init(&bench);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        bench_sandbox(&bench, name);
    }
    bench_run(&bench, NS_PER_S);
    fakeapi_set_latency(bench.world.api, 100 * NS_PER_MS);
    bench_start(&bench, plan_pod_once);
    for (int i = 0; i < 40; i++) {
        bench_run(&bench, 50 * NS_PER_MS);
        T_CHECK(bench_stats(&bench).running <= 2);
    }
    bench_run(&bench, 5 * NS_PER_S);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), 20);
}

/* ---- stages and preconditions ---- */

static void plan_two_stages(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    const PlanAction *first;
    PlanAction *second;
    json_t *status;

    if (bench->step++ > 0) {
        return;
    }
    first = plan_patch(plan, sandbox, note_patch("one"));
    plan_next_stage(plan);
    status = jx_object_new();
    jx_set_path(status, jx_string_new(STR("s")), "status", "service");
    second = plan_patch_status(plan, sandbox, status);
    second->rv_of = first;
}

T_TEST(exec_hands_the_version_of_a_reply_to_a_later_stage)
{
    AUTO(bench) Bench bench;
    const json_t *sandbox;

    init_with_sandbox(&bench);
    bench_start(&bench, plan_two_stages);
    bench_run(&bench, NS_PER_S);
    sandbox = fakeapi_get(bench.world.api, KUBE_SANDBOX, "a", "x");
    T_EQ_STR(annotation(&bench, "x", "note"), "one");
    T_EQ_STR(jx_get_str(sandbox, "status", "service"), "s");
    T_EQ_INT(fakeapi_writes(bench.world.api), 2);
    T_EQ_INT(bench_stats(&bench).errors, 0);
}

static FakeVerdict refuse_pods(void *ctx, const FakeCall *call)
{
    const FakeVerdict *verdict = ctx;

    if (call->method == KUBE_POST && call->kind->id == KUBE_POD) {
        return *verdict;
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

static void plan_pod_then_note(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    const ViewFailure *failure = view_failure(view, PLAN_CREATE, KUBE_POD, key.ns, key.name);

    UNUSED(bench);
    if (failure) {
        if (kube_obj_annotation(sandbox, STR("trouble")).len == 0) {
            json_t *patch = NULL;

            kube_patch_annotation(&patch, "trouble", str_from(failure->error.msg));
            plan_patch(plan, sandbox, patch);
        }
        return;
    }
    if (view_get(view, KUBE_POD, key.ns, key.name)) {
        if (kube_obj_annotation(sandbox, STR("note")).len == 0) {
            plan_patch(plan, sandbox, note_patch("after the pod"));
        }
        return;
    }
    plan_create(plan, KUBE_POD, key.ns, key.name, pod_body(key.ns, key.name));
    plan_next_stage(plan);
    plan_patch(plan, sandbox, note_patch("after the pod"));
}

typedef struct PolicyRow {
    const char *label;
    FakeVerdict verdict;
    bool told;          /* the plan was shown the failure */
    uint64_t posts_min; /* attempts within twenty seconds */
    uint64_t posts_max;
} PolicyRow;

static void check_policy(const PolicyRow *row)
{
    AUTO(bench) Bench bench;
    FakeVerdict verdict = row->verdict;
    ExecStats stats;

    t_row(row->label);
    init_with_sandbox(&bench);
    fakeapi_set_hook(bench.world.api, refuse_pods, &verdict);
    bench_start(&bench, plan_pod_then_note);
    bench_run(&bench, 20 * NS_PER_S);
    stats = bench_stats(&bench);
    T_EQ_INT(annotation(&bench, "x", "trouble").len > 0, row->told);
    T_EQ_INT(annotation(&bench, "x", "note").len, 0);
    T_CHECK(stats.calls[PLAN_CREATE] >= row->posts_min);
    T_CHECK(stats.calls[PLAN_CREATE] <= row->posts_max);
    verdict.kind = FAKE_PASS;
    exec_enqueue(bench.exec, bench_reconciler(), (KubeKey){STR("a"), STR("x")});
    bench_run(&bench, 20 * NS_PER_S);
    T_EQ_STR(annotation(&bench, "x", "note"), "after the pod");
    t_row(NULL);
}

T_TEST(exec_failures_have_a_policy)
{
    static const PolicyRow table[] = {
        {"422 is shown, and retried only because the status changed",
         {.kind = FAKE_STATUS, .http = 422, .reason = "Invalid", .message = "no"},
         true,
         1,
         2},
        {"403 is shown and retried",
         {.kind = FAKE_STATUS, .http = 403, .reason = "Forbidden", .message = "quota"},
         true,
         3,
         20},
        {"500 is shown and retried",
         {.kind = FAKE_STATUS, .http = 500, .reason = "InternalError", .message = "webhook"},
         true,
         3,
         20},
        {"503 is retried quietly, then shown",
         {.kind = FAKE_STATUS, .http = 503, .reason = "ServiceUnavailable", .message = "later"},
         true,
         6,
         20},
        {"429 waits as long as it is told",
         {.kind = FAKE_STATUS,
          .http = 429,
          .reason = "TooManyRequests",
          .message = "slow",
          .retry_after_s = 6},
         false,
         3,
         5},
        {"a refused connection is retried, then shown", {.kind = FAKE_NOT_SENT}, true, 6, 20},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        check_policy(&table[i]);
    }
}

static FakeVerdict lose_first_post(void *ctx, const FakeCall *call)
{
    int *left = ctx;

    if (call->method == KUBE_POST && call->kind->id == KUBE_POD && *left > 0) {
        (*left)--;
        return (FakeVerdict){.kind = FAKE_LOST_AFTER};
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

T_TEST(exec_heals_a_lost_answer_by_the_name)
{
    AUTO(bench) Bench bench;
    int left = 1;

    init_with_sandbox(&bench);
    fakeapi_set_hook(bench.world.api, lose_first_post, &left);
    bench_start(&bench, plan_pod_once);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), 1);
    T_CHECK(bench_stats(&bench).calls[PLAN_CREATE] <= 2);
    T_CHECK(exec_is_idle(bench.exec));
}

/* ---- the world is different ---- */

static void plan_pod_or_report(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    const KubeObj *pod = view_get(view, KUBE_POD, key.ns, key.name);

    if (bench->step > 0) {
        return;
    }
    if (!pod) {
        plan_create(plan, KUBE_POD, key.ns, key.name, pod_body(key.ns, key.name));
    } else {
        bench->step++;
        plan_patch(plan, sandbox,
                   note_patch(kube_obj_label(pod, STR("app")).ptr ? "found" : "made"));
    }
}

T_TEST(exec_reads_a_name_that_is_taken_and_plans_again)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    /* Without the hash label the cache does not see it. */
    T_EQ_INT(fakeapi_create(bench.world.api, "{apiVersion: v1, kind: Pod, metadata: {name: x, "
                                             "namespace: a, labels: {app: foreign}}}"),
             0);
    bench_start(&bench, plan_pod_or_report);
    bench_run(&bench, NS_PER_S);
    T_EQ_STR(annotation(&bench, "x", "note"), "found");
    T_CHECK(trace_has(&bench, "GET pods a/x"));
    T_EQ_INT(bench_stats(&bench).errors, 0);
}

static void plan_swap(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    PlanAction *swap;

    if (kube_obj_annotation(sandbox, STR("note")).len > 0) {
        return;
    }
    swap = plan_patch(plan, sandbox, note_patch("swapped"));
    plan_if_rv(plan, swap, bench->step++ == 0 ? STR("1") : sandbox->rv_text);
}

T_TEST(exec_reads_after_a_conflict_and_plans_again_in_the_same_pass)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    bench_start(&bench, plan_swap);
    bench_run(&bench, NS_PER_S);
    T_EQ_STR(annotation(&bench, "x", "note"), "swapped");
    T_CHECK(trace_has(&bench, "GET sandboxes a/x"));
    T_EQ_INT(bench_stats(&bench).errors, 0);
}

static void plan_always_stale(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);

    UNUSED(bench);
    plan_if_rv(plan, plan_patch(plan, sandbox, note_patch("never")), STR("1"));
}

T_TEST(exec_gives_up_on_a_pass_that_does_not_converge)
{
    AUTO(bench) Bench bench;
    ExecStats stats;

    init_with_sandbox(&bench);
    bench_start(&bench, plan_always_stale);
    do {
        bench_run(&bench, NS_PER_MS);
        stats = bench_stats(&bench);
    } while (stats.passes == 0);
    T_EQ_INT(stats.errors, 1);
    T_EQ_INT(stats.plans, EXEC_PLANS_MAX);
    bench_run(&bench, 60 * NS_PER_S);
    stats = bench_stats(&bench);
    T_CHECK(stats.errors >= 2);
    T_CHECK(stats.calls[PLAN_PATCH] > PACE_FREE && stats.calls[PLAN_PATCH] < 2 * PACE_FREE);
}

static void plan_read_both(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *pod = NULL;
    const KubeObj *other = NULL;
    ViewPresence a = view_lookup(view, KUBE_POD, key.ns, STR("there"), &pod);
    ViewPresence b = view_lookup(view, KUBE_POD, key.ns, STR("nowhere"), &other);

    if (a == VIEW_UNKNOWN || b == VIEW_UNKNOWN) {
        plan_read(plan, KUBE_POD, key.ns, STR("there"));
        plan_read(plan, KUBE_POD, key.ns, STR("nowhere"));
        return;
    }
    T_CHECK(a == VIEW_PRESENT && b == VIEW_ABSENT);
    bench->step++;
}

T_TEST(exec_shows_the_answers_of_reads_to_the_next_plan)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    T_EQ_INT(fakeapi_create(bench.world.api,
                            "{apiVersion: v1, kind: Pod, metadata: {name: there, namespace: a}}"),
             0);
    bench_start(&bench, plan_read_both);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench.step, 1);
    T_EQ_INT(bench_stats(&bench).passes, 1);
    T_EQ_INT(bench_stats(&bench).plans, 2);
}

static void plan_delete_pod(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *pod = view_get(view, KUBE_POD, key.ns, key.name);

    UNUSED(bench);
    if (pod && !kube_obj_deleting(pod)) {
        plan_delete(plan, pod);
    }
}

T_TEST(exec_counts_a_delete_of_something_gone_as_done)
{
    AUTO(bench) Bench bench;

    bench_init(&bench);
    T_EQ_INT(fakeapi_create(bench.world.api,
                            "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: a, labels: "
                            "{agents.x-k8s.io/sandbox-name-hash: h}}}"),
             0);
    bench_sandbox(&bench, "x");
    bench_run(&bench, NS_PER_S);
    fakeapi_set_latency(bench.world.api, 100 * NS_PER_MS);
    bench_start(&bench, plan_delete_pod);
    bench_run(&bench, NS_PER_MS);
    T_EQ_INT(fakeapi_delete(bench.world.api, KUBE_POD, "a", "x"), 0);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench_stats(&bench).errors, 0);
    T_EQ_INT(bench_stats(&bench).calls[PLAN_DELETE], 1);
    T_CHECK(exec_is_idle(bench.exec));
}

/* ---- optional, coalesced, wanted later ---- */

static void plan_optional(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);

    if (bench->step++ > 0) {
        return;
    }
    plan_create(plan, KUBE_POD, key.ns, key.name, pod_body(key.ns, key.name))->optional = true;
    plan_next_stage(plan);
    plan_patch(plan, sandbox, note_patch("went on"));
}

T_TEST(exec_goes_on_after_an_optional_action_failed)
{
    AUTO(bench) Bench bench;
    FakeVerdict verdict = {.kind = FAKE_STATUS, .http = 500};

    init_with_sandbox(&bench);
    fakeapi_set_hook(bench.world.api, refuse_pods, &verdict);
    bench_start(&bench, plan_optional);
    bench_run(&bench, NS_PER_S);
    T_EQ_STR(annotation(&bench, "x", "note"), "went on");
    T_EQ_INT(bench_stats(&bench).errors, 0);
}

static void plan_coalesced(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);

    if (bench->step == 0 || kube_obj_annotation(sandbox, STR("note")).len > 0) {
        return;
    }
    plan_patch(plan, sandbox, note_patch("late"))->coalesce_ns = 2 * NS_PER_S;
}

T_TEST(exec_coalesces_until_the_window_is_over)
{
    AUTO(bench) Bench bench;
    const KubeKey key = {STR("a"), STR("x")};

    init_with_sandbox(&bench);
    bench.step = 1;
    bench_start(&bench, plan_coalesced);
    for (int i = 0; i < 15; i++) {
        exec_enqueue(bench.exec, bench_reconciler(), key);
        bench_run(&bench, 100 * NS_PER_MS);
    }
    T_EQ_INT(annotation(&bench, "x", "note").len, 0);
    bench_run(&bench, 600 * NS_PER_MS);
    T_EQ_STR(annotation(&bench, "x", "note"), "late");
    T_EQ_INT(bench_stats(&bench).calls[PLAN_PATCH], 1);
}

T_TEST(exec_starts_the_window_anew_after_a_pause)
{
    AUTO(bench) Bench bench;
    const KubeKey key = {STR("a"), STR("x")};

    init_with_sandbox(&bench);
    bench.step = 1;
    bench_start(&bench, plan_coalesced);
    bench_run(&bench, 1500 * NS_PER_MS);
    bench.step = 0; /* not wanted any more */
    exec_enqueue(bench.exec, bench_reconciler(), key);
    bench_run(&bench, 100 * NS_PER_MS);
    bench.step = 1;
    exec_enqueue(bench.exec, bench_reconciler(), key);
    bench_run(&bench, 1900 * NS_PER_MS);
    T_EQ_INT(annotation(&bench, "x", "note").len, 0);
    bench_run(&bench, 200 * NS_PER_MS);
    T_EQ_STR(annotation(&bench, "x", "note"), "late");
}

static void plan_at_time(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const int64_t at = FAKE_WORLD_WALL_NS + 30 * (int64_t)NS_PER_S;
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);

    UNUSED(bench);
    if (view->now_wall_ns < at) {
        plan_requeue_at(plan, at);
    } else if (kube_obj_annotation(sandbox, STR("note")).len == 0) {
        plan_patch(plan, sandbox, note_patch("on time"));
    }
}

T_TEST(exec_wakes_a_key_at_the_time_it_asked_for)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    bench_start(&bench, plan_at_time);
    bench_run(&bench, 20 * NS_PER_S);
    T_EQ_INT(annotation(&bench, "x", "note").len, 0);
    bench_run(&bench, 10 * NS_PER_S);
    T_EQ_STR(annotation(&bench, "x", "note"), "on time");
    T_CHECK(bench.n_plans <= 4);
}

static void plan_failing(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    UNUSED(bench);
    UNUSED(view);
    plan_fail(plan, "cannot do " STR_FMT, STR_ARG(key.name));
}

T_TEST(exec_backs_off_from_a_failing_plan_up_to_its_limit)
{
    AUTO(bench) Bench bench;
    uint64_t before;

    init_with_sandbox(&bench);
    bench_start(&bench, plan_failing);
    bench_run(&bench, 200 * NS_PER_S);
    before = bench_stats(&bench).errors;
    bench_run(&bench, 100 * NS_PER_S);
    T_CHECK(bench_stats(&bench).errors >= before + 9); /* at least once in 10 s */
    T_CHECK(bench_stats(&bench).errors <= before + 14);
}

/* ---- reservations, stop ---- */

static void plan_take(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);

    if (kube_obj_annotation(sandbox, STR("note")).len > 0) {
        return;
    }
    if (view_reserved_by(view, STR("prize")).ptr) {
        bench->step++;
        plan_requeue_at(plan, view->now_wall_ns + (int64_t)(10 * NS_PER_MS));
        return;
    }
    plan_reserve(plan, STR("prize"));
    plan_patch(plan, sandbox, note_patch("had it"));
}

T_TEST(exec_keeps_a_reservation_while_its_plan_is_in_flight)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    bench_sandbox(&bench, "y");
    bench_run(&bench, NS_PER_S);
    bench_start(&bench, plan_take);
    bench_run(&bench, NS_PER_S);
    T_CHECK(bench.step >= 1);
    T_EQ_STR(annotation(&bench, "x", "note"), "had it");
    T_EQ_STR(annotation(&bench, "y", "note"), "had it");
    T_EQ_INT(bench_stats(&bench).errors, 0);
}

T_TEST(exec_stop_cancels_what_is_in_flight_and_start_begins_anew)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    fakeapi_set_latency(bench.world.api, NS_PER_S);
    bench_start(&bench, plan_pod_once);
    bench_run(&bench, 10 * NS_PER_MS);
    T_EQ_INT(bench_stats(&bench).running, 1);
    exec_stop(bench.exec);
    T_EQ_INT(bench_stats(&bench).running, 0);
    bench_run(&bench, 5 * NS_PER_S);
    T_EQ_INT(bench_stats(&bench).passes, 0);
    fakeapi_set_latency(bench.world.api, NS_PER_MS);
    exec_start(bench.exec);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), 1);
    T_CHECK(exec_is_idle(bench.exec));
}

/* ---- limits and metrics ---- */

static void plan_too_much(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    char name[32];

    UNUSED(bench);
    for (int i = 0; i < PLAN_ACTIONS_MAX + 50; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        if (!view_get(view, KUBE_POD, key.ns, str_from(name))) {
            plan_create(plan, KUBE_POD, key.ns, str_from(name), pod_body(key.ns, str_from(name)));
        }
    }
}

T_TEST(exec_carries_out_a_plan_that_is_too_long_in_parts)
{
    AUTO(bench) Bench bench;

    init_with_sandbox(&bench);
    bench_start(&bench, plan_too_much);
    bench_run(&bench, 10 * NS_PER_S);
    T_EQ_INT(fakeapi_count(bench.world.api, KUBE_POD), PLAN_ACTIONS_MAX + 50);
    T_EQ_INT(bench_stats(&bench).errors, 0);
}

static void plan_sampled(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const Str labels[] = {STR("warm"), STR("t")};

    UNUSED(view);
    UNUSED(key);
    if (bench->step++ == 0) {
        plan_sample(plan, METER_CLAIM_CONTROLLER_STARTUP_MS, 12.9, labels, 2);
    }
}

T_TEST(exec_takes_samples_and_counts_passes)
{
    AUTO(bench) Bench bench;
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 20);

    init_with_sandbox(&bench);
    bench_start(&bench, plan_sampled);
    bench_run(&bench, NS_PER_S);
    T_OK(metrics_write(bench.metrics, &text));
    T_CONTAINS(strbuf_str(&text),
               "agent_sandbox_claim_controller_startup_latency_ms_sum{launch_type=\"warm\","
               "sandbox_template=\"t\"} 12\n");
    T_CONTAINS(strbuf_str(&text),
               "cofferdam_claim_controller_startup_latency_ms_bucket{launch_type=\"warm\","
               "sandbox_template=\"t\",le=\"15\"} 1\n");
    T_CONTAINS(strbuf_str(&text), "controller_runtime_reconcile_total{controller=\"bench\",result="
                                  "\"success\"} 1\n");
    T_CONTAINS(strbuf_str(&text), "workqueue_unfinished_work_seconds{name=\"bench\"} 0\n");
    T_CONTAINS(strbuf_str(&text),
               "controller_runtime_max_concurrent_reconciles{controller=\"bench\"} 2\n");
}

static void plan_sampled_then_more(Bench *bench, const View *view, KubeKey key, Plan *plan)
{
    const Str labels[] = {STR("a"), STR("t"), STR("None"), STR("Retain")};

    UNUSED(view);
    if (bench->step++ == 0) {
        plan_read(plan, KUBE_POD, key.ns, STR("x"));
        plan_sample(plan, METER_EXPIRED_TOTAL, 1, labels, 4);
    }
}

T_TEST(exec_takes_the_samples_of_every_plan_of_a_pass_once)
{
    AUTO(bench) Bench bench;
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 20);

    init_with_sandbox(&bench);
    bench_start(&bench, plan_sampled_then_more);
    bench_run(&bench, NS_PER_S);
    T_EQ_INT(bench.step, 2);
    T_OK(metrics_write(bench.metrics, &text));
    T_CONTAINS(strbuf_str(&text), "agent_sandbox_expired_total{namespace=\"a\",sandbox_template="
                                  "\"t\",owned_by=\"None\",shutdown_policy=\"Retain\"} 1\n");
}
