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

/* First member of a list that nobody has reserved, and how many reserved ones were before it. */
static const Member *list_first_free(const View *view, const List *list, size_t *ret_reserved)
{
    *ret_reserved = 0;
    for (const ListNode *n = list_first(list); n; n = list_next(list, n)) {
        const Member *member = container_of((ListNode *)n, Member, node);

        if (!view_reserved_by(view, str_from(member->uid)).ptr) {
            return member;
        }
        (*ret_reserved)++;
    }
    return NULL;
}

static void best_of_buckets(const View *view, const Group *group, Best *best)
{
    for (ListNode *n = list_first(&group->buckets); n; n = list_next(&group->buckets, n)) {
        const Bucket *bucket = list_entry(n, Bucket, node);
        bool placed = bucket->host[0] != '\0';
        size_t reserved;
        const Member *member;
        size_t n_free;

        if (best->member &&
            (best->placed > placed || (best->placed == placed && best->n_free > bucket->len))) {
            continue;
        }
        member = list_first_free(view, &bucket->members, &reserved);
        n_free = bucket->len - reserved;
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
        size_t reserved;

        if (fresh_for && group_is_stale(view, group, pool, fresh_for)) {
            continue;
        }
        n_pending += group->n_pending;
        best_of_buckets(view, group, &ready);
        first = list_first_free(view, &group->unready, &reserved);
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
