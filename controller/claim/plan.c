/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/plan.c
 *
 * The plan of a claim. Stages of a warm claim: (1) compare-and-swap on the member, with the claim's
 * metadata beside it; (2) the claim's status, bound to the version that stage 1 returned; (3) the
 * event. The Pod's label is taken off by the Sandbox's own reconciler, which the swap wakes, at the
 * same time as stage 2. A cold start differs only in stage 1, which creates.
 *
 * The claim is written only as it was seen: a leader whose cache is behind finds out before it
 * exchanges a binding.
 *
 * A crash between any two writes leaves a state from which the next pass goes on: the owner
 * reference on the Sandbox is the record, the rest is derived from it.
 */
#include "base/clock.h"
#include "base/timefmt.h"
#include "controller/claim/adopt.h"
#include "controller/claim/claim.h"
#include "controller/claim/expiry.h"
#include "controller/claim/pass.h"
#include "controller/claim/trouble.h"
#include "controller/engine/facts.h"
#include "controller/keys.h"
#include "kube/meta.h"

/* ---- metadata of the claim ---- */

static bool has_annotation(const KubeObj *obj, const char *key)
{
    return kube_obj_annotation(obj, str_from(key)).ptr != NULL;
}

static void annotate_now(const ClaimPass *pass, json_t **patch, const char *key)
{
    char text[TIMEFMT_SIZE];

    timefmt_nanos(pass->view->now_wall_ns, text);
    kube_patch_annotation(patch, key, str_from(text));
}

/* A trace begins here: the claim and its Sandbox remember it, on writes that are made anyway. */
static bool begins_trace(const ClaimPass *pass)
{
    return pass->view->trace_context.len > 0 &&
           !has_annotation(pass->claim, ANNOTATION_TRACE_CONTEXT);
}

/* The Sandbox that the assignment has to name: only members of a pool are assigned. */
static Str assignment_wanted(const ClaimPass *pass)
{
    if (pass->member) {
        return pass->member->name;
    }
    if (pass->sandbox && claim_sandbox_is_warm(pass->sandbox, pass->claim)) {
        return pass->sandbox->name;
    }
    return STR_NULL;
}

static void assignment_patch(const ClaimPass *pass, json_t **patch)
{
    Str wanted = assignment_wanted(pass);
    Str now = kube_obj_annotation(pass->claim, STR(ANNOTATION_SANDBOX_NAME));

    if (wanted.ptr && !str_eq(now, wanted)) {
        kube_patch_annotation(patch, ANNOTATION_SANDBOX_NAME, wanted);
    } else if (!wanted.ptr && now.ptr && (pass->created || pass->sandbox)) {
        kube_patch_annotation(patch, ANNOTATION_SANDBOX_NAME, STR_NULL);
    }
    if (kube_obj_label(pass->claim, STR(LABEL_SANDBOX_NAME)).ptr &&
        (pass->member || pass->created || pass->sandbox)) {
        kube_patch_label(patch, LABEL_SANDBOX_NAME, STR_NULL);
    }
}

/* When the claim became ready, beside or before the status that says so: a crash in between loses a
 * measurement and never takes it twice. */
static void first_ready_patch(const ClaimPass *pass, const ClaimStatus *status, json_t **patch)
{
    if (!status->ready || has_annotation(pass->claim, ANNOTATION_CLAIM_FIRST_READY)) {
        return;
    }
    if (status->was_ready) {
        kube_patch_annotation(patch, ANNOTATION_CLAIM_FIRST_READY, STR("unknown"));
    } else {
        annotate_now(pass, patch, ANNOTATION_CLAIM_FIRST_READY);
    }
}

/* All that changes in the claim's metadata, as one write; NULL = nothing. Without observability
 * annotations only the write that is needed anyway carries them. */
