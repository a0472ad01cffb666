/* SPDX-License-Identifier: Apache-2.0 */
/* See props.h. */
#include "test/unit/controller/props.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/harness/t.h"

static void make_world(const PropsSpec *spec, uint64_t seed, uint64_t table_seed, World *ret_world)
{
    Rng rng;

    rng_init(&rng, seed);
    world_init(ret_world, table_seed);
    spec->generate(&rng, ret_world);
}

static void make_plan(const PropsSpec *spec, World *world, Arena *arena, Plan *ret_plan)
{
    View view = world_view(world);

    plan_init(ret_plan, arena);
    spec->reconciler->plan(&view, spec->key, arena, ret_plan);
}

static void settle(const PropsSpec *spec, World *world, const char *what)
{
    unsigned max = spec->passes_max ? spec->passes_max : 3;

    for (unsigned i = 0; i <= max; i++) {
        if (world_pass(world, spec->reconciler, spec->key) == 0) {
            return;
        }
    }
    {
        AUTO(arena) Arena arena;
        Plan plan;

        arena_init(&arena, 0);
        make_plan(spec, world, &arena, &plan);
        T_FAIL("%s: still writing after %u passes:\n%s\n%s", what, max, plan_dump(&plan),
               world_dump(world));
    }
}

/* Refused creations are tried again in every pass: with them only the result has to stand still. */
static bool refuses(const World *world)
{
    for (size_t kind = 0; kind < KUBE_KIND_MAX_; kind++) {
        if (world->refuse[kind].reason != KUBE_REASON_NONE) {
            return true;
        }
    }
    return false;
}

static char *settled_dump(const PropsSpec *spec, World *world, const char *what)
{
    char *before;
    char *after;

    if (!refuses(world)) {
        settle(spec, world, what);
        return world_dump(world);
    }
    for (unsigned i = 0; i < 3; i++) {
        (void)world_pass(world, spec->reconciler, spec->key);
    }
    before = world_dump(world);
    (void)world_pass(world, spec->reconciler, spec->key);
    after = world_dump(world);
    T_EQ_STR(after, before);
    free(before);
    return after;
}

static size_t check_deterministic(const PropsSpec *spec, uint64_t seed)
{
    AUTO(world) World a;
    AUTO(world) World b;
    AUTO(arena) Arena arena;
    AUTO(mem) char *text_a = NULL;
    AUTO(mem) char *text_b = NULL;
    Plan plan;
    size_t n;

    arena_init(&arena, 0);
    make_world(spec, seed, 1, &a);
    make_world(spec, seed, 99, &b);
    make_plan(spec, &a, &arena, &plan);
    text_a = plan_dump(&plan);
    n = plan.n_actions;
    plan_deinit(&plan);
    make_plan(spec, &b, &arena, &plan);
    text_b = plan_dump(&plan);
    plan_deinit(&plan);
    T_EQ_STR(text_b, text_a);
    return n;
}

static char *run_prefix(const PropsSpec *spec, uint64_t seed, size_t prefix)
{
    AUTO(world) World world;
    AUTO(arena) Arena arena;
    Plan plan;
    unsigned stage = 0;
    bool ok = true;

    arena_init(&arena, 0);
    make_world(spec, seed, 1, &world);
    make_plan(spec, &world, &arena, &plan);
    for (size_t i = 0; i < prefix && i < plan.n_actions; i++) {
        if (plan.actions[i]->stage != stage && !ok) {
            break;
        }
        stage = plan.actions[i]->stage;
        ok &= world_apply(&world, plan.actions[i]);
    }
    plan_deinit(&plan);
    world_end_pass(&world);
    return settled_dump(spec, &world, "prefix");
}

void props_check_one(const PropsSpec *spec, uint64_t seed)
{
    size_t n = check_deterministic(spec, seed);
    AUTO(world) World world;
    AUTO(mem) char *whole = NULL;

    make_world(spec, seed, 1, &world);
    whole = settled_dump(spec, &world, "whole");
    for (size_t prefix = 0; prefix < n; prefix++) {
        AUTO(mem) char *cut = run_prefix(spec, seed, prefix);

        T_EQ_STR(cut, whole);
    }
}

void props_check(const PropsSpec *spec, uint64_t first_seed, unsigned n)
{
    char label[64];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(label, sizeof(label), "seed %llu", (unsigned long long)(first_seed + i));
        t_row(label);
        props_check_one(spec, first_seed + i);
    }
    t_row(NULL);
}
