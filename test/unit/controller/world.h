/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A model of the API server for tests of plans: small, synchronous, thousands of passes a second.
 * It holds the true objects and, beside them, the caches that the informers would have; a plan's
 * actions change the truth, and what the caches would see of it enters the caches at once.
 *
 * What it models: uid, resourceVersion, generation (spec changes only), merge patches, the status
 * subresource, preconditions, AlreadyExists, NotFound, graceful deletion of Pods, garbage
 * collection by controller reference, label-selected caches, and failures of chosen creations. What
 * it does not: time (it stands still unless a test moves it), other writers, Events.
 */
#include "base/vec.h"
#include "controller/engine/facts.h"
#include "controller/engine/reconciler.h"
#include "controller/warmpool/pools.h"

/* 2026-11-30T12:00:00Z */
#define WORLD_NOW_NS (1796040000ll * 1000000000ll)
/* Plans of one pass, as in the executor. */
#define WORLD_PLANS_MAX 10

typedef struct WorldObj {
    KubeKindId kind;
    json_t *body;
} WorldObj;

typedef struct World {
    VEC(WorldObj) objects;
    KubeStore *caches[KUBE_KIND_MAX_];
    Pools *pools;
    ControllerOptions options;
    int64_t now_wall_ns;
    uint64_t rv;
    unsigned incarnations; /* of created objects, part of their uids */
    bool graceful;         /* deleted Pods stay, marked, until world_reap() */
    struct {
        KubeReason reason; /* KUBE_REASON_NONE = creations succeed */
        int http;
        const char *message;
    } refuse[KUBE_KIND_MAX_];
    Facts facts; /* of the pass */
    unsigned n_plans;
    unsigned n_writes; /* versions made and objects removed since the world began */
    unsigned n_events;
} World;

void world_init(World *world, uint64_t seed);
void world_deinit(World *world);

/* Adds an object as its JSON says, completing what the API server would; takes the JSON over. */
void world_add(World *world, KubeKindId kind, json_t *body);
/* The same from text; single quotes stand for double ones. */
void world_put(World *world, KubeKindId kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Applies a merge patch as somebody else would; status too. */
void world_change(World *world, KubeKindId kind, const char *ns, const char *name, const char *fmt,
                  ...) PRINTF_LIKE(5, 6);
/* Borrowed, NULL = no such object. */
const json_t *world_get(const World *world, KubeKindId kind, const char *ns, const char *name);
size_t world_count(const World *world, KubeKindId kind);
/* Marked Pods are gone. */
void world_reap(World *world);

View world_view(World *world);
/* Carries out one action. False: the rest of the plan must not be done (failure, or plan again). */
bool world_apply(World *world, const PlanAction *action);
/* A whole plan by stages; false when it stopped early. */
bool world_apply_plan(World *world, const Plan *plan);
/* One pass: plans until nothing is left to do in it. Returns the number of writes. */
unsigned world_pass(World *world, const Reconciler *reconciler, KubeKey key);
/* Forgets what the pass learned, as its end does. */
void world_end_pass(World *world);

/* The truth as text: sorted, without resourceVersions. To be freed. */
char *world_dump(const World *world);

DEFINE_AUTO(world, World, world_deinit)
