/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * When a claim ends: the earlier of its shutdownTime and of its Finished condition plus
 * ttlSecondsAfterFinished; and what then happens to it. Derived from the object itself on every
 * pass, so no timer or table can forget one.
 */
#include <stdbool.h>
#include <stdint.h>

#include "json/doc.h"
#include "json/jx.h"

typedef enum ClaimShutdown {
    CLAIM_RETAIN, /* the Sandbox goes, the claim stays */
    CLAIM_DELETE,
    CLAIM_DELETE_FOREGROUND,
} ClaimShutdown;

/* Wall time at which the claim expires, 0 = never. `finished`: its Finished condition as it will be
 * written, NULL = none. */
int64_t claim_expires_at(JNode spec, const json_t *finished);

ClaimShutdown claim_shutdown_policy(JNode spec);
/* "Retain", "Delete", "DeleteForeground" */
const char *claim_shutdown_name(ClaimShutdown policy);