static json_t *claim_metadata_patch(const ClaimPass *pass, const ClaimStatus *status)
{
    bool quiet = pass->view->options->disable_claim_observability;
    json_t *patch = NULL;

    assignment_patch(pass, &patch);
    if (quiet && !patch) {
        return NULL;
    }
    if (!has_annotation(pass->claim, ANNOTATION_CONTROLLER_FIRST_OBSERVED)) {
        annotate_now(pass, &patch, ANNOTATION_CONTROLLER_FIRST_OBSERVED);
    }
    first_ready_patch(pass, status, &patch);
    if (patch && begins_trace(pass)) {
        kube_patch_annotation(&patch, ANNOTATION_TRACE_CONTEXT, pass->view->trace_context);
    }
    return patch;
}

/* ---- what the status is made of ---- */

static const char *pod_trouble(ClaimPass *pass, const KubeObj *sandbox)
{
    JNode ready = kube_obj_condition(sandbox, STR("Ready"));
    int64_t now = pass->view->now_wall_ns;
    int64_t since;
    const KubeObj *pod;

    if (!str_eq(jnode_str(jnode_at(ready, "reason")), STR("DependenciesNotReady")) ||
        timefmt_parse(jnode_str(jnode_at(ready, "lastTransitionTime")), &since) < 0) {
        return NULL;
    }
    if (now < since + CLAIM_TROUBLE_AFTER_NS) {
        plan_requeue_at(pass->plan, since + CLAIM_TROUBLE_AFTER_NS);
        return NULL;
    }
    plan_requeue_at(pass->plan, now + CLAIM_TROUBLE_AFTER_NS);
    pod = view_get(pass->view, KUBE_POD, sandbox->ns, sandbox->name);
    return pod && kube_obj_controlled_by(pod, sandbox->uid) ? claim_pod_trouble(pod, pass->arena)
                                                            : NULL;
}

static void outcome_make(ClaimPass *pass, ClaimStatus *ret_status)
{
    const KubeObj *sandbox = pass->sandbox ? pass->sandbox : pass->member;
    ClaimOutcome outcome = {
        .claim = pass->claim,
        .sandbox = sandbox,
        .created = pass->created ? pass->claim->name : STR_NULL,
        .fault = pass->fault,
        .missing = pass->missing,
        .trouble = sandbox && !pass->fault.reason ? pod_trouble(pass, sandbox) : NULL,
        .now_wall_ns = pass->view->now_wall_ns,
    };

    claim_status_make(&outcome, pass->arena, ret_status);
}

/* NULL when there is nothing to write. */
static const PlanAction *status_plan(ClaimPass *pass, ClaimStatus *status,
                                     const PlanAction *metadata)
{
    PlanAction *action;

    if (!status->patch) {
        return NULL;
    }
    action = plan_patch_status(pass->plan, pass->claim, TAKE(status->patch));
    action->priority = KUBE_PRIO_HIGH;
    if (metadata) {
        action->rv_of = metadata;
    } else {
        plan_if_rv(pass->plan, action, pass->claim->rv_text);
    }
    if (!status->urgent) {
        action->coalesce_ns = CLAIM_COALESCE_NS;
    }
    return action;
}

/* ---- the active claim ---- */

static void sandbox_actions(ClaimPass *pass)
{
    const KubeObj *target = pass->member ? pass->member : pass->sandbox;
    json_t *patch;
    PlanAction *action;

    if (pass->created) {
        if (begins_trace(pass)) {
            kube_meta_set_annotation(pass->created, ANNOTATION_TRACE_CONTEXT,
                                     pass->view->trace_context);
        }
        plan_create(pass->plan, KUBE_SANDBOX, pass->claim->ns, pass->claim->name,
                    TAKE(pass->created))
            ->priority = KUBE_PRIO_HIGH;
        return;
    }
    if (!target || kube_obj_deleting(target) || pass->fault.reason) {
        return;
    }
    patch = claim_sandbox_patch(target, pass->claim, pass->facts, pass->pod_metadata);
    if (!patch) {
        return;
    }
    if (pass->member && begins_trace(pass)) {
        kube_patch_annotation(&patch, ANNOTATION_TRACE_CONTEXT, pass->view->trace_context);
    }
    action = plan_patch(pass->plan, target, patch);
    action->priority = KUBE_PRIO_HIGH;
    if (pass->member) {
        plan_if_rv(pass->plan, action, pass->member->rv_text);
        plan_reserve(pass->plan, pass->member->uid);
    }
}

