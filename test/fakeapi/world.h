/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Fake clock, virtual loop, fakeapi and a KubeApi on it, and running them for virtual time. Every
 * test that uses it is deterministic: same seed, same run.
 */
#include "base/clock.h"
#include "base/loop.h"
#include "kube/api.h"
#include "test/fakeapi/fakeapi.h"

#define FAKE_WORLD_WALL_NS (1796083200ll * 1000000000ll) /* 2026-12-01T00:00:00Z */

typedef struct FakeWorld {
    FakeClock clock;
    Loop *loop;
    FakeApi *api;
    KubeApi *client;
} FakeWorld;

void fake_world_init(FakeWorld *world, uint64_t seed);
/* Everything that uses the client must be gone. */
void fake_world_deinit(FakeWorld *world);
/* Runs all that is due until `ns` of virtual time have passed. */
void fake_world_run(FakeWorld *world, uint64_t ns);
/* Runs until *flag, at most `max_ns`; returns *flag. */
bool fake_world_run_until(FakeWorld *world, const bool *flag, uint64_t max_ns);

DEFINE_AUTO(fake_world, FakeWorld, fake_world_deinit)
