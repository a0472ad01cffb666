/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/pick.c
 *
 * Choosing a member. Cost: the nodes that have free members, plus the members that passes in flight
 * have reserved; never the pool.
 */
#include "controller/warmpool/pools_impl.h"

typedef struct Best {
    const Member *member;
    size_t n_free; /* of its bucket */
    bool placed;   /* its node is known */
} Best;

/* A member that another pass is about to take, or whose Pod is on its way out or marked to be
 * evicted, preempted or lost with its node (condition DisruptionTarget): a drained node's Sandboxes
 * stay Ready until the kubelet says otherwise. */
static bool is_spoken_for(const View *view, Str ns, const Member *member)
{
    const KubeObj *pod;

    if (view_reserved_by(view, str_from(member->uid)).ptr) {
        return true;
    }
    pod = view_get(view, KUBE_POD, ns, str_from(member->name));
    return pod && (kube_obj_deleting(pod) ||
                   kube_obj_condition_is(pod, STR("DisruptionTarget"), STR("True")));
}

/* First member of a list that can be had, and how many that cannot were before it. */
static const Member *list_first_free(const View *view, Str ns, const List *list, size_t *ret_passed)
{
    *ret_passed = 0;
    for (const ListNode *n = list_first(list); n; n = list_next(list, n)) {
        const Member *member = container_of((ListNode *)n, Member, node);

        if (!is_spoken_for(view, ns, member)) {
            return member;
        }
        (*ret_passed)++;
    }
    return NULL;
}

static void best_of_buckets(const View *view, Str ns, const Group *group, Best *best)
{
    for (ListNode *n = list_first(&group->buckets); n; n = list_next(&group->buckets, n)) {
        const Bucket *bucket = list_entry(n, Bucket, node);
        bool placed = bucket->host[0] != '\0';
        size_t passed;
        const Member *member;
        size_t n_free;

        if (best->member &&
            (best->placed > placed || (best->placed == placed && best->n_free > bucket->len))) {
            continue;
        }
        member = list_first_free(view, ns, &bucket->members, &passed);
        n_free = bucket->len - passed;
        if (member && (!best->member || placed > best->placed ||
                       (placed == best->placed &&
                        (n_free > best->n_free ||
                         (n_free == best->n_free && member->seq < best->member->seq))))) {
            *best = (Best){member, n_free, placed};
        }
    }
}

static const KubeObj *member_obj(const View *view, const KubeObj *pool, const Member *member)
{
    return member ? view_get(view, KUBE_SANDBOX, pool->ns, str_from(member->name)) : NULL;
}

/* Any member of the group, to judge all of them by. */
static bool group_is_stale(const View *view, const Group *group, const KubeObj *pool,
                           const KubeObj *template)
{
    const KubeObj *sample = NULL;
    ListNode *n = list_first(&group->buckets);

    if (n) {
        n = list_first(&list_entry(n, Bucket, node)->members);
    } else {
        n = list_first(&group->unready);
    }
    if (n) {
        sample = member_obj(view, pool, list_entry(n, Member, node));
    }
    return sample && template_cache_is_stale(view->pools->templates, template, sample);
}

PoolPick pools_pick(const View *view, const KubeObj *pool, const KubeObj *fresh_for,
                    const KubeObj **ret_member)
{
    const Pool *known = pools_find(view->pools, pool->uid);
    Best ready = {0};
    const Member *unready = NULL;
    size_t n_pending = 0;
    const KubeObj *obj;

    if (!known) {
        return POOL_PICK_NONE;
    }
    for (ListNode *n = list_first(&known->groups); n; n = list_next(&known->groups, n)) {
        const Group *group = list_entry(n, Group, node);
        const Member *first;
        size_t passed;

        if (fresh_for && group_is_stale(view, group, pool, fresh_for)) {
            continue;
        }
        n_pending += group->n_pending;
        best_of_buckets(view, pool->ns, group, &ready);
        first = list_first_free(view, pool->ns, &group->unready, &passed);
        if (first && (!unready || first->seq < unready->seq)) {
            unready = first;
        }
    }
    obj = member_obj(view, pool, ready.member ? ready.member : unready);
    if (obj) {
        *ret_member = obj;
        return ready.member ? POOL_PICK_READY : POOL_PICK_UNREADY;
    }
    return n_pending > 0 ? POOL_PICK_PENDING : POOL_PICK_NONE;
}
