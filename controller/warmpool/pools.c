/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/pools.c
 *
 * Pool -> groups (same template labels) -> buckets (same node) of ready members, and per group one
 * list of unready members and a count of those without an address. Everything empty is freed, so
 * memory follows the number of free members.
 */
#include "controller/warmpool/pools.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "controller/keys.h"
#include "controller/warmpool/member.h"
#include "controller/warmpool/pools_impl.h"

/* ---- pools, groups, buckets ---- */

Pool *pools_find(const Pools *pools, Str uid)
{
    for (HMapNode *n = hmap_first(&pools->pools, hash_str(pools->seed, uid)); n; n = hmap_next(n)) {
        Pool *pool = container_of(n, Pool, by_uid);

        if (str_eq(str_from(pool->uid), uid)) {
            return pool;
        }
    }
    return NULL;
}

static Pool *pool_ensure(Pools *pools, Str uid)
{
    Pool *pool = pools_find(pools, uid);

    if (!pool) {
        pool = xcalloc(1, sizeof(*pool));
        pool->uid = xstrndup(uid.ptr, uid.len);
        list_init(&pool->groups);
        hmap_insert(&pools->pools, &pool->by_uid, hash_str(pools->seed, uid));
    }
    return pool;
}

static void pool_drop_if_unused(Pools *pools, Pool *pool)
{
    if (!pool->exists && list_is_empty(&pool->groups)) {
        hmap_remove(&pools->pools, &pool->by_uid);
        free(pool->uid);
        free(pool);
    }
}

static Group *group_ensure(Pool *pool, const KubeObj *sandbox)
{
    Str ref = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_REF_HASH));
    Str hash = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_HASH));
    AUTO(mem) char *key = xasprintf(STR_FMT "/" STR_FMT, STR_ARG(ref), STR_ARG(hash));
    Group *group;

    list_foreach (&pool->groups, it) {
        group = list_entry(it, Group, node);
        if (str_eq(str_from(group->key), str_from(key))) {
            return group;
        }
    }
    group = xcalloc(1, sizeof(*group));
    group->key = TAKE(key);
    list_init(&group->buckets);
    list_init(&group->unready);
    list_push_back(&pool->groups, &group->node);
    return group;
}

static Bucket *bucket_ensure(Group *group, Str host)
{
    Bucket *bucket;

    list_foreach (&group->buckets, it) {
        bucket = list_entry(it, Bucket, node);
        if (str_eq(str_from(bucket->host), host)) {
            return bucket;
        }
    }
    bucket = xcalloc(1, sizeof(*bucket));
    bucket->host = xstrndup(host.len ? host.ptr : "", host.len);
    list_init(&bucket->members);
    list_push_back(&group->buckets, &bucket->node);
    return bucket;
}

/* ---- members ---- */

static Member *member_find(const Pools *pools, Str uid)
{
    for (HMapNode *n = hmap_first(&pools->members, hash_str(pools->seed, uid)); n;
         n = hmap_next(n)) {
        Member *member = container_of(n, Member, by_uid);

        if (str_eq(str_from(member->uid), uid)) {
            return member;
        }
    }
    return NULL;
}

static void member_unlink(Member *member)
{
    Group *group = member->group;

    list_remove(&member->node);
    if (member->bucket && --member->bucket->len == 0) {
        list_remove(&member->bucket->node);
        free(member->bucket->host);
        free(member->bucket);
    }
    member->bucket = NULL;
    group->n_pending -= member->state == MEMBER_PENDING;
    if (--group->n_members == 0) {
        list_remove(&group->node);
        free(group->key);
        free(group);
    }
    member->group = NULL;
}

static void member_drop(Pools *pools, Member *member)
{
    Pool *pool = member->pool;

    member_unlink(member);
    hmap_remove(&pools->members, &member->by_uid);
    free(member->uid);
    free(member->name);
    free(member);
    pool_drop_if_unused(pools, pool);
}

