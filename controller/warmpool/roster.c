/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/roster.c
 *
 * A change takes the member out and puts it in again where it belongs now, unless its place is the
 * same: then only the object is replaced.
 */
#include "controller/warmpool/roster.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "controller/keys.h"

/* The first condition of a new Sandbox is written within this of its creation. A later change to
 * not ready is one from ready. */
#define MEMBER_BIRTH_NS (2ll * 1000000000ll)
#define NAME_BITS 30

struct Rosters {
    HMap by_owner;
    HMap by_uid;
    uint64_t seed;
    int64_t grace_ns;
};

/* ---- rosters and groups ---- */

static uint64_t owner_hash(const Rosters *rosters, Str ns, Str uid)
{
    return hash_str(hash_str(rosters->seed, ns), uid);
}

static bool owner_is(const Roster *roster, Str ns, Str uid)
{
    Str key = str_from(roster->owner);

    return key.len == ns.len + 1 + uid.len && str_eq(str_take(key, ns.len), ns) &&
           str_eq(str_drop(key, ns.len + 1), uid);
}

static Roster *roster_find(const Rosters *rosters, Str ns, Str uid)
{
    HMapNode *n = hmap_first(&rosters->by_owner, owner_hash(rosters, ns, uid));

    while (n && !owner_is(container_of(n, Roster, by_owner), ns, uid)) {
        n = hmap_next(n);
    }
    return n ? container_of(n, Roster, by_owner) : NULL;
}

const Roster *rosters_find(const Rosters *rosters, Str ns, Str owner_uid)
{
    return roster_find(rosters, ns, owner_uid);
}

static Roster *roster_ensure(Rosters *rosters, Str ns, Str uid)
{
    Roster *roster = roster_find(rosters, ns, uid);

    if (!roster) {
        roster = xcalloc(1, sizeof(*roster));
        roster->owner = xasprintf(STR_FMT "/" STR_FMT, STR_ARG(ns), STR_ARG(uid));
        list_init(&roster->groups);
        heap_init(&roster->overdue);
        heap_init(&roster->late);
        hmap_insert(&rosters->by_owner, &roster->by_owner, owner_hash(rosters, ns, uid));
    }
    return roster;
}

static void roster_drop_if_empty(Rosters *rosters, Roster *roster)
{
    if (roster->n_members == 0) {
        hmap_remove(&rosters->by_owner, &roster->by_owner);
        heap_deinit(&roster->overdue);
        heap_deinit(&roster->late);
        free(roster->owner);
        free(roster);
    }
}

/* What decides staleness; see template_cache_is_stale(). */
static char *group_key(const KubeObj *sandbox)
{
    Str ref = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_REF_HASH));
    Str hash = kube_obj_label(sandbox, STR(LABEL_TEMPLATE_HASH));
    bool alone = hash.len != HASH_HEX_SIZE - 1 || kube_obj_generation(sandbox) > 1;

    return xasprintf(STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(ref), STR_ARG(hash),
                     STR_ARG(alone ? sandbox->uid : STR("")));
}

static RosterGroup *group_ensure(Roster *roster, const KubeObj *sandbox)
{
    AUTO(mem) char *key = group_key(sandbox);
    RosterGroup *group;

    list_foreach (&roster->groups, it) {
        group = list_entry(it, RosterGroup, node);
        if (str_eq(str_from(group->key), str_from(key))) {
            return group;
        }
    }
    group = xcalloc(1, sizeof(*group));
    group->key = TAKE(key);
    heap_init(&group->ready);
    heap_init(&group->unready);
    list_push_back(&roster->groups, &group->node);
    return group;
}

static void group_drop_if_empty(RosterGroup *group)
{
    if (group->ready.len == 0 && group->unready.len == 0) {
        list_remove(&group->node);
        heap_deinit(&group->ready);
        heap_deinit(&group->unready);
        free(group->key);
        free(group);
    }
}

/* ---- members ---- */

static uint64_t newest_first(int64_t ns)
{
    return UINT64_MAX - (ns > 0 ? (uint64_t)ns : 0);
}

/* Times of creation are whole seconds, so there is room for the name. */
static uint64_t give_up_key(const RosterMember *member)
{
    uint64_t s = member->created_ns > 0 ? (uint64_t)member->created_ns / NS_PER_S : 0;
    uint64_t most = (1ull << (64 - NAME_BITS)) - 1;

    return (most - (s < most ? s : most)) << NAME_BITS |
           (hash_str(0, member->obj->name) & ((1ull << NAME_BITS) - 1));
}

static void member_read(RosterMember *member)
{
    JNode ready = kube_obj_condition(member->obj, STR("Ready"));
    int64_t since = 0;

    member->created_ns = kube_obj_created_ns(member->obj);
    member->ready = str_eq(jnode_str(jnode_at(ready, "status")), STR("True"));
    if (timefmt_parse(jnode_str(jnode_at(ready, "lastTransitionTime")), &since) < 0) {
        since = 0;
    }
    if (!member->ready && since < member->created_ns) {
        since = member->created_ns;
    }
    member->since_ns = since;
    member->lost = !member->ready && since > member->created_ns + MEMBER_BIRTH_NS;
}

