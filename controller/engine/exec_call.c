/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One action on its way to the API server and back, and the table of what a failure means.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/engine/exec_internal.h"
#include "kube/meta.h"

static Exec *exec_of(const ExecCall *call)
{
    return call->run->exec;
}

static KubeKey target_of(const PlanAction *action)
{
    return (KubeKey){action->ns, action->name};
}

static KubeStore *store_of(const ExecCall *call)
{
    return exec_of(call)->config.stores[call->action->kind];
}

/* ---- what replies do to the stores ---- */

static void learn_object(const ExecCall *call, KubeObj *obj)
{
    KubeStore *store = store_of(call);

    if (store && view_store_holds(obj)) {
        (void)kube_store_upsert(store, obj, KUBE_CHANGE_LIVE);
    } else {
        facts_add_read(&call->run->facts, call->action->kind, obj->ns, obj->name, obj);
    }
}

/* Before a request goes out: its answer tells of what was there now. */
static void note_known(ExecCall *call)
{
    const KubeStore *store = store_of(call);
    const KubeObj *known = store ? kube_store_get(store, target_of(call->action)) : NULL;

    kube_obj_unref(call->known);
    call->known = known ? kube_obj_ref(known) : NULL;
    call->highest = store ? kube_store_highest(store) : 0;
}

/*
 * The name was free: the object that we believed to have it is gone. One that came into the store
 * while the answer was on its way is newer than the answer.
 */
static void learn_absent(const ExecCall *call)
{
    KubeStore *store = store_of(call);
    KubeKey key = target_of(call->action);
    const KubeObj *now = store ? kube_store_get(store, key) : NULL;

    if (now && !(call->known && str_eq(call->known->uid, now->uid))) {
        facts_drop_read(&call->run->facts, call->action->kind, key.ns, key.name);
        return;
    }
    if (now) {
        kube_store_forget(store, key, call->known->uid);
    }
    facts_add_read(&call->run->facts, call->action->kind, key.ns, key.name, NULL);
}

static void learn_deleted(const ExecCall *call, KubeObj *obj)
{
    KubeStore *store = store_of(call);

    facts_drop_read(&call->run->facts, call->action->kind, call->action->ns, call->action->name);
    /* Some kinds answer with the last state of an object that is gone. */
    if (obj && kube_obj_deleting(obj)) {
        learn_object(call, obj);
    } else if (store) {
        kube_store_forget(store, target_of(call->action), call->action->uid);
    }
}

/* ---- what failures mean ---- */

static const struct {
    ExecOutcome outcome;
    bool reread; /* a live GET of the name comes first */
} policies[KUBE_REASON_MAX_] = {
    [KUBE_REASON_NOT_FOUND] = {EXEC_REPLAN, false}, /* learn_absent() */
    [KUBE_REASON_ALREADY_EXISTS] = {EXEC_REPLAN, true},
    [KUBE_REASON_CONFLICT] = {EXEC_REPLAN, true},
    [KUBE_REASON_GONE] = {EXEC_RETRY, false},
    [KUBE_REASON_INVALID] = {EXEC_FAILED, false},
    [KUBE_REASON_FORBIDDEN] = {EXEC_FAILED, false},
    [KUBE_REASON_TERMINATING] = {EXEC_RETRY, false},
    [KUBE_REASON_UNAUTHORIZED] = {EXEC_RETRY, false},
    [KUBE_REASON_TOO_LARGE] = {EXEC_FAILED, false},
    [KUBE_REASON_TOO_MANY] = {EXEC_RETRY, false},
    [KUBE_REASON_UNAVAILABLE] = {EXEC_RETRY, false},
    [KUBE_REASON_SERVER] = {EXEC_FAILED, false},
    [KUBE_REASON_REJECTED] = {EXEC_FAILED, false},
    [KUBE_REASON_NETWORK] = {EXEC_RETRY, false},
    [KUBE_REASON_UNKNOWN_OUTCOME] = {EXEC_RETRY, false},
    [KUBE_REASON_BAD_ANSWER] = {EXEC_RETRY, false},
    [KUBE_REASON_BAD_REQUEST] = {EXEC_FAILED, false},
};

/* The answer to a PATCH whose target was made anew under its name: a conflict in other words. */
static bool is_other_uid(const ExecCall *call, const KubeError *error)
{
    return call->action->verb == PLAN_PATCH && error->reason == KUBE_REASON_INVALID &&
           strstr(error->msg, "metadata.uid") != NULL;
}

/* A transient failure that does not go away is one to tell of. */
static ExecOutcome outcome_of(const ExecCall *call, const KubeError *error)
{
    const ExecRun *run = call->run;
    ExecOutcome outcome = policies[error->reason].outcome;

    if (outcome == EXEC_RETRY && error->reason != KUBE_REASON_TERMINATING &&
        kube_queue_failures(run->controller->queue, run->key) >= EXEC_TRANSIENT_MAX) {
        return EXEC_FAILED;
    }
    return outcome;
}

