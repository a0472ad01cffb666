/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/watch.c
 *
 * What wakes a claim. Bound claims are woken by their own Sandbox alone; claims that still wait are
 * woken by pools, templates, policies and members that they could use. A pool of a thousand members
 * must not wake a thousand claims with each of its changes.
 */
#include "controller/blueprint/gate.h"
#include "controller/claim/claim.h"
#include "controller/claim/pass.h"
#include "controller/keys.h"
#include "controller/warmpool/pools.h"

/* Most waiting claims that one member wakes: it can serve one, the others are spare. */
#define CLAIM_WAKE_MAX 4
#define CLAIM_BACKOFF_MAX_NS (60ull * 1000000000ull)

static bool condition_equal(const KubeObj *a, const KubeObj *b, Str type)
{
    return jnode_equal(kube_obj_condition(a, type), kube_obj_condition(b, type));
}

/* Everything of a Sandbox that a claim looks at. */
static bool looks_the_same(const KubeObj *a, const KubeObj *b)
{
    static const char *const members[] = {"labels", "annotations", "ownerReferences"};

    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        if (!jnode_equal(jnode_at(kube_obj_root(a), "metadata", members[i]),
                         jnode_at(kube_obj_root(b), "metadata", members[i]))) {
            return false;
        }
    }
    return kube_obj_deleting(a) == kube_obj_deleting(b) && str_eq(a->uid, b->uid) &&
           condition_equal(a, b, STR("Ready")) && condition_equal(a, b, STR("Finished")) &&
           jnode_equal(jnode_at(kube_obj_status(a), "podIPs"),
                       jnode_at(kube_obj_status(b), "podIPs"));
}

static void wake_waiting(const View *view, Str ns, Str pool, size_t max, KeySink *sink)
{
    ViewIter it = view_iter(view, VIEW_CLAIMS_WAITING, ns, pool);
    const KubeObj *claim;

    for (; max > 0 && (claim = view_next(&it)); max--) {
        key_sink_add(sink, claim->ns, claim->name);
    }
}

static bool can_be_used(const KubeObj *sandbox, KubeOwner *ret_pool)
{
    return sandbox && pools_is_adoptable(sandbox, ret_pool) &&
           jnode_len(jnode_at(kube_obj_status(sandbox), "podIPs")) > 0;
}

static bool is_ready(const KubeObj *sandbox)
{
    return kube_obj_condition_is(sandbox, STR("Ready"), STR("True"));
}

/* Claims that are not its owner and still look at this name: one whose own name was taken, and
 * those that had it once. */
static void wake_mourners(const View *view, const KubeObj *gone, KeySink *sink)
{
    ViewIter it = view_iter(view, VIEW_CLAIMS_BY_ASSIGNMENT, gone->ns, gone->name);
    const KubeObj *claim;

    if (view_get(view, KUBE_CLAIM, gone->ns, gone->name)) {
        key_sink_add(sink, gone->ns, gone->name);
    }
    while ((claim = view_next(&it))) {
        key_sink_add(sink, claim->ns, claim->name);
    }
}

static void map_sandbox(const View *view, const KubeObj *before, const KubeObj *after,
                        KeySink *sink)
{
    const KubeObj *any = after ? after : before;
    KubeOwner pool;

    if (before && after && before != after && looks_the_same(before, after)) {
        return;
    }
    watch_add_owner(before, after, STR(API_GROUP_EXTENSIONS), STR(KIND_SANDBOX_CLAIM), sink);
    if (!after) {
        wake_mourners(view, any, sink);
    }
    if (can_be_used(after, &pool)) {
        KubeOwner old;

        if (!can_be_used(before, &old) || is_ready(before) != is_ready(after)) {
            wake_waiting(view, after->ns, pool.name, CLAIM_WAKE_MAX, sink);
        }
    }
}

static void map_pool(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink)
{
    const KubeObj *any = after ? after : before;

    if (before && after && kube_obj_generation(before) == kube_obj_generation(after) &&
        before != after) {
        return;
    }
    wake_waiting(view, any->ns, any->name, SIZE_MAX, sink);
}

/* Claims of the pools of this template: those that wait, or all, as bound ones take its metadata
 * over. */
static void wake_template(const View *view, Str ns, Str template, ViewIndex which, KeySink *sink)
{
    ViewIter pools = view_iter(view, VIEW_POOLS_BY_TEMPLATE, ns, template);
    const KubeObj *pool;
    const KubeObj *claim;

    while ((pool = view_next(&pools))) {
        ViewIter claims = view_iter(view, which, ns, pool->name);

        while ((claim = view_next(&claims))) {
            key_sink_add(sink, claim->ns, claim->name);
        }
    }
}

static void map_template(const View *view, const KubeObj *before, const KubeObj *after,
                         KeySink *sink)
{
    if (!after ||
        (before && before != after && kube_obj_generation(before) == kube_obj_generation(after))) {
        return;
    }
    wake_template(view, after->ns, after->name, before ? VIEW_CLAIMS_WAITING : VIEW_CLAIMS_BY_POOL,
                  sink);
}

static void map_policy(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink)
{
    Str template;

    if (template_gate_opens(before, after, &template)) {
        wake_template(view, after->ns, template, VIEW_CLAIMS_WAITING, sink);
    }
}

static size_t workers(const ControllerOptions *options)
{
    return (size_t)options->claim_workers;
}

const Reconciler *claim_reconciler(void)
{
    static const WatchRule watches[] = {
        {.kind = KUBE_CLAIM, .map = watch_map_self}, {.kind = KUBE_SANDBOX, .map = map_sandbox},
        {.kind = KUBE_WARMPOOL, .map = map_pool},    {.kind = KUBE_TEMPLATE, .map = map_template},
        {.kind = KUBE_NETPOL, .map = map_policy},
    };
    static const Reconciler reconciler = {
        .name = "sandboxclaim",
        .reporter = "sandboxclaim-controller",
        .kind = KUBE_CLAIM,
        .extension = true,
        .backoff_max_ns = CLAIM_BACKOFF_MAX_NS,
        .workers = workers,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .plan = claim_plan,
    };

    return &reconciler;
}
