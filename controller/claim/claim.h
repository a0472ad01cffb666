/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The SandboxClaim reconciler. plan.c decides, watch.c says what wakes a claim.
 */
#include "controller/engine/reconciler.h"

void claim_plan(const View *view, KubeKey key, Arena *arena, Plan *plan);
