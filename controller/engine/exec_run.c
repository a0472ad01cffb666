/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over one key: plan, stages, plan again, and the end with its requeue, metrics and log
 * line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/engine/exec_internal.h"

typedef enum StageResult {
    STAGE_GO_ON, /* every critical action is done */
    STAGE_REPLAN,
    STAGE_GIVE_UP, /* retry the key with back-off, or wait for what wakes it */
} StageResult;

static void run_advance(ExecRun *run);

static void drop_plan(ExecRun *run)
{
    for (size_t i = 0; run->calls && i < run->plan.n_actions; i++) {
        exec_call_cancel(&run->calls[i]);
        free(run->calls[i].reply_rv);
        kube_obj_unref(run->calls[i].known);
    }
    free(run->calls);
    run->calls = NULL;
    plan_deinit(&run->plan);
    arena_reset(&run->arena);
    plan_init(&run->plan, &run->arena);
}

static void make_plan(ExecRun *run)
{
    Exec *exec = run->exec;
    View view = exec->view;

    drop_plan(run);
    view.now_wall_ns = loop_wall_now(exec->config.loop);
    view.facts = &run->facts;
    view.self = str_from(run->holder);
    view.trace_context = exec_trace_annotation(run);
    run->controller->reconciler->plan(&view, run->key, &run->arena, &run->plan);
    run->plans++;
    run->learned = false;
    run->stage = 0;
    memset(run->stage_ns, 0, sizeof(run->stage_ns));
    run->coalesced_for_ns = 0;
    exec->stats.plans++;
}

static void defer(ExecRun *run, size_t i, uint64_t wait_ns)
{
    run->calls[i].deferred = true;
    if (run->coalesced_for_ns == 0 || wait_ns < run->coalesced_for_ns) {
        run->coalesced_for_ns = wait_ns;
    }
}

/* A pool's pass is not held up by a status that was written often: its refill goes on, the status
 * alone waits. */
static void apply_status_pace(ExecRun *run)
{
    const Exec *exec = run->exec;

    for (size_t i = 0; i < run->plan.n_actions; i++) {
        const PlanAction *action = run->plan.actions[i];
        uint64_t wait = 0;

        if (action->verb == PLAN_PATCH_STATUS && action->kind == KUBE_WARMPOOL) {
            wait = pace_wait_ns(&exec->pace, action->kind, (KubeKey){action->ns, action->name},
                                loop_now(exec->config.loop));
        }
        if (wait > 0) {
            defer(run, i, wait < EXEC_STATUS_PACE_MAX_NS ? wait : EXEC_STATUS_PACE_MAX_NS);
        }
    }
}

/* Decides which coalesced actions wait; the wish is forgotten when it is gone or granted. */
static void apply_coalescing(ExecRun *run)
{
    Coalesce *coalesce = &run->controller->coalesce;
    uint64_t now = loop_now(run->exec->config.loop);
    bool waiting = false;

    for (size_t i = 0; i < run->plan.n_actions; i++) {
        uint64_t window = run->plan.actions[i]->coalesce_ns;
        uint64_t due;

        if (window == 0) {
            continue;
        }
        due = coalesce_since(coalesce, run->key, now) + window;
        if (now >= due) {
            continue;
        }
        waiting = true;
        defer(run, i, due - now);
    }
    if (!waiting) {
        coalesce_clear(coalesce, run->key);
    }
}

static void drop_reservations(ExecRun *run)
{
    if (run->reserved) {
        reservations_release_all(&run->exec->reservations, str_from(run->holder));
        run->reserved = false;
    }
}

static bool take_reservations(ExecRun *run)
{
    Exec *exec = run->exec;

    drop_reservations(run);
    run->reserved = run->plan.n_reservations > 0;
    for (size_t i = 0; i < run->plan.n_reservations; i++) {
        if (!reservations_take(&exec->reservations, run->plan.reservations[i],
                               str_from(run->holder))) {
            return false;
        }
    }
    return true;
}

