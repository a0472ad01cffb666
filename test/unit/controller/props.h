/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The three properties of a reconciler on random worlds:
 *
 *  - deterministic: two worlds from one seed, with differently seeded hash tables, give the same
 * plan;
 *  - fixpoint: after a pass (or a few, for plans that build on each other) another one writes
 * nothing;
 *  - prefix-safe: any prefix of the plan carried out, everything learned forgotten, then passes
 * until nothing is written, ends in the same world as without the interruption.
 *
 * A failure names the seed; props_check_one() runs a single one.
 */
#include "base/rng.h"
#include "test/unit/controller/world.h"

typedef struct PropsSpec {
    const Reconciler *reconciler;
    KubeKey key;
    /* Fills an empty world; everything must come from rng. */
    void (*generate)(Rng *rng, World *world);
    unsigned passes_max; /* until nothing is written; 0 = 3 */
} PropsSpec;

void props_check(const PropsSpec *spec, uint64_t first_seed, unsigned n);
void props_check_one(const PropsSpec *spec, uint64_t seed);
