/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is written when a claim takes a pool member, and when it makes a Sandbox of its own. Pure
 * builders; every patch holds only what really changes.
 */
#include "base/arena.h"
#include "controller/blueprint/cache.h"
#include "controller/claim/fault.h"
#include "kube/object.h"
#include "json/jx.h"

/* Metadata of podTemplate as the claim wants it: the template's keys, plus additionalPodMetadata.
 * The reserved keys of `current` (a Sandbox's, NULL = none) are kept as they are. Owned in *ret.
 * 0 or CLAIM_E_FAULT when the claim and the template disagree. */
int claim_pod_metadata(const TemplateFacts *facts, const json_t *additional, const json_t *current,
                       Arena *arena, json_t **ret, ClaimFault *ret_fault);

/* Whether the claim's Sandbox came out of a pool: what its launch-type label says, or will say. */
bool claim_sandbox_is_warm(const KubeObj *sandbox, const KubeObj *claim);

/*
 * The patch that makes `member` the claim's: one owner reference to the claim, the pool's labels
 * off, the claim's on. Also completes a Sandbox that is the claim's already; NULL when there is
 * nothing to do. `pod_metadata` NULL or equal in effect leaves podTemplate alone, which keeps the
 * Sandbox's generation.
 */
json_t *claim_sandbox_patch(const KubeObj *member, const KubeObj *claim, const TemplateFacts *facts,
                            const json_t *pod_metadata);

/* The Sandbox of a cold start. 0 with *ret_sandbox owned, or CLAIM_E_FAULT. */
int claim_sandbox_build(const KubeObj *claim, const KubeObj *template, const TemplateFacts *facts,
                        Arena *arena, json_t **ret_sandbox, ClaimFault *ret_fault);