static void member_link(Pools *pools, Member *member, const KubeObj *sandbox, MemberState state)
{
    Group *group = group_ensure(member->pool, sandbox);

    member->group = group;
    member->state = state;
    member->seq = pools->seq++;
    group->n_members++;
    if (state == MEMBER_PENDING) {
        group->n_pending++;
    } else if (state == MEMBER_UNREADY) {
        list_push_back(&group->unready, &member->node);
    } else {
        Str host = jnode_str(jnode_at(kube_obj_status(sandbox), "nodeName"));

        member->bucket = bucket_ensure(group, host);
        list_push_back(&member->bucket->members, &member->node);
        member->bucket->len++;
    }
}

bool pools_is_adoptable(const KubeObj *sandbox, KubeOwner *ret_pool)
{
    return !kube_obj_deleting(sandbox) &&
           !kube_obj_condition_is(sandbox, STR("Finished"), STR("True")) &&
           kube_obj_label(sandbox, STR(LABEL_WARM_POOL_SANDBOX)).ptr &&
           kube_obj_label(sandbox, STR(LABEL_TEMPLATE_REF_HASH)).ptr &&
           kube_obj_controller(sandbox, ret_pool) &&
           str_eq(ret_pool->api_group, STR(API_GROUP_EXTENSIONS)) &&
           str_eq(ret_pool->kind, STR(KIND_SANDBOX_WARM_POOL));
}

static MemberState state_of(const KubeObj *sandbox, KubeOwner *ret_pool)
{
    if (!pools_is_adoptable(sandbox, ret_pool)) {
        return MEMBER_NONE;
    }
    if (jnode_len(jnode_at(kube_obj_status(sandbox), "podIPs")) == 0) {
        return MEMBER_PENDING;
    }
    return kube_obj_condition_is(sandbox, STR("Ready"), STR("True")) ? MEMBER_READY
                                                                     : MEMBER_UNREADY;
}

/* Nothing that decides its list has changed. */
static bool member_is_current(const Member *member, const KubeObj *sandbox, MemberState state,
                              Str pool_uid)
{
    Str ref = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_REF_HASH));
    Str key = str_from(member->group->key);

    return member->state == state && str_eq(str_from(member->pool->uid), pool_uid) &&
           str_eq(str_take(key, ref.len), ref) &&
           str_eq(str_drop(key, ref.len + 1), kube_obj_label(sandbox, STR(LABEL_TEMPLATE_HASH))) &&
           (!member->bucket || str_eq(str_from(member->bucket->host),
                                      jnode_str(jnode_at(kube_obj_status(sandbox), "nodeName"))));
}

static void slots_advance(Pools *pools, Pool *pool, Str ns, Str name)
{
    char next[MEMBER_NAME_MAX + 1];

    if (!pool->slot_known) {
        return;
    }
    for (;; pool->next_slot++) {
        member_name(name, str_from(pool->uid), pool->next_slot, next);
        if (!kube_store_get(pools->sandboxes, (KubeKey){ns, str_from(next)})) {
            return;
        }
    }
}

static void sandbox_changed(Pools *pools, const KubeObj *sandbox)
{
    KubeOwner owner = {0};
    MemberState state = state_of(sandbox, &owner);
    Member *member = member_find(pools, sandbox->uid);

    if (state == MEMBER_NONE) {
        if (member) {
            member_drop(pools, member);
        }
        return;
    }
    if (!member) {
        member = xcalloc(1, sizeof(*member));
        member->uid = xstrndup(sandbox->uid.ptr, sandbox->uid.len);
        member->name = xstrndup(sandbox->name.ptr, sandbox->name.len);
        member->pool = pool_ensure(pools, owner.uid);
        hmap_insert(&pools->members, &member->by_uid, hash_str(pools->seed, sandbox->uid));
        member_link(pools, member, sandbox, state);
        slots_advance(pools, member->pool, sandbox->ns, owner.name);
    } else if (!member_is_current(member, sandbox, state, owner.uid)) {
        Pool *old = member->pool;

        member_unlink(member);
        member->pool = pool_ensure(pools, owner.uid);
        member_link(pools, member, sandbox, state);
        pool_drop_if_unused(pools, old);
    }
}

/* ---- listening ---- */

