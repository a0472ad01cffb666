/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fakeapi/world.h"

#define CALM_STEPS 6 /* ticks without time passing, for chains of deferred calls */

void fake_world_init(FakeWorld *world, uint64_t seed)
{
    fake_clock_init(&world->clock, 1000 * NS_PER_S, FAKE_WORLD_WALL_NS);
    CHECK(loop_new_virtual(&world->clock.clock, &world->loop) == 0);
    world->api = fakeapi_new(world->loop, seed);
    world->client = kube_api_new(world->loop, fakeapi_transport(world->api), "test");
}

void fake_world_deinit(FakeWorld *world)
{
    world->client = kube_api_free(world->client);
    world->api = fakeapi_free(world->api);
    world->loop = loop_free(world->loop);
}

static void world_settle(FakeWorld *world)
{
    int calm = 0;

    while (calm < CALM_STEPS) {
        calm = loop_next_deadline(world->loop) <= world->clock.now_mono_ns ? 0 : calm + 1;
        loop_step(world->loop, 0);
    }
}

/* One step to the next event, not beyond end; false when end is reached. */
static bool world_advance(FakeWorld *world, uint64_t end)
{
    uint64_t next = loop_next_deadline(world->loop);
    uint64_t now = world->clock.now_mono_ns;
    uint64_t to = next < end ? next : end;

    fake_clock_advance(&world->clock, to > now ? to - now : 0);
    world_settle(world);
    return to < end;
}

void fake_world_run(FakeWorld *world, uint64_t ns)
{
    uint64_t end = world->clock.now_mono_ns + ns;

    world_settle(world);
    while (world_advance(world, end)) {
    }
}

bool fake_world_run_until(FakeWorld *world, const bool *flag, uint64_t max_ns)
{
    uint64_t end = world->clock.now_mono_ns + max_ns;

    world_settle(world);
    while (!*flag && world_advance(world, end)) {
    }
    return *flag;
}