/* A ttl counts from the end of the Pod, and restartPolicy Always has none. */
static bool ttl_never_begins(const ClaimPass *pass)
{
    Str restart = jx_get_str(pass->facts->blueprint, "podTemplate", "spec", "restartPolicy");

    return jx_get(pass->spec, "lifecycle", "ttlSecondsAfterFinished") &&
           (restart.len == 0 || str_eq(restart, STR("Always")));
}

static void events_plan(ClaimPass *pass, bool created)
{
    if (pass->view->options->disable_claim_events) {
        return;
    }
    if (pass->member) {
        plan_event(pass->plan, pass->claim, "SandboxAdopted", "Adoption",
                   "Adopted warm pool Sandbox \"" STR_FMT "\"", STR_ARG(pass->member->name))
            ->optional = true;
    } else if (created) {
        plan_event(pass->plan, pass->claim, "SandboxProvisioned", "Provisioning",
                   "Created Sandbox \"" STR_FMT "\"", STR_ARG(pass->claim->name))
            ->optional = true;
    }
    if ((pass->member || created) && pass->facts && ttl_never_begins(pass)) {
        PlanAction *event = plan_event(
            pass->plan, pass->claim, "NeverFinishes", "Provisioning",
            "ttlSecondsAfterFinished has no effect: the template's Pods are restarted for ever "
            "(restartPolicy Always)");

        event->warning = true;
        event->optional = true;
    }
}

/* True when the claim becomes Ready for the first time. */
static bool samples_plan(ClaimPass *pass, const ClaimStatus *status)
{
    const KubeObj *sandbox = pass->sandbox ? pass->sandbox : pass->member;

    if (pass->member || pass->created) {
        claim_sample_created(pass);
        claim_sample_bound(pass);
    }
    if (sandbox && status->ready && !status->was_ready &&
        !has_annotation(pass->claim, ANNOTATION_CLAIM_FIRST_READY)) {
        claim_sample_ready(pass, sandbox);
        return true;
    }
    return false;
}

static void active_emit(ClaimPass *pass)
{
    AUTO(claim_status) ClaimStatus status = {0};
    const PlanAction *metadata = NULL;
    const PlanAction *told;
    bool created = pass->created != NULL;
    bool first_ready;
    json_t *patch;

    outcome_make(pass, &status);
    patch = claim_metadata_patch(pass, &status);
    first_ready = samples_plan(pass, &status);
    sandbox_actions(pass);
    if (patch) {
        PlanAction *action = plan_patch(pass->plan, pass->claim, patch);

        /* The status is bound to the reply: both to the claim that this plan has seen. */
        plan_if_rv(pass->plan, action, pass->claim->rv_text);
        action->priority = KUBE_PRIO_HIGH;
        metadata = action;
    }
    plan_next_stage(pass->plan);
    told = status_plan(pass, &status, metadata);
    if (first_ready && told) {
        claim_sample_told(pass, told->stage);
    }
    plan_next_stage(pass->plan);
    events_plan(pass, created);
}

/* Nothing to tell yet. The first sight of the claim is written down meanwhile, unless an answer is
 * about to come that will lead to a write anyway. */
static void waiting_emit(ClaimPass *pass)
{
    json_t *patch = NULL;

    if (pass->plan->n_actions == 0 && !pass->view->options->disable_claim_observability &&
        !has_annotation(pass->claim, ANNOTATION_CONTROLLER_FIRST_OBSERVED)) {
        annotate_now(pass, &patch, ANNOTATION_CONTROLLER_FIRST_OBSERVED);
        if (begins_trace(pass)) {
            kube_patch_annotation(&patch, ANNOTATION_TRACE_CONTEXT, pass->view->trace_context);
        }
        plan_patch(pass->plan, pass->claim, patch);
    }
}

