/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/backoff.h"

#include <stddef.h>

uint64_t kube_backoff_ns(const KubeBackoffConfig *config, uint32_t failures, Rng *rng)
{
    uint64_t step = config->base_ns;

    for (uint32_t i = 0; i < failures && step < config->cap_ns; i++) {
        step = step > UINT64_MAX / 2 ? UINT64_MAX : step * 2;
    }
    if (step > config->cap_ns) {
        step = config->cap_ns;
    }
    if (rng && config->jitter > 0) {
        step -= (uint64_t)((double)step * config->jitter * rng_unit(rng));
    }
    return step;
}
