/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Status of a pool: four values, no conditions. Pure.
 */
#include <stdbool.h>

#include "kube/object.h"
#include "json/jx.h"

/* Merge patch of the status, NULL when it is right already. Owned. *ret_urgent: fewer members are
 * ready than was said, or as many as are wanted. */
json_t *pool_status_patch(const KubeObj *pool, size_t replicas, size_t ready, bool *ret_urgent);
/* spec.replicas, 1 when absent. */
size_t pool_desired(const KubeObj *pool);
