/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/census.c
 *
 * A member's grace counts from when it was last ready, or from its creation: one that blinks after
 * a week gets as long to come back as a new one gets to start.
 */
#include "controller/warmpool/census.h"

#include <stdlib.h>

#include "base/timefmt.h"
#include "controller/keys.h"
#include "controller/warmpool/pools.h"

static int compare_members(const void *a, const void *b)
{
    const PoolMember *x = a;
    const PoolMember *y = b;

    if (x->ready != y->ready) {
        return x->ready ? 1 : -1;
    }
    if (x->created_ns != y->created_ns) {
        return x->created_ns > y->created_ns ? -1 : 1;
    }
    return str_cmp(x->obj->name, y->obj->name);
}

/* Since when the member is not ready. */
static int64_t unready_since(const KubeObj *sandbox)
{
    JNode ready = kube_obj_condition(sandbox, STR("Ready"));
    int64_t created = kube_obj_created_ns(sandbox);
    int64_t since;

    if (timefmt_parse(jnode_str(jnode_at(ready, "lastTransitionTime")), &since) < 0) {
        return created;
    }
    return since > created ? since : created;
}

/* The first condition of a new Sandbox is written within this of its creation. A later change to
 * not ready is one from ready. */
#define MEMBER_BIRTH_NS (2ll * 1000000000ll)

static bool was_ready_once(const KubeObj *sandbox)
{
    return unready_since(sandbox) > kube_obj_created_ns(sandbox) + MEMBER_BIRTH_NS;
}

static bool init_container_is_busy(const KubeObj *pod)
{
    JIter it = jnode_iter(jnode_at(kube_obj_status(pod), "initContainerStatuses"));
    JNode status;

    while (jiter_next(&it, NULL, &status)) {
        JNode state = jnode_at(status, "state");

        /* Not waiting and not terminated: running, or still unknown. */
        if (jnode_exists(state) && jnode_len(jnode_at(state, "waiting")) == 0 &&
            jnode_len(jnode_at(state, "terminated")) == 0) {
            return true;
        }
    }
    return false;
}

/* The Pod's sandbox is up and a container has not come to a reason of its own to wait: its image is
 * on the way. A failed pull has one. */
static bool image_is_on_its_way(const KubeObj *pod)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};

    if (!kube_obj_condition_is(pod, STR("PodReadyToStartContainers"), STR("True"))) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        JIter it = jnode_iter(jnode_get(kube_obj_status(pod), str_from(lists[i])));
        JNode status;

        while (jiter_next(&it, NULL, &status)) {
            Str reason = jnode_str(jnode_at(status, "state", "waiting", "reason"));

            /* With init containers the others wait as PodInitializing. */
            if (str_eq(reason, STR("ContainerCreating")) ||
                (i == 0 && str_eq(reason, STR("PodInitializing")))) {
                return true;
            }
        }
    }
    return false;
}

bool pool_pod_is_held(const KubeObj *pod)
{
    JNode scheduled = kube_obj_condition(pod, STR("PodScheduled"));
    Str reason = jnode_str(jnode_at(scheduled, "reason"));

    if (kube_obj_deleting(pod)) {
        return false;
    }
    if (str_eq(jnode_str(jnode_at(scheduled, "status")), STR("False")) &&
        (str_eq(reason, STR("Unschedulable")) || str_eq(reason, STR("SchedulingGated")))) {
        return true;
    }
    return init_container_is_busy(pod) || image_is_on_its_way(pod);
}

typedef struct Counting {
    const View *view;
    const KubeObj *pool;
    const KubeObj *template;
    bool recreate;
    PoolCensus *census;
} Counting;

static bool is_stale(const Counting *in, const KubeObj *sandbox)
{
    return in->template &&
           template_cache_is_stale(pools_templates(in->view->pools), in->template, sandbox);
}

