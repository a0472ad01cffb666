/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A claim's volumeClaimTemplates, merged into the template's as its volumeClaimTemplatesPolicy
 * allows.
 */
#include "base/arena.h"
#include "controller/claim/fault.h"
#include "json/jx.h"

/* `blueprint` (of the template) is changed in place on success. `claims` is the claim's list, NULL
 * or empty only checks the template's. 0 or CLAIM_E_FAULT with *ret_fault set. */
int claim_volumes_merge(json_t *blueprint, const json_t *claims, Str policy, Arena *arena,
                        ClaimFault *ret_fault);