static void late_link(const Rosters *rosters, RosterMember *member)
{
    if (member->since_ns > member->created_ns + rosters->grace_ns) {
        heap_insert(&member->roster->late, &member->clock, newest_first(member->since_ns));
    }
}

static void member_link(Rosters *rosters, RosterMember *member)
{
    Roster *roster = member->roster;

    roster->n_members++;
    member_read(member);
    if (kube_obj_deleting(member->obj)) {
        roster->n_terminating++;
        return;
    }
    member->group = group_ensure(roster, member->obj);
    roster->n_lost += member->lost;
    if (member->ready) {
        roster->n_ready++;
        heap_insert(&member->group->ready, &member->order, give_up_key(member));
        late_link(rosters, member);
    } else {
        roster->n_unready++;
        heap_insert(&member->group->unready, &member->order, give_up_key(member));
        heap_insert(&roster->overdue, &member->clock,
                    member->since_ns > 0 ? (uint64_t)member->since_ns : 0);
    }
}

static void member_unlink(RosterMember *member)
{
    Roster *roster = member->roster;
    RosterGroup *group = TAKE(member->group);

    roster->n_members--;
    if (!group) {
        roster->n_terminating--;
        return;
    }
    roster->n_lost -= member->lost;
    roster->n_ready -= member->ready;
    roster->n_unready -= !member->ready;
    heap_remove(member->ready ? &group->ready : &group->unready, &member->order);
    heap_remove(member->ready ? &roster->late : &roster->overdue, &member->clock);
    group_drop_if_empty(group);
}

static RosterMember *member_find(const Rosters *rosters, Str uid)
{
    for (HMapNode *n = hmap_first(&rosters->by_uid, hash_str(rosters->seed, uid)); n;
         n = hmap_next(n)) {
        RosterMember *member = container_of(n, RosterMember, by_uid);

        if (str_eq(member->obj->uid, uid)) {
            return member;
        }
    }
    return NULL;
}

static void member_drop(Rosters *rosters, RosterMember *member)
{
    Roster *roster = member->roster;

    member_unlink(member);
    hmap_remove(&rosters->by_uid, &member->by_uid);
    kube_obj_unref(member->obj);
    free(member);
    roster_drop_if_empty(rosters, roster);
}

static void member_set(Rosters *rosters, const KubeObj *sandbox, Str owner_uid)
{
    RosterMember *member = member_find(rosters, sandbox->uid);
    Roster *roster = roster_ensure(rosters, sandbox->ns, owner_uid);
    Roster *old = NULL;

    if (member) {
        old = member->roster;
        member_unlink(member);
        kube_obj_unref(member->obj);
    } else {
        member = xcalloc(1, sizeof(*member));
        hmap_insert(&rosters->by_uid, &member->by_uid, hash_str(rosters->seed, sandbox->uid));
    }
    member->obj = kube_obj_ref(sandbox);
    member->roster = roster;
    member_link(rosters, member);
    if (old && old != roster) {
        roster_drop_if_empty(rosters, old);
    }
}

void rosters_apply(Rosters *rosters, const KubeObj *before, const KubeObj *after)
{
    bool same = before && after && str_eq(before->uid, after->uid);
    RosterMember *member;
    KubeOwner owner;

    if (after && kube_obj_controller(after, &owner) && owner.uid.len > 0 && after->uid.len > 0 &&
        str_eq(owner.kind, STR(KIND_SANDBOX_WARM_POOL))) {
        member_set(rosters, after, owner.uid);
    } else {
        same = false;
    }
    member = before && !same ? member_find(rosters, before->uid) : NULL;
    if (member) {
        member_drop(rosters, member);
    }
}

void rosters_set_grace(Rosters *rosters, int64_t grace_ns)
{
    if (grace_ns == rosters->grace_ns) {
        return;
    }
    rosters->grace_ns = grace_ns;
    hmap_foreach (&rosters->by_uid, it) {
        RosterMember *member = container_of(it, RosterMember, by_uid);

        if (member->group && member->ready) {
            heap_remove(&member->roster->late, &member->clock);
            late_link(rosters, member);
        }
    }
}

/* ---- life ---- */

Rosters *rosters_new(uint64_t seed)
{
    Rosters *rosters = xcalloc(1, sizeof(*rosters));

    rosters->seed = seed;
    hmap_init(&rosters->by_owner);
    hmap_init(&rosters->by_uid);
    return rosters;
}

Rosters *rosters_free(Rosters *rosters)
{
    if (rosters) {
        hmap_foreach (&rosters->by_uid, it) {
            member_drop(rosters, container_of(it, RosterMember, by_uid));
        }
        hmap_deinit(&rosters->by_uid);
        hmap_deinit(&rosters->by_owner);
        free(rosters);
    }
    return NULL;
}

size_t rosters_len(const Rosters *rosters)
{
    return rosters->by_uid.len;
}
