/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SandboxTemplate reconciler: the template's own hash label, and its NetworkPolicy when that is
 * managed. A policy of the same name that is not the template's is never touched.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "controller/template/template.h"
#include "kube/meta.h"

/* Short, since a pool waits for its template's policy: the API server of a fresh installation
 * refuses owner references to our kinds until it has read them, which takes it up to half a minute.
 */
#define TEMPLATE_BACKOFF_MAX_NS (5 * NS_PER_S)

static void plan_label(const KubeObj *template, Plan *plan)
{
    json_t *patch = NULL;
    char hash[HASH_HEX_SIZE];

    hash_name(template->name, hash);
    if (!str_eq(kube_obj_label(template, STR(LABEL_TEMPLATE_REF_HASH)), str_from(hash))) {
        kube_patch_label(&patch, LABEL_TEMPLATE_REF_HASH, str_from(hash));
        plan_patch(plan, template, patch);
    }
}

static void plan_managed(const KubeObj *template, const KubeObj *policy, Str name, Plan *plan)
{
    json_t *patch;

    if (!policy) {
        plan_create(plan, KUBE_NETPOL, template->ns, name, template_netpol_desired(template));
        return;
    }
    if (!kube_obj_controlled_by(policy, template->uid)) {
        plan_fail(plan,
                  "refusing to update NetworkPolicy \"" STR_FMT
                  "\": it is not controlled by SandboxTemplate \"" STR_FMT "\"",
                  STR_ARG(name), STR_ARG(template->name));
        return;
    }
    patch = template_netpol_patch(template, policy);
    if (patch) {
        plan_patch(plan, policy, patch);
    }
}

static void template_plan(const View *view, KubeKey key, Arena *arena, Plan *plan)
{
    const KubeObj *template = view_get(view, KUBE_TEMPLATE, key.ns, key.name);
    const KubeObj *policy;
    Str name;

    if (!template || kube_obj_deleting(template)) {
        plan->reason = "gone";
        return; /* the garbage collector removes the policy */
    }
    name = template_netpol_name(template, arena);
    policy = view_get(view, KUBE_NETPOL, template->ns, name);
    plan_label(template, plan);
    if (template_is_managed(template)) {
        plan->reason = "managed";
        plan_managed(template, policy, name, plan);
        return;
    }
    plan->reason = "unmanaged";
    if (policy && kube_obj_controlled_by(policy, template->uid) && !kube_obj_deleting(policy)) {
        plan_delete(plan, policy);
    }
}

/* ---- wake-ups ---- */

/* Also a policy that is nobody's may be in a template's way, and get out of it. */
static void map_policy(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink)
{
    const KubeObj *policy = after ? after : before;
    const Str suffix = STR("-network-policy");

    watch_add_owner(before, after, STR(API_GROUP_EXTENSIONS), STR(KIND_SANDBOX_TEMPLATE), sink);
    if (str_ends(policy->name, suffix)) {
        Str name = str_take(policy->name, policy->name.len - suffix.len);

        if (view_get(view, KUBE_TEMPLATE, policy->ns, name)) {
            key_sink_add(sink, policy->ns, name);
        }
    }
}

static size_t template_workers(const ControllerOptions *options)
{
    return (size_t)options->template_workers;
}

const Reconciler *template_reconciler(void)
{
    static const WatchRule watches[] = {
        {.kind = KUBE_TEMPLATE, .map = watch_map_self},
        {.kind = KUBE_NETPOL, .map = map_policy},
    };
    static const Reconciler reconciler = {
        .name = "sandboxtemplate",
        .reporter = "sandboxtemplate-controller",
        .kind = KUBE_TEMPLATE,
        .extension = true,
        .backoff_max_ns = TEMPLATE_BACKOFF_MAX_NS,
        .workers = template_workers,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .plan = template_plan,
    };

    return &reconciler;
}
