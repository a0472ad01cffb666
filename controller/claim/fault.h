/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Why a claim cannot have a Sandbox now, as it will be told in its Ready condition. Reasons and
 * texts are read by SDKs and dashboards and never change.
 */
#include "base/arena.h"
#include "base/str.h"

#define CLAIM_E_FAULT 1 /* positive outcome: a ClaimFault was filled in */

#define REASON_TEMPLATE_NOT_FOUND "TemplateNotFound"
#define REASON_POOL_NOT_FOUND "WarmPoolNotFound"
#define REASON_ADOPTION_CONFLICT "AdoptionConflict"
#define REASON_CREATE_PENDING "SandboxCreatePending"
#define REASON_INVALID_METADATA "InvalidMetadata"
#define REASON_ENV_REJECTED "EnvVarsInjectionRejected"
#define REASON_VCT_ERROR "VolumeClaimTemplatesError"
#define REASON_CLAIM_EXPIRED "ClaimExpired"
#define REASON_RECONCILER_ERROR "ReconcilerError"
#define REASON_SANDBOX_MISSING "SandboxMissing"
#define REASON_SANDBOX_EXPIRED "SandboxExpired"
#define REASON_SANDBOX_NOT_READY "SandboxNotReady"
#define REASON_INVALID_CONFIGURATION "InvalidConfiguration"

typedef struct ClaimFault {
    const char *reason;  /* NULL = no fault */
    const char *message; /* in the arena or static */
} ClaimFault;

/* Fills *ret_fault and returns CLAIM_E_FAULT. */
#define claim_fault(arena, ret_fault, why, ...)                                                    \
    (*(ret_fault) = (ClaimFault){(why), arena_printf((arena), __VA_ARGS__)}, CLAIM_E_FAULT)
