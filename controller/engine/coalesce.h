/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Since when a key has wanted something that may wait. One entry a waiting key. */
#include "base/hmap.h"
#include "kube/object.h"

typedef struct Coalesce {
    HMap by_key;
    uint64_t seed;
} Coalesce;

void coalesce_init(Coalesce *coalesce, uint64_t seed);
void coalesce_deinit(Coalesce *coalesce);
/* The time of the first call for this key since it was last cleared; now_ns the first time. */
uint64_t coalesce_since(Coalesce *coalesce, KubeKey key, uint64_t now_ns);
void coalesce_clear(Coalesce *coalesce, KubeKey key);
