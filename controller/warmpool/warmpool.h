/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The SandboxWarmPool reconciler. plan.c decides, watch.c says what wakes a pool.
 */
#include "controller/engine/reconciler.h"

void warmpool_plan(const View *view, KubeKey key, Arena *arena, Plan *plan);
