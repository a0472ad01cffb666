/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One planning pass over one claim: what was found out so far. Filled by resolve.c (which Sandbox,
 * pool, template, member), read by plan.c and samples.c. Lives as long as claim_plan() runs.
 */
#include "controller/blueprint/cache.h"
#include "controller/claim/fault.h"
#include "controller/claim/status.h"
#include "controller/engine/plan.h"
#include "controller/engine/view.h"

/* A claim waits this long for members that have no address yet, looking this often. */
#define CLAIM_POLL_NS (500ll * 1000000ll)
/* A missing pool or template is looked for again after this. */
#define CLAIM_NOT_FOUND_RETRY_NS (60ll * 1000000000ll)
/* Progress between two kinds of not ready is told at most this often. */
#define CLAIM_COALESCE_NS 1000000000ull

typedef struct ClaimPass {
    const View *view;
    const KubeObj *claim;
    Arena *arena;
    Plan *plan;

    json_t *spec;             /* of the claim; owned */
    const json_t *additional; /* additionalPodMetadata in it, may be NULL */

    const KubeObj *sandbox; /* controlled by the claim */
    const KubeObj *pool;
    const KubeObj *template;
    const TemplateFacts *facts; /* of template */
    const KubeObj *member;      /* to be adopted */
    json_t *created;            /* Sandbox to be made; owned until it is in the plan */
    json_t *pod_metadata;       /* podTemplate.metadata of member or sandbox; owned */
    ClaimFault fault;
    bool missing; /* was bound, and the Sandbox is gone */
    bool waiting; /* nothing to tell yet: a read is planned, or members are on their way */
} ClaimPass;

/* The Sandbox that the claim controls, or NULL. Others that it controls too are put into *ret_extra
 * (arena) : they can only come from two controllers at once. */
const KubeObj *claim_find_sandbox(const View *view, const KubeObj *claim, Arena *arena,
                                  const KubeObj ***ret_extra, size_t *ret_n_extra);
/* Name in status.sandbox, STR_NULL when the claim is not bound. */
Str claim_bound_name(const KubeObj *claim);
/* Assigned member: the annotation, or its predecessor, the label. */
Str claim_assigned_name(const KubeObj *claim);

/* For a claim without a Sandbox: decides on member, created, fault, missing or waiting. */
void claim_resolve(ClaimPass *pass);
/* For a claim with one: metadata that its template or its own spec want. Only faults of the claim's
 * own making are faults; a pool or template that is gone is not. */
void claim_resolve_bound(ClaimPass *pass);

/* Measurements of a claim that becomes ready, and of one that got its Sandbox. */
void claim_sample_ready(ClaimPass *pass, const KubeObj *sandbox);
void claim_sample_created(ClaimPass *pass);
/* Where the time went: stages of the way to Ready, see docs/metrics.md. */
void claim_sample_bound(ClaimPass *pass);                /* beside claim_sample_created() */
void claim_sample_told(ClaimPass *pass, unsigned stage); /* stage: of the write that says Ready */