static void accept_plan(ExecRun *run)
{
    run->calls = xcalloc(run->plan.n_actions + 1, sizeof(run->calls[0]));
    for (size_t i = 0; i < run->plan.n_actions; i++) {
        run->calls[i] = (ExecCall){.run = run, .action = run->plan.actions[i]};
    }
    apply_coalescing(run);
    apply_status_pace(run);
}

/* ---- the end of a pass ---- */

static const char *result_name(const ExecRun *run, bool error)
{
    if (error) {
        return "error";
    }
    return run->plan.requeue_at_wall_ns || run->coalesced_for_ns ? "requeue_after" : "success";
}

static void report(ExecRun *run, bool error)
{
    Exec *exec = run->exec;
    const Reconciler *reconciler = run->controller->reconciler;
    uint64_t took_ns = loop_now(exec->config.loop) - run->started_ns;
    const Str labels[] = {str_from(reconciler->name), str_from(result_name(run, error))};
    LogLevel level = error           ? LOG_LEVEL_ERROR
                     : run->error[0] ? LOG_LEVEL_WARN
                     : run->writes   ? LOG_LEVEL_INFO
                                     : LOG_LEVEL_DEBUG;

    exec->stats.passes++;
    exec->stats.errors += error;
    meters_sample(exec->config.meters, METER_RECONCILE_TOTAL, 1, labels, 2);
    meters_sample(exec->config.meters, METER_RECONCILE_TIME_SECONDS, (double)took_ns / 1e9, labels,
                  1);
    meters_sample(exec->config.meters, METER_WORK_SECONDS, (double)took_ns / 1e9, labels, 1);
    if (error) {
        meters_sample(exec->config.meters, METER_RECONCILE_ERRORS_TOTAL, 1, labels, 1);
    }
    LOG_AT_(exec->config.log, level, error ? "reconcile failed" : "reconciled",
            F_CSTR("controller", reconciler->name), F_STR("namespace", run->key.ns),
            F_STR("name", run->key.name), F_CSTR("reason", run->plan.reason),
            F_CSTR("error", run->plan.error ? run->plan.error : run->error),
            F_I64("plans", run->plans), F_I64("writes", run->writes),
            F_F64("duration_ms", (double)took_ns / 1e6));
    exec_trace_end(run, result_name(run, error));
}

/* The earliest of what the plan and the coalesced actions ask for; 0 = nothing. */
static uint64_t requeue_delay(const ExecRun *run)
{
    uint64_t delay = run->coalesced_for_ns;

    if (run->plan.requeue_at_wall_ns != 0) {
        int64_t left = run->plan.requeue_at_wall_ns - loop_wall_now(run->exec->config.loop);
        uint64_t wanted = left > 0 ? (uint64_t)left : 1;

        wanted = wanted < EXEC_REQUEUE_MAX_NS ? wanted : EXEC_REQUEUE_MAX_NS;
        if (delay == 0 || wanted < delay) {
            delay = wanted;
        }
    }
    return delay;
}

static void schedule(ExecRun *run, bool error)
{
    KubeQueue *queue = run->controller->queue;
    uint64_t delay = requeue_delay(run);

    if (error && run->retry_after_ns > 0) {
        (void)kube_queue_add_after(queue, run->key, KUBE_PRIO_NORMAL, run->retry_after_ns);
        return;
    }
    if (error) {
        (void)kube_queue_add_failed(queue, run->key, KUBE_PRIO_NORMAL,
                                    run->controller->reconciler->backoff_max_ns);
    } else {
        kube_queue_forget(queue, run->key);
    }
    if (delay > 0) {
        (void)kube_queue_add_after(queue, run->key, KUBE_PRIO_NORMAL, delay);
    }
}

static double sample_value(const ExecRun *run, const PlanSample *sample)
{
    switch (sample->time) {
    case PLAN_TIME_QUEUE:
        return (double)run->waited_ns / (double)NS_PER_MS;
    case PLAN_TIME_STAGE:
        return (double)run->stage_ns[sample->stage] / (double)NS_PER_MS;
    default:
        return sample->since_wall_ns == 0
                   ? sample->value
                   : (double)(loop_wall_now(run->exec->config.loop) - sample->since_wall_ns) /
                         (double)NS_PER_MS;
    }
}

