/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The Sandboxes of one pool, counted: which are ready, stale, stuck or held. Read from the pool's
 * roster (warmpool/roster.h): the cost is that of the members whose grace is over and of the
 * different templates that members were made from, not of the pool.
 */
#include "controller/blueprint/cache.h"
#include "controller/engine/view.h"
#include "controller/warmpool/roster.h"

typedef struct PoolGroup {
    const RosterGroup *roster;
    size_t n_stuck; /* of its unready members */
    bool stale;
} PoolGroup;

typedef struct PoolCensus {
    PoolGroup *groups; /* arena */
    size_t n_groups;
    size_t n_active; /* all but those being deleted and stuck ones */
    size_t n_ready;
    size_t n_stale_ready;   /* counted for strategy Recreate only */
    size_t n_stale_unready; /* likewise */
    size_t n_terminating;   /* deleting; stuck members are not among them */
    const KubeObj **stuck;  /* not ready for longer than the grace period, to be replaced */
    size_t n_stuck;
    const KubeObj **orphans; /* carry the pool's label, have no controller and fit the template */
    size_t n_orphans;
    size_t n_lost; /* active, were ready once and are not any more */
    size_t n_held; /* not ready for long, but waiting for something outside */
    size_t
        n_held_lately; /* of the held ones, those whose grace ended within the recheck interval */
    size_t n_freed_lately; /* became ready within it, after more than their grace */
    int64_t look_at_ns;    /* when the next member's grace ends, 0 = none */
} PoolCensus;

/* `template` NULL: nothing is stale. `recreate`: staleness counts for members with a controller. */
void pool_census(const View *view, const KubeObj *pool, const KubeObj *template, bool recreate,
                 Arena *arena, PoolCensus *ret_census);

/* The first n active members, stale ones or fresh ones, in the order in which they are given up:
 * unready before ready, newest before oldest. Returns how many there are. */
size_t pool_census_give_up(const View *view, const PoolCensus *census, bool stale, size_t n,
                           Arena *arena, const KubeObj ***ret_members);

/* Active members created after this. */
size_t pool_census_created_since(const View *view, const PoolCensus *census, int64_t created_ns);

/* True when the Pod waits for room, for a gate or for its own init containers: replacing it would
 * only start the wait anew. */
bool pool_pod_is_held(const KubeObj *pod);
