/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The gauges agent_sandboxes (how many Sandboxes there are, by namespace, readiness, expiry, launch
 * type, template, owner and creator) and agent_sandbox_warmpool_size (members of pools by state).
 * Counted from the cache at scrape, so they are right after any restart.
 */
#include "kube/store.h"
#include "metrics/metrics.h"

/* Most label combinations in one scrape. */
#define INVENTORY_SERIES_MAX 10000

/* The store must live as long as the registry is scraped. Also agent_sandbox_build_info. */
void inventory_register(Metrics *metrics, KubeStore *sandboxes);
