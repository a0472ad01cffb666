/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/census.c
 *
 * A member's grace counts from when it was last ready, or from its creation: one that blinks after
 * a week gets as long to come back as a new one gets to start.
 */
#include "controller/warmpool/census.h"

#include <stdlib.h>

#include "base/hash.h"
#include "controller/keys.h"
#include "controller/warmpool/pools.h"

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
    PoolCensus *census;
} Counting;

/* Within the last recheck interval: what an Event may still be news about. */
static bool is_lately(const View *view, int64_t when)
{
    return when > view->now_wall_ns - view->options->pool_unschedulable_recheck_ns;
}

static bool is_overdue(const View *view, const RosterMember *member)
{
    return member->since_ns + view->options->pool_readiness_grace_ns <= view->now_wall_ns;
}

static bool is_held(const View *view, const RosterMember *member)
{
    const KubeObj *pod = view_get(view, KUBE_POD, member->obj->ns, member->obj->name);

    return pod && kube_obj_controlled_by(pod, member->obj->uid) && pool_pod_is_held(pod);
}

/* An unready member whose time is up. */
static bool is_stuck(const View *view, const RosterMember *member)
{
    return !member->ready && is_overdue(view, member) && !is_held(view, member);
}

static PoolGroup *group_find(PoolCensus *census, const RosterGroup *roster)
{
    size_t i = 0;

    while (census->groups[i].roster != roster) {
        i++;
    }
    return &census->groups[i];
}

static void count_overdue(const Counting *in, const Roster *roster, Arena *arena)
{
    AUTO(heap_walk) HeapWalk walk = heap_walk(&roster->overdue);
    PoolCensus *census = in->census;
    int64_t grace_ns = in->view->options->pool_readiness_grace_ns;
    size_t max = 0;
    HeapNode *node;

    while ((node = heap_walk_next(&walk))) {
        const RosterMember *member = roster_by_clock(node);

        if (!is_overdue(in->view, member)) {
            census->look_at_ns = member->since_ns + grace_ns;
            break;
        }
        if (is_held(in->view, member)) {
            census->n_held++;
            census->n_held_lately += is_lately(in->view, member->since_ns + grace_ns);
            continue;
        }
        if (census->n_stuck == max) {
            const KubeObj **more = arena_alloc(arena, (max * 2 + 8) * sizeof(more[0]));

            if (max > 0) {
                memcpy(more, census->stuck, max * sizeof(more[0]));
            }
            census->stuck = more;
            max = max * 2 + 8;
        }
        census->stuck[census->n_stuck++] = member->obj;
        census->n_lost -= member->lost;
        group_find(census, member->group)->n_stuck++;
    }
}

static void count_freed(const Counting *in, const Roster *roster)
{
    AUTO(heap_walk) HeapWalk walk = heap_walk(&roster->late);
    HeapNode *node;

    while ((node = heap_walk_next(&walk)) && is_lately(in->view, roster_by_clock(node)->since_ns)) {
        in->census->n_freed_lately++;
    }
}

static bool is_stale(const Counting *in, const KubeObj *sandbox)
{
    return in->template &&
           template_cache_is_stale(pools_templates(in->view->pools), in->template, sandbox);
}

static void list_groups(const Counting *in, const Roster *roster, bool recreate, Arena *arena)
{
    PoolCensus *census = in->census;
    size_t n = 0;

    list_foreach (&roster->groups, it) {
        n++;
    }
    census->groups = arena_alloc(arena, (n + 1) * sizeof(census->groups[0]));
    list_foreach (&roster->groups, it) {
        const RosterGroup *group = list_entry(it, RosterGroup, node);
        const HeapNode *any = heap_first(group->ready.len > 0 ? &group->ready : &group->unready);

        census->groups[census->n_groups++] = (PoolGroup){
            .roster = group,
            .stale = recreate && is_stale(in, roster_by_order(any)->obj),
        };
    }
}

