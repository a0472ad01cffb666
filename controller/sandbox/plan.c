/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Sandbox reconciler: which changes wake which Sandbox, and the plan from the top.
 */
#include "controller/sandbox/sandbox.h"

/* A 403 of a quota or of Pod Security may be lifted at any time: look at least once a minute. */
#define SANDBOX_BACKOFF_MAX_NS (60 * NS_PER_S)

static bool list_mounts(JNode containers, Str volume)
{
    static const char *const lists[] = {"volumeMounts", "volumeDevices"};
    JIter it = jnode_iter(containers);
    JNode container;

    while (jiter_next(&it, NULL, &container)) {
        for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
            JIter mounts = jnode_iter(jnode_get(container, str_from(lists[i])));
            JNode mount;

            while (jiter_next(&mounts, NULL, &mount)) {
                if (str_eq(jnode_str(jnode_get(mount, STR("name"))), volume)) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* A disk that no container mounts is paid for and loses what was meant for it. */
static void warn_of_unmounted(SandboxPass *pass)
{
    JNode spec = kube_obj_spec(pass->sandbox);
    JNode pod = jnode_at(spec, "podTemplate", "spec");
    JIter it = jnode_iter(jnode_at(spec, "volumeClaimTemplates"));
    JNode claim;

    while (jiter_next(&it, NULL, &claim)) {
        Str name = jnode_str(jnode_at(claim, "metadata", "name"));

        if (!list_mounts(jnode_get(pod, STR("containers")), name) &&
            !list_mounts(jnode_get(pod, STR("initContainers")), name)) {
            sandbox_plan_event(pass, true, "VolumeNotMounted",
                               arena_printf(pass->arena,
                                            "No container mounts the volume \"" STR_FMT
                                            "\" of volumeClaimTemplates",
                                            STR_ARG(name)));
            return;
        }
    }
}

/*
 * The status is planned only when nothing is about to change what it tells; until then the
 * children's replies (or failures) come first and the pass plans again.
 */
static void plan_active(SandboxPass *pass)
{
    Plan *plan = pass->plan;

    sandbox_plan_pvcs(pass);
    plan_next_stage(plan); /* a Pod only when its volumes turned out to be its own */
    sandbox_plan_pod(pass);
    if (!pass->many_pods) {
        sandbox_plan_service(pass);
    }
    for (size_t i = 0; i < plan->n_actions; i++) {
        if (plan->actions[i]->verb == PLAN_CREATE && plan->actions[i]->kind == KUBE_POD) {
            plan_next_stage(plan);
            sandbox_plan_event(pass, false, "SandboxPodCreated", "Created the Pod of the Sandbox");
            warn_of_unmounted(pass);
            break;
        }
    }
    for (size_t i = 0; i < plan->n_actions; i++) {
        if (plan->actions[i]->verb == PLAN_READ) {
            plan_more(plan);
        }
    }
    if (!plan->more) {
        sandbox_plan_status(pass, sandbox_status_compute(pass));
        if (pass->n_errors > 0) {
            plan_fail(plan, "%s", pass->errors[0]);
        }
    }
}

/* Nobody waits for a pool member: claims go first when the connection is full. */
static void yield_to_claims(const SandboxPass *pass)
{
    for (size_t i = 0; pass->owner == SANDBOX_BY_POOL && i < pass->plan->n_actions; i++) {
        pass->plan->actions[i]->priority = KUBE_PRIO_LOW;
    }
}

static void sandbox_plan(const View *view, KubeKey key, Arena *arena, Plan *plan)
{
    const KubeObj *sandbox = view_get(view, KUBE_SANDBOX, key.ns, key.name);
    SandboxPass *pass;

    if (!sandbox || kube_obj_deleting(sandbox)) {
        plan->reason = sandbox ? "deleting" : "gone";
        return; /* the garbage collector removes the children */
    }
    pass = arena_alloc(arena, sizeof(*pass));
    sandbox_pass_init(pass, view, sandbox, arena, plan);
    if (!sandbox_plan_expiry(pass)) {
        plan->reason = pass->suspended ? "suspend" : "run";
        plan_active(pass);
    }
    yield_to_claims(pass);
}

/* ---- wake-ups ---- */

/* Owned: by the owner's name. Unowned: it may be in the way of a Sandbox of its name. */
static void map_child(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink)
{
    const KubeObj *child = after ? after : before;
    KubeOwner owner;

    watch_add_owner(before, after, STR(API_GROUP_CORE), STR(KIND_SANDBOX), sink);
    if (!kube_obj_controller(child, &owner) &&
        view_get(view, KUBE_SANDBOX, child->ns, child->name)) {
        key_sink_add(sink, child->ns, child->name);
    }
}

static size_t sandbox_workers(const ControllerOptions *options)
{
    return (size_t)options->sandbox_workers;
}

const Reconciler *sandbox_reconciler(void)
{
    static const WatchRule watches[] = {
        {.kind = KUBE_SANDBOX, .map = watch_map_self},
        {.kind = KUBE_POD, .map = map_child},
        {.kind = KUBE_SERVICE, .map = map_child},
        {.kind = KUBE_PVC, .map = map_child},
    };
    static const Reconciler reconciler = {
        .name = "sandbox",
        .reporter = "sandbox-controller",
        .kind = KUBE_SANDBOX,
        .extension = false,
        .backoff_max_ns = SANDBOX_BACKOFF_MAX_NS,
        .workers = sandbox_workers,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .plan = sandbox_plan,
    };

    return &reconciler;
}