static void active_plan(ClaimPass *pass)
{
    pass->plan->reason = "active";
    if (pass->sandbox) {
        claim_resolve_bound(pass);
    } else {
        claim_resolve(pass);
    }
    if (pass->waiting) {
        waiting_emit(pass);
    } else {
        active_emit(pass);
    }
}

/* ---- the expired claim ---- */

/* With Retain: the Sandbox that status names is somebody else's, so it is left alone. */
static void expired_fault(ClaimPass *pass)
{
    Str name = claim_bound_name(pass->claim);
    const KubeObj *other;

    name = name.ptr ? name : pass->claim->name;
    other = view_get(pass->view, KUBE_SANDBOX, pass->claim->ns, name);
    if (!pass->sandbox && other) {
        (void)claim_fault(pass->arena, &pass->fault, REASON_CLAIM_EXPIRED,
                          "Claim expired. sandbox \"" STR_FMT
                          "\" is not controlled by claim \"" STR_FMT
                          "\". Please use a different claim name or delete the sandbox manually; "
                          "deletion skipped.",
                          STR_ARG(name), STR_ARG(pass->claim->name));
    }
}

/* Retained long enough, when the administrator set a limit; asks to be woken before. */
static bool retention_is_over(ClaimPass *pass, int64_t expired_at)
{
    int64_t retention_ns = pass->view->options->expired_retention_ns;

    if (retention_ns == 0) {
        return false;
    }
    if (pass->view->now_wall_ns - expired_at < retention_ns) {
        plan_requeue_at(pass->plan, expired_at + retention_ns);
        return false;
    }
    return true;
}

/* told: the status that says so, NULL = written earlier. */
static void expired_delete(ClaimPass *pass, ClaimShutdown policy, int64_t expired_at,
                           const PlanAction *told)
{
    PlanAction *action;

    if (policy == CLAIM_RETAIN && !retention_is_over(pass, expired_at)) {
        if (pass->sandbox && !kube_obj_deleting(pass->sandbox)) {
            plan_delete(pass->plan, pass->sandbox);
        }
        return;
    }
    if (!pass->view->options->disable_claim_events) {
        plan_event(pass->plan, pass->claim, REASON_CLAIM_EXPIRED, "Deleting",
                   "Deleting Claim (ShutdownPolicy=%s)", claim_shutdown_name(policy))
            ->optional = true;
    }
    /* Not one whose time was prolonged at the last moment. */
    action = plan_delete(pass->plan, pass->claim);
    if (told) {
        action->rv_of = told;
    } else {
        plan_if_rv(pass->plan, action, pass->claim->rv_text);
    }
    action->foreground = policy == CLAIM_DELETE_FOREGROUND;
}

/* The mark in the status comes before anything is deleted. */
static void expired_plan(ClaimPass *pass, int64_t expired_at)
{
    ClaimShutdown policy = claim_shutdown_policy(kube_obj_spec(pass->claim));
    JNode ready = kube_obj_condition(pass->claim, STR("Ready"));
    bool marked = str_eq(jnode_str(jnode_at(ready, "reason")), STR(REASON_CLAIM_EXPIRED));
    AUTO(claim_status) ClaimStatus status = {0};
    ClaimOutcome outcome = {
        .claim = pass->claim,
        .sandbox = pass->sandbox,
        .expired = true,
        .now_wall_ns = pass->view->now_wall_ns,
    };
    const PlanAction *told;

    pass->plan->reason = "expired";
    if (policy == CLAIM_RETAIN) {
        expired_fault(pass);
        outcome.fault = pass->fault;
    }
    claim_status_make(&outcome, pass->arena, &status);
    told = status_plan(pass, &status, NULL);
    plan_next_stage(pass->plan);
    if (!marked && !pass->view->options->disable_claim_events) {
        plan_event(pass->plan, pass->claim, REASON_CLAIM_EXPIRED, "Claim Expired", "Claim expired")
            ->optional = true;
    }
    expired_delete(pass, policy, expired_at, told);
}

