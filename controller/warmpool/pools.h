/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Which members of which pool are free to be claimed, and which member slot comes next.
 *
 * A derived index over the Sandbox and pool stores, kept up to date by their change callbacks, so
 * that a claim finds its member without looking at the whole pool. Members are grouped by template
 * hash labels (they are stale or fresh together) and within a group by node: the node with the most
 * free members gives one up first, the member that has been ready longest goes first. Pools are
 * known by UID, so a pool made anew under an old name starts empty.
 *
 * Invariants: a Sandbox is in at most one list; its list follows from its own last state alone; a
 * reserved member stays in its list and is stepped over.
 *
 * Slots: names of members are made from the pool's UID and a slot number. Slots only go up while
 * the process lives, and start at the pool's resourceVersion as first seen, which is beyond every
 * slot used before: a name is not given to a second Sandbox, whose clients may still know it.
 */
#include "controller/blueprint/cache.h"
#include "controller/engine/view.h"
#include "controller/warmpool/roster.h"
#include "kube/store.h"

Pools *pools_new(uint64_t seed);
/* Stops listening. NULL is fine; returns NULL. */
Pools *pools_free(Pools *pools);
/* Takes in what the stores have and listens to both from now on. Once. */
void pools_attach(Pools *pools, KubeStore *sandboxes, KubeStore *warmpools);

/* All Sandboxes that the pool owns, free or not; NULL = none. */
const Roster *pools_roster(const View *view, const KubeObj *pool);

/* Memo of template facts; changes no answer. */
TemplateCache *pools_templates(const Pools *pools);

typedef enum PoolPick {
    POOL_PICK_NONE,    /* nothing to wait for */
    POOL_PICK_PENDING, /* members without an address yet */
    POOL_PICK_UNREADY, /* *ret_member has an address but is not ready */
    POOL_PICK_READY,
} PoolPick;

/*
 * The member that the next claim gets. `fresh_for`: only members that are not stale for this
 * template (strategy Recreate); NULL = any. Members that another key has reserved are left out.
 */
PoolPick pools_pick(const View *view, const KubeObj *pool, const KubeObj *fresh_for,
                    const KubeObj **ret_member);

/* True when the Sandbox is a member that may be claimed, in whatever state; *ret_pool is its pool's
 * owner reference. */
bool pools_is_adoptable(const KubeObj *sandbox, KubeOwner *ret_pool);

/* Lowest slot never used in this process. */
uint64_t pools_next_slot(const Pools *pools, const KubeObj *pool);

/* Free members over all pools and the lists they are in, for tests and metrics. */
size_t pools_n_members(const Pools *pools);

DEFINE_AUTO_PTR(pools, Pools, pools_free)