/* The server has an older version than we had before we asked, or has given a new object one that
 * others had before: its storage went back, and another plan from the same cache would go wrong in
 * the same way. */
static bool went_back(const ExecCall *call, const KubeObj *obj)
{
    const Exec *exec = exec_of(call);
    bool older = call->known && str_eq(call->known->uid, obj->uid) && obj->rv < call->known->rv;
    bool reused = call->action->verb == PLAN_CREATE && call->outcome == EXEC_DONE && obj->rv != 0 &&
                  obj->rv <= call->highest;

    if ((older || reused) && exec->config.on_went_back) {
        exec->config.on_went_back(exec->config.ctx);
    }
    return older || reused;
}

static void on_reread(void *ctx, const KubeError *error, KubeObj *obj)
{
    ExecCall *call = ctx;

    call->call = NULL;
    exec_trace_call_end(call, plan_verb_name(PLAN_READ), error);
    call->outcome = EXEC_REPLAN;
    if (!error && went_back(call, obj)) {
        exec_run_note_error(call->run, call->action, "the server's versions went back");
        call->outcome = EXEC_RETRY;
    } else if (!error) {
        facts_add_read(&call->run->facts, call->action->kind, obj->ns, obj->name, obj);
        learn_object(call, obj);
    } else if (error->reason == KUBE_REASON_NOT_FOUND) {
        learn_absent(call);
    } else {
        exec_run_note_error(call->run, call->action, error->msg);
        call->outcome = EXEC_RETRY;
    }
    exec_run_call_done(call->run);
}

static KubeCall *get_live(ExecCall *call, KubeCallFn fn)
{
    const KubeCallOptions options = {.priority = call->action->priority};

    note_known(call);
    exec_trace_call_begin(call);
    exec_of(call)->stats.calls[PLAN_READ]++;
    return kube_api_get(exec_of(call)->config.api, kube_kind(call->action->kind),
                        target_of(call->action), &options, fn, call);
}

/* True when the outcome is settled; false when a live GET was sent to find out more. */
static bool settle_failure(ExecCall *call, const KubeError *error)
{
    ExecRun *run = call->run;

    if (call->action->optional) {
        LOG_INFO(exec_of(call)->config.log, "optional action failed",
                 F_CSTR("controller", run->controller->reconciler->name),
                 F_STR("namespace", run->key.ns), F_STR("name", run->key.name),
                 F_CSTR("action", plan_verb_name(call->action->verb)), F_CSTR("error", error->msg));
        call->outcome = EXEC_SKIPPED;
        return true;
    }
    if (error->reason == KUBE_REASON_NOT_FOUND) {
        if (call->action->verb != PLAN_CREATE) {
            learn_absent(call);
            call->outcome = EXEC_REPLAN;
            return true;
        }
        call->outcome = EXEC_FAILED; /* the namespace is gone */
    } else {
        call->outcome = outcome_of(call, error);
    }
    if (is_other_uid(call, error)) {
        call->outcome = EXEC_REPLAN;
    }
    if (error->reason == KUBE_REASON_CONFLICT && call->action->verb == PLAN_PATCH_STATUS &&
        exec_of(call)->config.on_rival) {
        exec_of(call)->config.on_rival(exec_of(call)->config.ctx);
    }
    if (policies[error->reason].reread || is_other_uid(call, error)) {
        call->call = get_live(call, on_reread);
        return false;
    }
    if (error->retry_after_ns > run->retry_after_ns) {
        run->retry_after_ns = error->retry_after_ns;
    }
    /* What is in a namespace that goes away is left alone, its status too. */
    if (error->reason == KUBE_REASON_TERMINATING && run->retry_after_ns < EXEC_TERMINATING_NS) {
        run->retry_after_ns = EXEC_TERMINATING_NS;
    }
    exec_run_note_error(run, call->action, error->msg);
    if (call->outcome == EXEC_FAILED) {
        facts_add_failure(&run->facts, call->action, error);
        run->learned = true;
        run->failed |= error->reason != KUBE_REASON_INVALID;
    }
    return true;
}

/* ---- replies ---- */

static void finish(ExecCall *call, const KubeError *error)
{
    if (error && !settle_failure(call, error)) {
        return;
    }
    exec_run_call_done(call->run);
}

static void on_written(void *ctx, const KubeError *error, KubeObj *obj)
{
    ExecCall *call = ctx;

    call->call = NULL;
    exec_trace_call_end(call, plan_verb_name(call->action->verb), error);
    if (!error) {
        call->outcome = EXEC_DONE;
        if (obj) {
            call->reply_rv = xstrndup(obj->rv_text.ptr, obj->rv_text.len);
            facts_drop_read(&call->run->facts, call->action->kind, obj->ns, obj->name);
            learn_object(call, obj);
        }
        if (obj && call->action->verb == PLAN_CREATE && went_back(call, obj)) {
            call->outcome = EXEC_RETRY;
        }
    }
    finish(call, error);
}

