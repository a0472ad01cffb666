/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Exponential back-off as a value: min(base * 2^n, cap), less a random part of `jitter` of it. */
#include <stdint.h>

#include "base/rng.h"

typedef struct KubeBackoffConfig {
    uint64_t base_ns;
    uint64_t cap_ns;
    double jitter; /* 0 = none; 0.2 = between 80 % and 100 % of the step */
} KubeBackoffConfig;

/* The delay after `failures` failures in a row (0 gives the first step). rng NULL = no jitter. */
uint64_t kube_backoff_ns(const KubeBackoffConfig *config, uint32_t failures, Rng *rng);