/* Judged with the Finished condition that this pass will write: a ttl of zero ends at once. */
static int64_t expires_at(ClaimPass *pass)
{
    AUTO(claim_status) ClaimStatus status = {0};
    ClaimOutcome outcome = {
        .claim = pass->claim,
        .sandbox = pass->sandbox,
        .expired = !pass->sandbox, /* keeps a Finished that outlived its Sandbox */
        .now_wall_ns = pass->view->now_wall_ns,
    };

    if (!jnode_exists(jnode_at(kube_obj_spec(pass->claim), "lifecycle"))) {
        return 0;
    }
    claim_status_make(&outcome, pass->arena, &status);
    return claim_expires_at(kube_obj_spec(pass->claim), claim_status_finished(&status));
}

/* ---- entry ---- */

/* Policies that were once made per claim; templates have them now. */
static void legacy_policy_plan(ClaimPass *pass)
{
    const char *name =
        arena_printf(pass->arena, STR_FMT "-network-policy", STR_ARG(pass->claim->name));
    const KubeObj *policy = view_get(pass->view, KUBE_NETPOL, pass->claim->ns, str_from(name));

    if (policy && kube_obj_controlled_by(policy, pass->claim->uid) && !kube_obj_deleting(policy)) {
        plan_delete(pass->plan, policy)->optional = true;
    }
}

/* Sandboxes that the claim got besides its own, from a controller that did not know of the first.
 * Nobody was ever told their names. They go before anything else, lest one of them be taken for the
 * claim's own after a crash. Which is the extra one says the claim as the API server has it: one
 * from an old cache may not know which Sandbox was told to clients. False: it is asked first. */
static bool extras_plan(ClaimPass *pass, const KubeObj **extra, size_t n_extra)
{
    const Facts *facts = pass->view->facts;

    for (size_t i = 0; i < n_extra; i++) {
        if (kube_obj_deleting(extra[i])) {
            continue;
        }
        if (!facts || !facts_read(facts, KUBE_CLAIM, pass->claim->ns, pass->claim->name)) {
            plan_read(pass->plan, KUBE_CLAIM, pass->claim->ns, pass->claim->name);
            return false;
        }
        /* As it was seen: somebody may have taken it from the claim since. */
        plan_if_rv(pass->plan, plan_delete(pass->plan, extra[i]), extra[i]->rv_text);
    }
    plan_next_stage(pass->plan);
    return true;
}

void claim_plan(const View *view, KubeKey key, Arena *arena, Plan *plan)
{
    const KubeObj *claim = view_get(view, KUBE_CLAIM, key.ns, key.name);
    AUTO(json) json_t *spec = claim ? jnode_to_jansson(kube_obj_spec(claim)) : NULL;
    ClaimPass pass = {.view = view, .claim = claim, .arena = arena, .plan = plan, .spec = spec};
    const KubeObj **extra = NULL;
    size_t n_extra = 0;
    int64_t at;

    if (!claim || kube_obj_deleting(claim)) {
        return;
    }
    pass.additional = json_object_get(spec, "additionalPodMetadata");
    pass.sandbox = claim_find_sandbox(view, claim, arena, &extra, &n_extra);
    if (!extras_plan(&pass, extra, n_extra)) {
        return;
    }
    legacy_policy_plan(&pass);
    at = expires_at(&pass);
    if (at != 0 && view->now_wall_ns >= at) {
        expired_plan(&pass, at);
    } else {
        active_plan(&pass);
        if (at != 0) {
            plan_requeue_at(plan, at);
        }
    }
    json_decref(pass.created);
    json_decref(pass.pod_metadata);
}