/* Of a plan that was carried out; the next plan of the pass brings its own. */
static void take_samples(ExecRun *run)
{
    const Exec *exec = run->exec;

    for (size_t i = 0; i < run->plan.n_samples; i++) {
        const PlanSample *sample = &run->plan.samples[i];

        meters_sample(exec->config.meters, (MeterId)sample->meter, sample_value(run, sample),
                      sample->labels, sample->n_labels);
    }
    run->plan.n_samples = 0;
}

static void end_pass(ExecRun *run, bool retry)
{
    bool error = retry || run->failed || run->plan.error;

    report(run, error);
    drop_reservations(run);
    kube_queue_done(run->controller->queue, run->item);
    run->item = NULL;
    schedule(run, error);
    exec_run_ended(run);
}

/* ---- stages ---- */

static void start_stage(ExecRun *run)
{
    run->starting = true;
    run->pending = 0;
    run->stage_began_ns = loop_now(run->exec->config.loop);
    for (size_t i = 0; i < run->plan.n_actions; i++) {
        ExecCall *call = &run->calls[i];

        if (call->action->stage != run->stage) {
            continue;
        }
        if (call->deferred) {
            call->outcome = EXEC_SKIPPED;
            continue;
        }
        exec_call_start(call);
        run->pending += call->outcome == EXEC_PENDING;
    }
    run->starting = false;
}

static StageResult stage_result(const ExecRun *run)
{
    bool replan = false;
    bool failed = false;

    for (size_t i = 0; i < run->plan.n_actions; i++) {
        const ExecCall *call = &run->calls[i];

        if (call->action->stage != run->stage) {
            continue;
        }
        if (call->outcome == EXEC_RETRY) {
            return STAGE_GIVE_UP;
        }
        /* What was read is planned with only when this plan has nothing more to do. */
        replan |= call->outcome == EXEC_REPLAN && call->action->verb != PLAN_READ;
        failed |= call->outcome == EXEC_FAILED;
    }
    if (replan || (failed && run->learned)) {
        return STAGE_REPLAN;
    }
    return failed ? STAGE_GIVE_UP : STAGE_GO_ON;
}

static bool has_retry(const ExecRun *run)
{
    for (size_t i = 0; i < run->plan.n_actions; i++) {
        if (run->calls[i].outcome == EXEC_RETRY) {
            return true;
        }
    }
    return false;
}

/* Whether the pass goes on with another plan after this one went well. */
static bool wants_more(const ExecRun *run)
{
    if (run->plan.overflow) {
        return true;
    }
    for (size_t i = 0; i < run->plan.n_actions; i++) {
        if (run->calls[i].outcome == EXEC_REPLAN ||
            (run->plan.more && run->calls[i].outcome == EXEC_DONE)) {
            return true;
        }
    }
    return false;
}

static unsigned last_stage(const ExecRun *run)
{
    size_t n = run->plan.n_actions;

    return n > 0 ? run->plan.actions[n - 1]->stage : 0;
}

/* How long the objects that the plan writes want to be left alone. A pool is left out, see
 * apply_status_pace(). */
static uint64_t pace_of_plan(const ExecRun *run)
{
    const Exec *exec = run->exec;
    uint64_t now = loop_now(exec->config.loop);
    uint64_t longest = 0;
    bool hot = false;

    for (size_t i = 0; i < run->plan.n_actions; i++) {
        const PlanAction *action = run->plan.actions[i];
        uint64_t wait = 0;

        if (action->verb != PLAN_READ && action->verb != PLAN_EVENT) {
            wait =
                pace_wait_ns(&exec->pace, action->kind, (KubeKey){action->ns, action->name}, now);
        }
        hot = hot || wait > 0;
        if (action->kind != KUBE_WARMPOOL) {
            longest = wait > longest ? wait : longest;
        }
    }
    /* Written again and again: perhaps by two in turn, who see each other's writes and know better.
     */
    if (hot && exec->config.on_rival) {
        exec->config.on_rival(exec->config.ctx);
    }
    return longest;
}

