/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The Sandboxes of one pool, sorted out: which count, which are ready, stale, stuck or held.
 */
#include "controller/blueprint/cache.h"
#include "controller/engine/view.h"

typedef struct PoolMember {
    const KubeObj *obj;
    int64_t created_ns;
    bool ready;
    bool stale;
} PoolMember;

typedef struct PoolCensus {
    PoolMember *active; /* arena, in the order in which they would be given up: unready before
                           ready, newest before oldest, then by name */
    size_t n_active;
    size_t n_ready;
    size_t n_terminating;  /* deleting; stuck members are not among them */
    const KubeObj **stuck; /* not ready for longer than the grace period, to be replaced */
    size_t n_stuck;
    const KubeObj **orphans; /* carry the pool's label, have no controller and fit the template */
    size_t n_orphans;
    size_t n_lost; /* active, were ready once and are not any more */
    size_t
        n_held_lately; /* of the held ones, those whose grace ended within the recheck interval */
    size_t n_freed_lately; /* became ready within it, after more than their grace */
    size_t n_held;         /* not ready for long, but waiting for something outside */
    int64_t look_at_ns;    /* when the next member's grace ends, 0 = none */
} PoolCensus;

/* `template` NULL: nothing is stale. `recreate`: staleness counts for members with a controller. */
void pool_census(const View *view, const KubeObj *pool, const KubeObj *template, bool recreate,
                 Arena *arena, PoolCensus *ret_census);

/* True when the Pod waits for room, for a gate or for its own init containers: replacing it would
 * only start the wait anew. */
bool pool_pod_is_held(const KubeObj *pod);
