/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Metrics of single sandboxes (--metrics-per-sandbox): requests by code, and bytes. Bounded: the
 * sandbox that was used longest ago makes room for a new one, and what it had is added to the
 * series "_overflow", so that sums over all series stay right. One lock, taken once at the end of
 * an exchange; nothing of this exists while the flag is 0.
 */
#include <stdint.h>

#include "base/str.h"
#include "metrics/metrics.h"

#define CENSUS_MAX 4096 /* of --metrics-per-sandbox */
#define CENSUS_CODES 8  /* status codes told apart for one sandbox; more are "other" */

typedef struct Census Census;

/* Registers its families; they must not be written after census_free(). */
Census *census_new(size_t sandboxes_max, Metrics *metrics);
Census *census_free(Census *census); /* NULL is fine */
/* Any thread. */
void census_count(Census *census, Str ns, Str name, int code, uint64_t to_sandbox,
                  uint64_t to_client);