/* False when the pass has ended. */
static bool next_plan(ExecRun *run)
{
    uint64_t wait;

    if (run->plans >= EXEC_PLANS_MAX) {
        exec_run_note_error(run, NULL, "too many plans in one pass");
        end_pass(run, true);
        return false;
    }
    make_plan(run);
    wait = pace_of_plan(run);
    if (wait > 0) {
        run->coalesced_for_ns = wait;
        end_pass(run, false);
        return false;
    }
    if (!take_reservations(run)) {
        exec_run_note_error(run, NULL, "reserved by another key");
        end_pass(run, true);
        return false;
    }
    accept_plan(run);
    start_stage(run);
    return true;
}

/* Goes on until something is in flight or the pass has ended. */
static void run_advance(ExecRun *run)
{
    while (run->pending == 0) {
        StageResult result = stage_result(run);

        if (result == STAGE_GIVE_UP) {
            end_pass(run, has_retry(run));
            return;
        }
        if (result == STAGE_GO_ON && run->stage < PLAN_TIMED_STAGES_MAX) {
            run->stage_ns[run->stage] = loop_now(run->exec->config.loop) - run->stage_began_ns;
        }
        if (result == STAGE_GO_ON && run->stage < last_stage(run)) {
            run->stage++;
            start_stage(run);
            continue;
        }
        if (result == STAGE_GO_ON) {
            take_samples(run);
        }
        if (result == STAGE_REPLAN || wants_more(run)) {
            if (!next_plan(run)) {
                return;
            }
            continue;
        }
        end_pass(run, false);
        return;
    }
}

void exec_run_call_done(ExecRun *run)
{
    CHECK(run->pending > 0 && !run->starting);
    run->pending--;
    if (run->pending == 0) {
        run_advance(run);
    }
}

void exec_run_note_error(ExecRun *run, const PlanAction *action, const char *text)
{
    if (run->error[0] != '\0') {
        return;
    }
    if (action) {
        (void)snprintf(run->error, sizeof(run->error), "%s %s " STR_FMT ": %s",
                       plan_verb_name(action->verb), kube_kind(action->kind)->kind,
                       STR_ARG(action->name), text);
    } else {
        (void)snprintf(run->error, sizeof(run->error), "%s", text);
    }
}

static void report_start(ExecRun *run, uint64_t queued_ns)
{
    const Str labels[] = {str_from(run->controller->reconciler->name)};

    run->waited_ns = run->started_ns > queued_ns ? run->started_ns - queued_ns : 0;
    meters_sample(run->exec->config.meters, METER_QUEUE_SECONDS, (double)run->waited_ns / 1e9,
                  labels, 1);
}

void exec_run_start(ExecController *controller, KubeQueueItem *item)
{
    ExecRun *run = xcalloc(1, sizeof(*run));
    KubeKey key = kube_queue_item_key(item);

    run->exec = controller->exec;
    run->controller = controller;
    run->item = item;
    run->ns = xstrndup(key.ns.len ? key.ns.ptr : "", key.ns.len);
    run->name = xstrndup(key.name.ptr, key.name.len);
    run->key = (KubeKey){str_from(run->ns), str_from(run->name)};
    run->holder = xasprintf("%s/%s/%s", controller->reconciler->name, run->ns, run->name);
    run->started_ns = loop_now(run->exec->config.loop);
    report_start(run, kube_queue_item_queued_ns(item));
    arena_init(&run->arena, 0);
    plan_init(&run->plan, &run->arena);
    facts_init(&run->facts);
    list_push_back(&run->exec->runs, &run->node);
    controller->running++;
    run->exec->stats.running++;
    exec_trace_begin(run);
    if (next_plan(run)) {
        run_advance(run);
    }
}

void exec_run_cancel(ExecRun *run)
{
    drop_plan(run);
    run->pending = 0;
}

void exec_run_free(ExecRun *run)
{
    drop_plan(run);
    exec_trace_free(run);
    plan_deinit(&run->plan);
    facts_deinit(&run->facts);
    arena_deinit(&run->arena);
    free(run->holder);
    free(run->ns);
    free(run->name);
    free(run);
}
