/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How often one object may be written. Nobody has a reason to write one object many times a second;
 * whoever does acts on a cache that is behind (a child that the garbage collector takes as often as
 * it is made, another leader that contradicts). The first PACE_FREE writes are free; after that
 * each next one has to wait twice as long as the one before, up to PACE_WAIT_MAX_NS. An object that
 * was left alone for PACE_QUIET_NS is free again and forgotten.
 *
 * Bounded by what was written in the last PACE_QUIET_NS.
 */
#include "base/hmap.h"
#include "base/list.h"
#include "kube/object.h"

#define PACE_FREE 20
#define PACE_WAIT_MIN_NS (100ull * 1000000ull)
#define PACE_WAIT_MAX_NS (5ull * 1000000000ull)
#define PACE_QUIET_NS (10ull * 1000000000ull)

typedef struct Pace {
    HMap objects;
    List by_age; /* of the last write, oldest first */
    uint64_t seed;
} Pace;

void pace_init(Pace *pace, uint64_t seed);
void pace_deinit(Pace *pace);
/* Time until the object may be written, 0 = now. */
uint64_t pace_wait_ns(const Pace *pace, KubeKindId kind, KubeKey key, uint64_t now_ns);
/* It is being written. */
void pace_note(Pace *pace, KubeKindId kind, KubeKey key, uint64_t now_ns);
