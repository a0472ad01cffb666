/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/watch.c
 *
 * What wakes a pool: itself, its members (before and after a claim took one), its template and the
 * template's NetworkPolicy.
 */
#include "base/clock.h"
#include "controller/blueprint/gate.h"
#include "controller/keys.h"
#include "controller/warmpool/pools.h"
#include "controller/warmpool/warmpool.h"

/* A plan looks at every member, and members change in crowds. */
#define POOL_GATHER_NS (100 * NS_PER_MS)
#define POOL_BACKOFF_MAX_NS (60ull * 1000000000ull)

/* Members change often while they start; only what is counted matters. */
static bool counts_the_same(const KubeObj *a, const KubeObj *b)
{
    KubeOwner x = {0};
    KubeOwner y = {0};

    kube_obj_controller(a, &x);
    kube_obj_controller(b, &y);
    return str_eq(a->uid, b->uid) && str_eq(x.uid, y.uid) &&
           kube_obj_deleting(a) == kube_obj_deleting(b) &&
           kube_obj_generation(a) == kube_obj_generation(b) &&
           kube_obj_condition_is(a, STR("Ready"), STR("True")) ==
               kube_obj_condition_is(b, STR("Ready"), STR("True"));
}

static void map_sandbox(const View *view, const KubeObj *before, const KubeObj *after,
                        KeySink *sink)
{
    UNUSED(view);
    if (before && after && before != after && counts_the_same(before, after)) {
        return;
    }
    watch_add_owner(before, after, STR(API_GROUP_EXTENSIONS), STR(KIND_SANDBOX_WARM_POOL), sink);
}

static void wake_pools(const View *view, Str ns, Str template, KeySink *sink)
{
    ViewIter it = view_iter(view, VIEW_POOLS_BY_TEMPLATE, ns, template);
    const KubeObj *pool;

    while ((pool = view_next(&it))) {
        key_sink_add(sink, pool->ns, pool->name);
    }
}

static void map_template(const View *view, const KubeObj *before, const KubeObj *after,
                         KeySink *sink)
{
    const KubeObj *any = after ? after : before;

    wake_pools(view, any->ns, any->name, sink);
}

static void map_policy(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink)
{
    Str template;

    if (template_gate_opens(before, after, &template)) {
        wake_pools(view, after->ns, template, sink);
    }
}

static size_t workers(const ControllerOptions *options)
{
    return (size_t)options->pool_workers;
}

const Reconciler *warmpool_reconciler(void)
{
    static const WatchRule watches[] = {
        {.kind = KUBE_WARMPOOL, .map = watch_map_self},
        {.kind = KUBE_SANDBOX, .map = map_sandbox, .gather_ns = POOL_GATHER_NS},
        {.kind = KUBE_TEMPLATE, .map = map_template},
        {.kind = KUBE_NETPOL, .map = map_policy},
    };
    static const Reconciler reconciler = {
        .name = "sandboxwarmpool",
        .reporter = "sandboxwarmpool-controller",
        .kind = KUBE_WARMPOOL,
        .extension = true,
        .backoff_max_ns = POOL_BACKOFF_MAX_NS,
        .workers = workers,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .plan = warmpool_plan,
    };

    return &reconciler;
}
