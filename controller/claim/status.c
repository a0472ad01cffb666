/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/status.c
 *
 * Ready is decided top down in ready_decide(); everything else mirrors the Sandbox.
 */
#include "controller/claim/status.h"

#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "kube/meta.h"

typedef struct Ready {
    const char *status;
    const char *reason;
    const char *message;
    int64_t since_wall_ns; /* of the transition, should there be one */
} Ready;

#define READY_FALSE(why, text) ((Ready){.status = "False", .reason = (why), .message = (text)})

static const char *arena_node(Arena *arena, JNode node)
{
    Str s = jnode_str(node);

    return arena_dup(arena, s.ptr ? s : STR(""));
}

/* The Sandbox's Ready condition as the claim's, with its own lastTransitionTime. */
static Ready ready_copy(const ClaimOutcome *outcome, JNode condition, Arena *arena)
{
    Ready ready = {
        .status = arena_node(arena, jnode_at(condition, "status")),
        .reason = arena_node(arena, jnode_at(condition, "reason")),
        .message = arena_node(arena, jnode_at(condition, "message")),
    };
    int64_t since;

    if (timefmt_parse(jnode_str(jnode_at(condition, "lastTransitionTime")), &since) == 0) {
        ready.since_wall_ns = since;
    }
    if (outcome->trouble && strcmp(ready.status, "True") != 0) {
        ready.message = arena_printf(arena, "%s; %s", ready.message, outcome->trouble);
    }
    return ready;
}

static Ready ready_decide(const ClaimOutcome *outcome, Arena *arena)
{
    JNode condition;

    if (outcome->fault.reason) {
        return READY_FALSE(outcome->fault.reason, outcome->fault.message);
    }
    if (outcome->expired) {
        return READY_FALSE(REASON_CLAIM_EXPIRED, "Claim expired. Sandbox cleanup initiated.");
    }
    if (!outcome->sandbox && outcome->created.ptr) {
        return READY_FALSE(REASON_SANDBOX_NOT_READY, "Sandbox is not ready");
    }
    if (!outcome->sandbox) {
        return READY_FALSE(REASON_SANDBOX_MISSING, "Sandbox does not exist");
    }
    condition = kube_obj_condition(outcome->sandbox, STR("Ready"));
    if (str_eq(jnode_str(jnode_at(condition, "reason")), STR(REASON_SANDBOX_EXPIRED))) {
        return READY_FALSE(REASON_SANDBOX_EXPIRED,
                           "Underlying Sandbox resource has expired independently of the Claim.");
    }
    if (jnode_exists(condition)) {
        return ready_copy(outcome, condition, arena);
    }
    return READY_FALSE(REASON_SANDBOX_NOT_READY, "Sandbox is not ready");
}

/* Verbatim, its observedGeneration and lastTransitionTime included. */
static void finished_mirror(const ClaimOutcome *outcome, json_t *conditions)
{
    JNode condition = JNODE_ABSENT;
    json_t *old = kube_condition_find(conditions, "Finished");

    if (outcome->sandbox) {
        condition = kube_obj_condition(outcome->sandbox, STR("Finished"));
    } else if (outcome->expired || outcome->fault.reason) {
        return;
    }
    if (!jnode_exists(condition)) {
        kube_condition_remove(conditions, "Finished");
    } else if (old) {
        AUTO(json) json_t *now = jnode_to_jansson(condition);

        json_object_clear(old);
        json_object_update(old, now);
    } else {
        json_array_insert_new(conditions, 0, jnode_to_jansson(condition));
    }
}

/* By type: Finished, Ready. Others are dropped, as no claim has them. */
static json_t *conditions_sorted(json_t *conditions)
{
    static const char *const types[] = {"Finished", "Ready"};
    json_t *sorted = jx_array_new();

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        json_t *condition = kube_condition_find(conditions, types[i]);

        if (condition) {
            json_array_append(sorted, condition);
        }
    }
    return sorted;
}

