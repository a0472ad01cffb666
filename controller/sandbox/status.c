/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status patch: only what differs, with explicit nulls for what goes away, and when to write
 * it. Whoever waits for a Sandbox waits for a condition to flip, so flips are written at once;
 * progress on the way (Pending, scheduled, running but not ready) is one write after a while, or
 * none when Ready comes first.
 */
#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

static Str condition_member(const json_t *status, const char *type, const char *member)
{
    json_t *conditions = json_object_get(status, "conditions");
    json_t *condition = conditions ? kube_condition_find(conditions, type) : NULL;

    return condition ? jx_str(json_object_get(condition, member)) : STR_NULL;
}

static bool condition_flips(const json_t *before, const json_t *after, const char *type)
{
    return !str_eq(condition_member(before, type, "status"),
                   condition_member(after, type, "status"));
}

/* Ready stays False on the way to Ready, of the same generation, and nothing else flips. */
static bool is_progress(const SandboxPass *pass, const json_t *before, const json_t *after)
{
    Str old_reason = condition_member(before, CONDITION_READY, "reason");
    Str new_reason = condition_member(after, CONDITION_READY, "reason");
    bool first = old_reason.ptr == NULL;

    if (!str_eq(new_reason, STR(REASON_NOT_READY))) {
        return false;
    }
    if (first) {
        return pass->owner == SANDBOX_BY_POOL;
    }
    return !pass->fresh_generation && str_eq(old_reason, STR(REASON_NOT_READY)) &&
           !condition_flips(before, after, CONDITION_SUSPENDED) &&
           !condition_flips(before, after, CONDITION_FINISHED);
}

/* A node name is not worth a write of its own before the Sandbox is Ready. */
static bool only_node_differs(const json_t *patch, const json_t *after)
{
    return json_object_size(patch) == 1 && json_object_get(patch, "nodeName") &&
           !str_eq(condition_member(after, CONDITION_READY, "status"), STR("True"));
}

void sandbox_plan_event(SandboxPass *pass, bool warning, const char *reason, const char *note)
{
    if (pass->view->options->disable_sandbox_events || pass->owner == SANDBOX_BY_POOL) {
        return;
    }
    plan_event(pass->plan, pass->sandbox, reason, "Reconciling", "%s", note)->warning = warning;
}

static void plan_flip_events(SandboxPass *pass, const json_t *before, const json_t *after)
{
    static const struct {
        const char *type;
        const char *status;
        const char *reason; /* of the condition, NULL = any */
        bool warning;
        const char *event;
        const char *note;
    } table[] = {
        {CONDITION_READY, "True", NULL, false, "SandboxReady", "Sandbox is ready"},
        {CONDITION_SUSPENDED, "True", NULL, false, "SandboxSuspended", "Sandbox is suspended"},
        {CONDITION_FINISHED, "True", "PodSucceeded", false, "PodSucceeded",
         "Pod completed successfully"},
        {CONDITION_FINISHED, "True", "PodFailed", true, "PodFailed", "Pod failed"},
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (condition_flips(before, after, table[i].type) &&
            str_eq(condition_member(after, table[i].type, "status"), str_from(table[i].status)) &&
            (!table[i].reason ||
             str_eq(condition_member(after, table[i].type, "reason"), str_from(table[i].reason)))) {
            sandbox_plan_event(pass, table[i].warning, table[i].event, table[i].note);
        }
    }
}

/* Troubles are told once: when Ready takes their reason. */
static void plan_trouble_events(SandboxPass *pass, const json_t *before, const json_t *after)
{
    Str reason = condition_member(after, CONDITION_READY, "reason");

    if (str_eq(condition_member(before, CONDITION_READY, "reason"), reason)) {
        return;
    }
    if (str_eq(reason, STR(REASON_MULTIPLE_PODS))) {
        sandbox_plan_event(pass, true, "MultiplePods", pass->many_pods);
    } else if (pass->pod_create_failed) {
        Str message = condition_member(after, CONDITION_READY, "message");

        sandbox_plan_event(pass, true, "SandboxPodCreateFailed",
                           arena_dup(pass->arena, str_take(message, 1000)));
    }
}

void sandbox_plan_status(SandboxPass *pass, json_t *stolen_status)
{
    AUTO(json) json_t *after = stolen_status;
    AUTO(json) json_t *before = jnode_to_jansson(kube_obj_status(pass->sandbox));
    json_t *status_patch;
    json_t *patch;
    PlanAction *action;

    if (!before) {
        before = jx_object_new();
    }
    status_patch = jx_merge_patch_make(before, after);
    if (!status_patch) {
        return;
    }
    if (only_node_differs(status_patch, after)) {
        json_decref(status_patch);
        return;
    }
    patch = jx_object_new();
    jx_set(patch, "status", status_patch);
    action = plan_patch_status(pass->plan, pass->sandbox, patch);
    /* A status that we have not seen yet - the answer to our own last one was lost, or another
     * leader wrote it - is read before it is judged again: its times of transition are kept. */
    plan_if_rv(pass->plan, action, pass->sandbox->rv_text);
    if (is_progress(pass, before, after)) {
        action->coalesce_ns =
            pass->owner == SANDBOX_BY_POOL ? SANDBOX_COALESCE_POOL_NS : SANDBOX_COALESCE_NS;
    }
    plan_next_stage(pass->plan);
    sandbox_plan_samples(pass, before, after);
    plan_flip_events(pass, before, after);
    plan_trouble_events(pass, before, after);
}
