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
} PoolNumbers;

/* Merge patch of the status, NULL when it is right already. Owned. *ret_urgent: as many are ready
 * as are wanted, or fewer than was said because some failed. Fewer because of claims is not urgent:
 * their places are being filled, and often are before it would have been told. */
json_t *pool_status_patch(const KubeObj *pool, const PoolNumbers *numbers, bool *ret_urgent);
/* spec.replicas, 1 when absent. */
size_t pool_desired(const KubeObj *pool);