/* Within the last recheck interval: what an Event may still be news about. */
static bool is_lately(const Counting *in, int64_t when)
{
    return when > in->view->now_wall_ns - in->view->options->pool_unschedulable_recheck_ns;
}

/* Ready at last, after a wait in which it was held. */
static bool was_freed_lately(const Counting *in, const KubeObj *sandbox)
{
    JNode ready = kube_obj_condition(sandbox, STR("Ready"));
    int64_t since;

    return timefmt_parse(jnode_str(jnode_at(ready, "lastTransitionTime")), &since) == 0 &&
           since > kube_obj_created_ns(sandbox) + in->view->options->pool_readiness_grace_ns &&
           is_lately(in, since);
}

/* False when the member's time is up. */
static bool unready_is_tolerated(const Counting *in, const KubeObj *sandbox)
{
    int64_t until = unready_since(sandbox) + in->view->options->pool_readiness_grace_ns;
    const KubeObj *pod;

    if (in->view->now_wall_ns < until) {
        if (in->census->look_at_ns == 0 || until < in->census->look_at_ns) {
            in->census->look_at_ns = until;
        }
        return true;
    }
    pod = view_get(in->view, KUBE_POD, sandbox->ns, sandbox->name);
    if (pod && kube_obj_controlled_by(pod, sandbox->uid) && pool_pod_is_held(pod)) {
        in->census->n_held++;
        in->census->n_held_lately += is_lately(in, until);
        return true;
    }
    return false;
}

static void count_own(const Counting *in, const KubeObj *sandbox)
{
    PoolCensus *census = in->census;
    bool ready = kube_obj_condition_is(sandbox, STR("Ready"), STR("True"));

    if (kube_obj_deleting(sandbox)) {
        census->n_terminating++;
        return;
    }
    if (!ready && !unready_is_tolerated(in, sandbox)) {
        census->stuck[census->n_stuck++] = sandbox;
        return;
    }
    census->n_ready += ready;
    census->n_freed_lately += ready && was_freed_lately(in, sandbox);
    census->n_lost += !ready && was_ready_once(sandbox);
    census->active[census->n_active++] = (PoolMember){
        .obj = sandbox,
        .created_ns = kube_obj_created_ns(sandbox),
        .ready = ready,
        .stale = in->recreate && is_stale(in, sandbox),
    };
}

static void find_orphans(const Counting *in, Arena *arena)
{
    char hash[HASH_HEX_SIZE];
    const KubeObj **labelled;
    KubeOwner owner;
    size_t n;

    hash_name(in->pool->name, hash);
    n = view_list(in->view, VIEW_SANDBOXES_BY_POOL_HASH, in->pool->ns, str_from(hash), arena,
                  &labelled);
    in->census->orphans = arena_alloc(arena, (n + 1) * sizeof(labelled[0]));
    for (size_t i = 0; i < n; i++) {
        if (!kube_obj_controller(labelled[i], &owner) && !kube_obj_deleting(labelled[i]) &&
            in->template && !is_stale(in, labelled[i])) {
            in->census->orphans[in->census->n_orphans++] = labelled[i];
        }
    }
}

void pool_census(const View *view, const KubeObj *pool, const KubeObj *template, bool recreate,
                 Arena *arena, PoolCensus *ret_census)
{
    Counting in = {view, pool, template, recreate, ret_census};
    const KubeObj **owned;
    size_t n = view_list(view, VIEW_SANDBOXES_BY_OWNER, pool->ns, pool->uid, arena, &owned);

    *ret_census = (PoolCensus){
        .active = arena_alloc(arena, (n + 1) * sizeof(PoolMember)),
        .stuck = arena_alloc(arena, (n + 1) * sizeof(owned[0])),
    };
    for (size_t i = 0; i < n; i++) {
        count_own(&in, owned[i]);
    }
    qsort(ret_census->active, ret_census->n_active, sizeof(PoolMember), compare_members);
    find_orphans(&in, arena);
}