static void sandbox_listener(KubeListener *listener, const KubeStore *store,
                             const KubeChange *change)
{
    Pools *pools = container_of(listener, Pools, on_sandbox);
    const KubeObj *gone = change->before;
    Member *member;

    UNUSED(store);
    rosters_apply(pools->rosters, change->before, change->after);
    /* The same name may come back with another UID in one change. */
    if (gone && (!change->after || !str_eq(gone->uid, change->after->uid))) {
        member = member_find(pools, gone->uid);
        if (member) {
            member_drop(pools, member);
        }
    }
    if (change->after) {
        sandbox_changed(pools, change->after);
    }
}

static void pool_appeared(Pools *pools, const KubeObj *obj)
{
    Pool *pool = pool_ensure(pools, obj->uid);

    pool->exists = true;
    if (!pool->slot_known) {
        pool->slot_known = true;
        pool->next_slot = obj->rv;
        slots_advance(pools, pool, obj->ns, obj->name);
    }
}

static void pool_listener(KubeListener *listener, const KubeStore *store, const KubeChange *change)
{
    Pools *pools = container_of(listener, Pools, on_pool);
    const KubeObj *gone = change->before;

    UNUSED(store);
    if (gone && (!change->after || !str_eq(gone->uid, change->after->uid))) {
        Pool *pool = pools_find(pools, gone->uid);

        if (pool) {
            pool->exists = false;
            pool_drop_if_unused(pools, pool);
        }
    }
    if (change->after) {
        pool_appeared(pools, change->after);
    }
}

Pools *pools_new(uint64_t seed)
{
    Pools *pools = xcalloc(1, sizeof(*pools));

    hmap_init(&pools->pools);
    hmap_init(&pools->members);
    pools->seed = seed;
    pools->templates = template_cache_new();
    pools->rosters = rosters_new(seed);
    return pools;
}

void pools_attach(Pools *pools, KubeStore *sandboxes, KubeStore *warmpools)
{
    KubeStoreIter it;
    const KubeObj *obj;

    CHECK(!pools->sandboxes);
    pools->sandboxes = sandboxes;
    for (it = kube_store_all(warmpools); (obj = kube_store_next(&it));) {
        pool_appeared(pools, obj);
    }
    for (it = kube_store_all(sandboxes); (obj = kube_store_next(&it));) {
        rosters_apply(pools->rosters, NULL, obj);
        sandbox_changed(pools, obj);
    }
    pools->on_sandbox.fn = sandbox_listener;
    pools->on_pool.fn = pool_listener;
    kube_store_listen(sandboxes, &pools->on_sandbox);
    kube_store_listen(warmpools, &pools->on_pool);
}

Pools *pools_free(Pools *pools)
{
    if (!pools) {
        return NULL;
    }
    if (pools->sandboxes) {
        kube_store_unlisten(&pools->on_sandbox);
        kube_store_unlisten(&pools->on_pool);
    }
    hmap_foreach (&pools->members, it) {
        member_drop(pools, container_of(it, Member, by_uid));
    }
    hmap_foreach (&pools->pools, it) {
        Pool *pool = container_of(it, Pool, by_uid);

        pool->exists = false;
        pool_drop_if_unused(pools, pool);
    }
    hmap_deinit(&pools->members);
    hmap_deinit(&pools->pools);
    template_cache_free(pools->templates);
    rosters_free(pools->rosters);
    free(pools);
    return NULL;
}

/* The order that depends on the option is a memo as well. */
const Roster *pools_roster(const View *view, const KubeObj *pool)
{
    rosters_set_grace(view->pools->rosters, view->options->pool_readiness_grace_ns);
    return rosters_find(view->pools->rosters, pool->ns, pool->uid);
}

TemplateCache *pools_templates(const Pools *pools)
{
    return pools->templates;
}

uint64_t pools_next_slot(const Pools *pools, const KubeObj *obj)
{
    const Pool *pool = pools_find(pools, obj->uid);

    return pool && pool->slot_known ? pool->next_slot : obj->rv;
}

size_t pools_n_members(const Pools *pools)
{
    return pools->members.len;
}
