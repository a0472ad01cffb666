/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Status of a claim: two conditions, Finished and Ready, and which Sandbox it has. Pure functions
 * from what is known to a merge patch. Reasons and texts are upstream's, byte for byte; the one
 * addition is what the Pod itself complains about, after a Sandbox's own message.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "controller/claim/fault.h"
#include "kube/object.h"
#include "json/jx.h"

typedef struct ClaimOutcome {
    const KubeObj *claim;
    const KubeObj *sandbox; /* controlled by the claim, or picked for it; NULL = none */
    Str created;            /* name of a Sandbox that was just made, STR_NULL = none */
    ClaimFault fault;       /* reason NULL = none */
    bool expired;
    bool missing;        /* was bound, and the Sandbox is gone */
    const char *trouble; /* of the Pod, NULL = none: "; " and this follow the Ready message */
    int64_t now_wall_ns;
} ClaimOutcome;

typedef struct ClaimStatus {
    json_t *status; /* {conditions, sandbox} as it is to be; owned */
    json_t *patch;  /* {"status": ...}, NULL when nothing changes; owned */
    bool ready;
    bool was_ready;
    bool urgent; /* more changes than the words of a Ready=False */
} ClaimStatus;

void claim_status_make(const ClaimOutcome *outcome, Arena *arena, ClaimStatus *ret_status);
void claim_status_deinit(ClaimStatus *status);

/* The Finished condition that the claim will have (borrowed from `status`), NULL = none. */
const json_t *claim_status_finished(const ClaimStatus *status);

DEFINE_AUTO(claim_status, ClaimStatus, claim_status_deinit)
