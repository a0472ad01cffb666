/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A claim's env entries, put into the containers of a pod spec as the template's
 * envVarsInjectionPolicy allows.
 */
#include "base/arena.h"
#include "controller/claim/fault.h"
#include "json/jx.h"

/* `pod` is changed in place, also when a fault is returned (the caller drops it then). `env` is the
 * claim's list, NULL or empty does nothing. 0 or CLAIM_E_FAULT with *ret_fault set. */
int claim_env_inject(json_t *pod, const json_t *env, Str policy, Arena *arena,
                     ClaimFault *ret_fault);
