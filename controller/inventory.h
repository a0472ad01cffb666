/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The gauge agent_sandboxes: how many Sandboxes there are, by namespace, readiness, expiry, launch
 * type, template, owner and creator. Counted from the cache at scrape.
 */
#include "kube/store.h"
#include "metrics/metrics.h"

/* Most label combinations in one scrape. */
#define INVENTORY_SERIES_MAX 10000

/* The store must live as long as the registry is scraped. Also agent_sandbox_build_info. */
void inventory_register(Metrics *metrics, KubeStore *sandboxes);