static void on_deleted(void *ctx, const KubeError *error, KubeObj *obj)
{
    ExecCall *call = ctx;

    call->call = NULL;
    exec_trace_call_end(call, plan_verb_name(call->action->verb), error);
    if (error && error->reason == KUBE_REASON_NOT_FOUND) {
        error = NULL;
        learn_absent(call);
        call->outcome = EXEC_DONE;
    } else if (!error) {
        learn_deleted(call, obj);
        call->outcome = EXEC_DONE;
    }
    finish(call, error);
}

static void on_read(void *ctx, const KubeError *error, KubeObj *obj)
{
    ExecCall *call = ctx;

    call->call = NULL;
    exec_trace_call_end(call, plan_verb_name(PLAN_READ), error);
    if (!error) {
        facts_add_read(&call->run->facts, call->action->kind, obj->ns, obj->name, obj);
        learn_object(call, obj);
        call->outcome = EXEC_REPLAN;
    } else if (error->reason == KUBE_REASON_NOT_FOUND) {
        learn_absent(call);
        call->outcome = EXEC_REPLAN;
        error = NULL;
    }
    finish(call, error);
}

/* ---- requests ---- */

/* The resourceVersion that the target has to have; STR_NULL = any. */
static Str wanted_rv(const ExecCall *call)
{
    const PlanAction *action = call->action;

    return action->rv_of ? str_from(call->run->calls[action->rv_of->index].reply_rv) : action->rv;
}

/* The patch with its preconditions as text. The status endpoint has no use for a uid. */
static char *patch_text(const ExecCall *call)
{
    const PlanAction *action = call->action;
    AUTO(json) json_t *patch = jx_dup(action->body);
    Str rv = wanted_rv(call);

    if (rv.len > 0) {
        kube_patch_require_rv(&patch, rv);
    }
    if (action->verb == PLAN_PATCH && action->uid.len > 0) {
        jx_set_str(jx_obj(patch, "metadata"), "uid", action->uid);
    }
    return jx_dump_compact(patch);
}

static void start_patch(ExecCall *call, const KubeCallOptions *options)
{
    const PlanAction *action = call->action;
    AUTO(mem) char *text = patch_text(call);

    call->call =
        kube_api_patch(exec_of(call)->config.api, kube_kind(action->kind), target_of(action),
                       action->verb == PLAN_PATCH_STATUS ? "status" : NULL, str_from(text), options,
                       on_written, call);
}

static void start_delete(ExecCall *call, const KubeCallOptions *options)
{
    const PlanAction *action = call->action;
    const KubeDeleteOptions del = {
        .uid = action->uid,
        .rv = wanted_rv(call),
        .propagation =
            action->foreground ? KUBE_PROPAGATION_FOREGROUND : KUBE_PROPAGATION_BACKGROUND,
        .grace_s = -1,
    };

    call->call = kube_api_delete(exec_of(call)->config.api, kube_kind(action->kind),
                                 target_of(action), &del, options, on_deleted, call);
}

static void record_event(ExecCall *call)
{
    const PlanAction *action = call->action;
    const KubeEventArgs args = {
        .controller = call->run->controller->reconciler->reporter,
        .regarding = action->regarding,
        .warning = action->warning,
        .reason = action->event_reason,
        .action = action->event_action,
        .note = action->note,
    };

    if (exec_of(call)->config.events) {
        kube_events_emit(exec_of(call)->config.events, &args);
    }
    call->outcome = EXEC_DONE;
}

void exec_call_start(ExecCall *call)
{
    const PlanAction *action = call->action;
    const KubeCallOptions options = {
        .priority = action->priority,
        .field_manager = call->run->controller->reconciler->reporter,
    };

    call->outcome = EXEC_PENDING;
    if (facts_failure(&call->run->facts, action->verb, action->kind, action->ns, action->name)) {
        call->outcome = action->optional ? EXEC_SKIPPED : EXEC_FAILED;
        return;
    }
    if (action->verb == PLAN_READ) {
        call->call = get_live(call, on_read);
        return;
    }
    if (exec_of(call)->config.may_write &&
        !exec_of(call)->config.may_write(exec_of(call)->config.ctx)) {
        call->outcome = EXEC_RETRY;
        return;
    }
    exec_of(call)->stats.calls[action->verb]++;
    if (action->verb == PLAN_EVENT) {
        record_event(call);
        return;
    }
    call->run->writes++;
    note_known(call);
    exec_trace_call_begin(call);
    pace_note(&exec_of(call)->pace, action->kind, target_of(action),
              loop_now(exec_of(call)->config.loop));
    if (action->verb == PLAN_CREATE) {
        AUTO(mem) char *text = jx_dump_compact(action->body);

        call->call = kube_api_create(exec_of(call)->config.api, kube_kind(action->kind), action->ns,
                                     str_from(text), &options, on_written, call);
    } else if (action->verb == PLAN_DELETE) {
        start_delete(call, &options);
    } else {
        start_patch(call, &options);
    }
}

void exec_call_cancel(ExecCall *call)
{
    kube_call_cancel(call->call);
    call->call = NULL;
}