static void find_orphans(const Counting *in, Arena *arena)
{
    char hash[HASH_HEX_SIZE];
    const KubeObj **labelled;
    size_t n;

    hash_name(in->pool->name, hash);
    n = view_list(in->view, VIEW_ORPHANS_BY_POOL_HASH, in->pool->ns, str_from(hash), arena,
                  &labelled);
    in->census->orphans = labelled;
    for (size_t i = 0; i < n; i++) {
        if (in->template && !is_stale(in, labelled[i])) {
            labelled[in->census->n_orphans++] = labelled[i];
        }
    }
}

void pool_census(const View *view, const KubeObj *pool, const KubeObj *template, bool recreate,
                 Arena *arena, PoolCensus *ret_census)
{
    Counting in = {view, pool, template, ret_census};
    const Roster *roster = pools_roster(view, pool);

    *ret_census = (PoolCensus){0};
    find_orphans(&in, arena);
    if (!roster) {
        return;
    }
    ret_census->n_terminating = roster->n_terminating;
    ret_census->n_lost = roster->n_lost;
    ret_census->n_ready = roster->n_ready;
    list_groups(&in, roster, recreate, arena);
    count_overdue(&in, roster, arena);
    count_freed(&in, roster);
    ret_census->n_active = roster->n_ready + roster->n_unready - ret_census->n_stuck;
    for (size_t i = 0; i < ret_census->n_groups; i++) {
        const PoolGroup *group = &ret_census->groups[i];

        if (group->stale) {
            ret_census->n_stale_ready += group->roster->ready.len;
            ret_census->n_stale_unready += group->roster->unready.len - group->n_stuck;
        }
    }
}

/* ---- the order of giving up ---- */

static int compare_members(const void *a, const void *b)
{
    const RosterMember *x = *(const RosterMember *const *)a;
    const RosterMember *y = *(const RosterMember *const *)b;

    if (x->ready != y->ready) {
        return x->ready ? 1 : -1;
    }
    if (x->order.key != y->order.key) {
        return x->order.key < y->order.key ? -1 : 1;
    }
    return str_cmp(x->obj->name, y->obj->name);
}

/* The first n of a heap that are not stuck. */
static size_t heap_take(const View *view, const Heap *heap, size_t n, const RosterMember **members)
{
    AUTO(heap_walk) HeapWalk walk = heap_walk(heap);
    size_t done = 0;
    HeapNode *node;

    while (done < n && (node = heap_walk_next(&walk))) {
        const RosterMember *member = roster_by_order(node);

        if (!is_stuck(view, member)) {
            members[done++] = member;
        }
    }
    return done;
}

size_t pool_census_give_up(const View *view, const PoolCensus *census, bool stale, size_t n,
                           Arena *arena, const KubeObj ***ret_members)
{
    size_t max = n < census->n_active ? n : census->n_active;
    const RosterMember **members =
        arena_alloc(arena, (2 * max * census->n_groups + 1) * sizeof(members[0]));
    const KubeObj **objs = arena_alloc(arena, (max + 1) * sizeof(objs[0]));
    size_t found = 0;

    for (size_t i = 0; i < census->n_groups; i++) {
        const PoolGroup *group = &census->groups[i];

        if (group->stale == stale) {
            found += heap_take(view, &group->roster->unready, max, members + found);
            found += heap_take(view, &group->roster->ready, max, members + found);
        }
    }
    qsort(members, found, sizeof(members[0]), compare_members);
    found = found < max ? found : max;
    for (size_t i = 0; i < found; i++) {
        objs[i] = members[i]->obj;
    }
    *ret_members = objs;
    return found;
}

static size_t count_created_since(const View *view, const Heap *heap, int64_t created_ns)
{
    AUTO(heap_walk) HeapWalk walk = heap_walk(heap);
    size_t n = 0;
    HeapNode *node;

    while ((node = heap_walk_next(&walk)) && roster_by_order(node)->created_ns > created_ns) {
        n += !is_stuck(view, roster_by_order(node));
    }
    return n;
}

size_t pool_census_created_since(const View *view, const PoolCensus *census, int64_t created_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < census->n_groups; i++) {
        n += count_created_since(view, &census->groups[i].roster->ready, created_ns);
        n += count_created_since(view, &census->groups[i].roster->unready, created_ns);
    }
    return n;
}
