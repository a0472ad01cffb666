/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expiry, in two passes: first the status says SandboxExpired, then things are deleted, so that
 * nobody sees a Sandbox vanish that never said why.
 */
#include "controller/sandbox/sandbox.h"

static bool is_marked(const KubeObj *sandbox)
{
    JNode ready = kube_obj_condition(sandbox, STR(CONDITION_READY));

    return str_eq(jnode_str(jnode_get(ready, STR("reason"))), STR(REASON_EXPIRED));
}

static bool deletes_itself(const KubeObj *sandbox)
{
    return str_eq(jnode_str(jnode_at(kube_obj_spec(sandbox), "shutdownPolicy")), STR("Delete"));
}

/* Retained long enough, when the administrator set a limit; asks to be woken before. */
static bool retention_is_over(SandboxPass *pass, int64_t shutdown_wall_ns)
{
    int64_t retention_ns = pass->view->options->expired_retention_ns;

    if (retention_ns == 0) {
        return false;
    }
    if (pass->view->now_wall_ns - shutdown_wall_ns < retention_ns) {
        plan_requeue_at(pass->plan, shutdown_wall_ns + retention_ns);
        return false;
    }
    return true;
}

/* What the status would lose: while there is something, children may be left. */
static bool is_wiped(const KubeObj *sandbox)
{
    return jnode_len(kube_obj_status(sandbox)) <= 1;
}

static bool is_ours_to_delete(const SandboxPass *pass, const KubeObj *child)
{
    return sandbox_ownership(pass->sandbox, child) == SANDBOX_OWNED && !kube_obj_deleting(child);
}

/* True when something has to be known or done before the status may be wiped. ask: of a child that
 * the cache does not show. */
static bool plan_child(SandboxPass *pass, KubeKindId kind, bool ask, bool optional)
{
    const KubeObj *sandbox = pass->sandbox;
    const KubeObj *child = NULL;
    ViewPresence presence = view_lookup(pass->view, kind, sandbox->ns, sandbox->name, &child);

    if (presence == VIEW_UNKNOWN && ask && !optional) {
        if (view_failure(pass->view, PLAN_READ, kind, sandbox->ns, sandbox->name)) {
            plan_fail(pass->plan, "cannot read the %s of an expired Sandbox",
                      kind == KUBE_POD ? "Pod" : "Service");
        } else {
            plan_read(pass->plan, kind, sandbox->ns, sandbox->name);
        }
        return true;
    }
    if (presence == VIEW_PRESENT && is_ours_to_delete(pass, child)) {
        plan_delete(pass->plan, child)->optional = optional;
    }
    return false;
}

/* Owned Pods of another name: recorded by an older release, or one too many. */
static void plan_other_pods(SandboxPass *pass, bool optional)
{
    const KubeObj **pods;
    size_t n =
        view_list(pass->view, VIEW_PODS_BY_OWNER, STR_NULL, pass->sandbox->uid, pass->arena, &pods);

    for (size_t i = 0; i < n; i++) {
        if (!str_eq(pods[i]->name, pass->sandbox->name) && is_ours_to_delete(pass, pods[i])) {
            plan_delete(pass->plan, pods[i])->optional = optional;
        }
    }
}

static json_t *wiped_status(const SandboxPass *pass)
{
    AUTO(json) json_t *status = sandbox_status_expired(pass);
    json_t *wiped = jx_object_new();

    jx_set(wiped, "conditions", jx_dup(json_object_get(status, "conditions")));
    return wiped;
}

static void plan_expired(SandboxPass *pass, int64_t shutdown_wall_ns)
{
    const KubeObj *sandbox = pass->sandbox;
    /* then the garbage collector takes what is left */
    bool last = deletes_itself(sandbox) || retention_is_over(pass, shutdown_wall_ns);
    bool ask = !is_wiped(sandbox);
    bool wait = plan_child(pass, KUBE_POD, ask, last);

    plan_other_pods(pass, last);
    wait |= plan_child(pass, KUBE_SERVICE, ask, last);
    plan_next_stage(pass->plan);
    if (last) {
        /* Not one whose time was prolonged at the last moment. */
        plan_if_rv(pass->plan, plan_delete(pass->plan, sandbox), sandbox->rv_text);
    } else if (!wait) {
        sandbox_plan_status(pass, wiped_status(pass));
    }
}

bool sandbox_plan_expiry(SandboxPass *pass)
{
    const KubeObj *sandbox = pass->sandbox;
    int64_t shutdown_wall_ns;

    if (!sandbox_shutdown_time(sandbox, &shutdown_wall_ns)) {
        return false;
    }
    if (pass->view->now_wall_ns < shutdown_wall_ns) {
        plan_requeue_at(pass->plan, shutdown_wall_ns);
        return false;
    }
    if (is_marked(sandbox)) {
        pass->plan->reason = "expired";
        plan_expired(pass, shutdown_wall_ns);
        return true;
    }
    pass->plan->reason = "expiry";
    /* Once it is marked, a status that was never written looks like one that was wiped: its
     * children are dealt with before. */
    if (is_wiped(sandbox) && !deletes_itself(sandbox)) {
        bool wait = plan_child(pass, KUBE_POD, true, false);

        wait |= plan_child(pass, KUBE_SERVICE, true, false);
        if (wait) {
            return true;
        }
        plan_next_stage(pass->plan);
    }
    sandbox_plan_status(pass, sandbox_status_expired(pass));
    if (!deletes_itself(sandbox)) {
        sandbox_plan_event(pass, false, REASON_EXPIRED, "Sandbox has expired");
    }
    plan_more(pass->plan);
    return true;
}
