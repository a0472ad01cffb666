/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A small world for tests of plans: stores with the real indexes, the pools index, options, a fixed
 * time, and objects written as short JSON. Nothing is carried out; tests look at the plan.
 */
#include "controller/engine/facts.h"
#include "controller/engine/plan.h"
#include "controller/engine/reserve.h"
#include "controller/engine/view.h"
#include "controller/warmpool/pools.h"

/* 2026-11-30T12:00:00Z */
#define FIXTURE_NOW_NS (1796040000ll * 1000000000ll)

typedef struct Fixture {
    KubeStore *stores[KUBE_KIND_MAX_];
    Pools *pools;
    ControllerOptions options;
    Reservations reservations;
    Facts facts;
    View view;
    Arena arena;
    Plan plan;
    uint64_t rv;
    char *dump;
} Fixture;

typedef void (*FixturePlanFn)(const View *view, KubeKey key, Arena *arena, Plan *plan);

void fixture_init(Fixture *f);
void fixture_deinit(Fixture *f);
/* Puts an object into its store, adding namespace "a", uid "uid-<name>", the next resourceVersion,
 * generation 1 and a creationTimestamp 60 s ago where they are missing. Single quotes stand for
 * double ones. */
const KubeObj *fixture_put(Fixture *f, KubeKindId kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
void fixture_delete(Fixture *f, KubeKindId kind, const char *name);
/* The API server has said that there is no such object. */
void fixture_absent(Fixture *f, KubeKindId kind, const char *name);
/* The API server has said in this pass that the object is as the store has it. */
void fixture_confirmed(Fixture *f, KubeKindId kind, const char *name);
/* Plans for a/name; the text of plan_dump(), good until the next call. */
const char *fixture_plan(Fixture *f, FixturePlanFn fn, const char *name);
/* The first action of this verb and kind in the last plan, NULL = none. */
const PlanAction *fixture_action(const Fixture *f, PlanVerb verb, KubeKindId kind);
size_t fixture_count(const Fixture *f, PlanVerb verb, KubeKindId kind);

/* Template t, pool p (uid-p) with `replicas`, and the template's NetworkPolicy. */
void fixture_pool(Fixture *f, int replicas, const char *strategy);
/* A member of p: ready with an address on `node`, or without both when node is NULL. */
const KubeObj *fixture_member(Fixture *f, const char *name, const char *node);

DEFINE_AUTO(fixture, Fixture, fixture_deinit)