/* NULL = none. */
static json_t *sandbox_ref(const ClaimOutcome *outcome, JNode old)
{
    json_t *ref;

    if (!outcome->sandbox && outcome->fault.reason && jnode_len(old) > 0) {
        return jnode_to_jansson(old);
    }
    if (!outcome->sandbox && !outcome->missing && !outcome->created.ptr) {
        return NULL;
    }
    ref = jx_object_new();
    if (outcome->sandbox) {
        JNode ips = jnode_at(kube_obj_status(outcome->sandbox), "podIPs");

        jx_set_str(ref, "name", outcome->sandbox->name);
        if (jnode_len(ips) > 0) {
            jx_set(ref, "podIPs", jnode_to_jansson(ips));
        }
    } else if (outcome->created.ptr) {
        jx_set_str(ref, "name", outcome->created);
    } else {
        /* The name stays: it says what is missing, and that the claim had it. */
        jx_set_str(ref, "name", jnode_str(jnode_at(old, "name")));
    }
    return ref;
}

static json_t *status_of(const ClaimOutcome *outcome, Arena *arena)
{
    JNode old = kube_obj_status(outcome->claim);
    AUTO(json) json_t *conditions = jnode_to_jansson(jnode_at(old, "conditions"));
    Ready ready = ready_decide(outcome, arena);
    KubeCondition condition = {
        .type = "Ready",
        .status = ready.status,
        .reason = ready.reason,
        .message = str_from(ready.message),
        .observed_generation = kube_obj_generation(outcome->claim),
    };
    json_t *status = jx_object_new();

    if (!json_is_array(conditions)) {
        json_decref(conditions);
        conditions = jx_array_new();
    }
    kube_condition_set(conditions, &condition,
                       ready.since_wall_ns ? ready.since_wall_ns : outcome->now_wall_ns);
    finished_mirror(outcome, conditions);
    jx_set(status, "conditions", conditions_sorted(conditions));
    jx_set(status, "sandbox", sandbox_ref(outcome, jnode_at(old, "sandbox")));
    return status;
}

/* What the claim has now, without an empty `sandbox`. */
static json_t *status_now(const KubeObj *claim)
{
    json_t *status = jx_object_new();
    JNode old = kube_obj_status(claim);

    if (jnode_len(jnode_at(old, "conditions")) > 0) {
        jx_set(status, "conditions", jnode_to_jansson(jnode_at(old, "conditions")));
    }
    if (jnode_len(jnode_at(old, "sandbox")) > 0) {
        jx_set(status, "sandbox", jnode_to_jansson(jnode_at(old, "sandbox")));
    }
    return status;
}

/* False -> False with other words is progress that may wait; everything else is news. */
static bool is_urgent(const json_t *patch, const KubeObj *claim, bool ready)
{
    return ready || json_object_get(patch, "sandbox") ||
           !kube_obj_condition_is(claim, STR("Ready"), STR("False"));
}

void claim_status_make(const ClaimOutcome *outcome, Arena *arena, ClaimStatus *ret_status)
{
    AUTO(json) json_t *now = status_now(outcome->claim);
    json_t *wanted = status_of(outcome, arena);
    json_t *patch = jx_merge_patch_make(now, wanted);
    json_t *conditions = json_object_get(wanted, "conditions");
    const json_t *ready = kube_condition_find(conditions, "Ready");

    *ret_status = (ClaimStatus){
        .status = wanted,
        .ready = str_eq(jx_get_str(ready, "status"), STR("True")),
        .was_ready = kube_obj_condition_is(outcome->claim, STR("Ready"), STR("True")),
    };
    if (patch) {
        ret_status->urgent = is_urgent(patch, outcome->claim, ret_status->ready) ||
                             outcome->fault.reason || outcome->expired || outcome->missing;
        ret_status->patch = jx_object_new();
        jx_set(ret_status->patch, "status", patch);
    }
}

void claim_status_deinit(ClaimStatus *status)
{
    json_decref(status->status);
    json_decref(status->patch);
    *status = (ClaimStatus){0};
}

const json_t *claim_status_finished(const ClaimStatus *status)
{
    return kube_condition_find(json_object_get(status->status, "conditions"), "Finished");
}
