/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Status of a pool: four values, no conditions. Pure.
 */
#include <stdbool.h>

#include "kube/object.h"
#include "json/jx.h"

typedef struct PoolNumbers {
    size_t replicas; /* active members, those about to be made included */
    size_t ready;
    size_t lost; /* active members that were ready and are not any more */
    bool lean;   /* fewer writes are worth more than numbers of this moment */
} PoolNumbers;

/* Values that are on their way have to differ for this long before they are told. */
#define POOL_STATUS_WAIT_NS (1ull * 1000000000ull)
/* A member that was claimed is being replaced: most successors are ready before it would be told,
 * which saves two writes a claim. */
#define POOL_STATUS_CLAIMED_WAIT_NS (3ull * 1000000000ull)
/* The same for a lean pool, and for all of its values that are on their way. */
#define POOL_STATUS_LEAN_WAIT_NS (10ull * 1000000000ull)

/* Merge patch of the status, NULL when it is right already. Owned. *ret_wait_ns: for how long it
 * has to be wanted first; 0 when as many are ready as are wanted, or fewer than was said because
 * some failed. */
json_t *pool_status_patch(const KubeObj *pool, const PoolNumbers *numbers, uint64_t *ret_wait_ns);
/* spec.replicas, 1 when absent. */
size_t pool_desired(const KubeObj *pool);
