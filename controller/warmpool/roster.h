/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The Sandboxes that pools own, sorted as pools ask for them, so that a pass over a pool of two
 * thousand does not look at two thousand: a change of one member costs O(log n) when it happens,
 * and a census costs what is unusual (overdue members, old templates), not what is there.
 *
 * Kept up to date by the change callback of the Sandbox store (warmpool/pools.c). A roster is known
 * by namespace and owner UID, whatever the owner's kind, and exists while it has members. Members
 * are grouped by what decides staleness: the template hash labels, or the member alone when it was
 * edited by hand. All order follows from the objects, never from the order of changes, up to a
 * collision of 30-bit hashes of names made in the same second.
 *
 * Readers (warmpool/census.c) look at the structures themselves; nobody else writes them.
 */
#include "base/heap.h"
#include "base/hmap.h"
#include "base/list.h"
#include "kube/store.h"

typedef struct Rosters Rosters;

typedef struct Roster {
    HMapNode by_owner;
    char *owner; /* ns/uid */
    List groups;
    Heap overdue;         /* unready members, the longest unready first */
    Heap late;            /* ready members that took longer than the grace, newest first */
    size_t n_terminating; /* being deleted; they are in no group */
    size_t n_ready;
    size_t n_unready;
    size_t n_lost; /* unready ones that were ready once */
    size_t n_members;
} Roster;

typedef struct RosterGroup {
    ListNode node;
    char *key;
    /* In the order in which they would be given up: newest first, then by hash of the name. */
    Heap ready;
    Heap unready;
} RosterGroup;

typedef struct RosterMember {
    HMapNode by_uid;
    HeapNode order; /* of RosterGroup.ready or unready */
    HeapNode clock; /* of Roster.overdue or late */
    KubeObj *obj;
    Roster *roster;
    RosterGroup *group; /* NULL while it is being deleted */
    int64_t created_ns;
    int64_t since_ns; /* ready: since it is, 0 = not told; else since when it is not */
    bool ready;
    bool lost;
} RosterMember;

Rosters *rosters_new(uint64_t seed);
Rosters *rosters_free(Rosters *rosters); /* NULL is fine; returns NULL */
/* One change of the Sandbox store. */
void rosters_apply(Rosters *rosters, const KubeObj *before, const KubeObj *after);
/* The option is one of the process; a change of it sorts Roster.late anew. */
void rosters_set_grace(Rosters *rosters, int64_t grace_ns);
/* NULL = nobody owns anything under this UID. */
const Roster *rosters_find(const Rosters *rosters, Str ns, Str owner_uid);

static inline const RosterMember *roster_by_order(const HeapNode *node)
{
    return container_of((HeapNode *)node, RosterMember, order);
}

static inline const RosterMember *roster_by_clock(const HeapNode *node)
{
    return container_of((HeapNode *)node, RosterMember, clock);
}

/* Members known in all rosters, for tests. */
size_t rosters_len(const Rosters *rosters);

DEFINE_AUTO_PTR(rosters, Rosters, rosters_free)
