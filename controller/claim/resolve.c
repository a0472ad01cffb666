/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/resolve.c
 *
 * Which Sandbox a claim has or gets. In order: the one it controls (an adoption that a crash cut
 * short is found here), the member it was assigned, a free member, a new one. The owner reference
 * is the record; an assignment whose Sandbox is not owned is only a preference.
 */
#include "base/clock.h"
#include "controller/blueprint/gate.h"
#include "controller/blueprint/podmeta.h"
#include "controller/claim/adopt.h"
#include "controller/claim/pass.h"
#include "controller/engine/facts.h"
#include "controller/keys.h"
#include "controller/warmpool/pools.h"

Str claim_bound_name(const KubeObj *claim)
{
    Str name = jnode_str(jnode_at(kube_obj_status(claim), "sandbox", "name"));

    return name.len > 0 ? name : STR_NULL;
}

Str claim_assigned_name(const KubeObj *claim)
{
    Str name = kube_obj_annotation(claim, STR(ANNOTATION_SANDBOX_NAME));

    if (name.len == 0) {
        name = kube_obj_label(claim, STR(LABEL_SANDBOX_NAME));
    }
    return name.len > 0 ? name : STR_NULL;
}

static bool may_be_bound_again(const KubeObj *claim)
{
    return str_eq(kube_obj_annotation(claim, STR(ANNOTATION_REBIND)), STR("true"));
}

/* How strongly the claim holds on to this Sandbox of its own. */
static int sandbox_rank(const KubeObj *claim, const KubeObj *sandbox)
{
    if (str_eq(sandbox->name, claim_bound_name(claim))) {
        return 3;
    }
    if (str_eq(sandbox->name, claim_assigned_name(claim))) {
        return 2;
    }
    return str_eq(sandbox->name, claim->name) ? 1 : 0;
}

const KubeObj *claim_find_sandbox(const View *view, const KubeObj *claim, Arena *arena,
                                  const KubeObj ***ret_extra, size_t *ret_n_extra)
{
    const KubeObj **owned;
    size_t n = view_list(view, VIEW_SANDBOXES_BY_OWNER, claim->ns, claim->uid, arena, &owned);
    size_t best = 0;
    const KubeObj *found;

    if (n == 0) {
        *ret_n_extra = 0;
        return NULL;
    }
    for (size_t i = 1; i < n; i++) {
        if (sandbox_rank(claim, owned[i]) > sandbox_rank(claim, owned[best])) {
            best = i;
        }
    }
    /* Clients were told of one Sandbox: no other takes its place, wherever it comes from. */
    if (claim_bound_name(claim).ptr && !may_be_bound_again(claim) &&
        !str_eq(owned[best]->name, claim_bound_name(claim))) {
        *ret_extra = owned;
        *ret_n_extra = n;
        return NULL;
    }
    found = owned[best];
    owned[best] = owned[0];
    *ret_extra = owned + 1;
    *ret_n_extra = n - 1;
    return found;
}

/* True when the API server itself has said in this pass that the object is not there. Asks it
 * otherwise: reasons that end a client's wait are never written on a cache's word. */
static bool confirmed_absent(ClaimPass *pass, KubeKindId kind, Str name)
{
    if (pass->view->facts && facts_read(pass->view->facts, kind, pass->claim->ns, name)) {
        return true;
    }
    plan_read(pass->plan, kind, pass->claim->ns, name);
    pass->waiting = true;
    return false;
}

static void pool_and_template_get(ClaimPass *pass)
{
    Str pool = jnode_str(jnode_at(kube_obj_spec(pass->claim), "warmPoolRef", "name"));
    Str template;

    pass->pool = view_get(pass->view, KUBE_WARMPOOL, pass->claim->ns, pool);
    if (!pass->pool) {
        return;
    }
    template = jnode_str(jnode_at(kube_obj_spec(pass->pool), "sandboxTemplateRef", "name"));
    pass->template = view_get(pass->view, KUBE_TEMPLATE, pass->claim->ns, template);
    if (pass->template) {
        pass->facts = template_cache_get(pools_templates(pass->view->pools), pass->template);
    }
}

/* 0 when both are there; otherwise a fault or waiting is set. */
static int pool_and_template_need(ClaimPass *pass)
{
    Str name = jnode_str(jnode_at(kube_obj_spec(pass->claim), "warmPoolRef", "name"));
    const char *reason = REASON_POOL_NOT_FOUND;
    KubeKindId kind = KUBE_WARMPOOL;

    pool_and_template_get(pass);
    if (pass->template) {
        return 0;
    }
    if (pass->pool) {
        name = jnode_str(jnode_at(kube_obj_spec(pass->pool), "sandboxTemplateRef", "name"));
        reason = REASON_TEMPLATE_NOT_FOUND;
        kind = KUBE_TEMPLATE;
    }
    if (confirmed_absent(pass, kind, name)) {
        (void)claim_fault(pass->arena, &pass->fault, reason, "%s \"" STR_FMT "\" not found",
                          kube_kind(kind)->kind, STR_ARG(name));
        plan_requeue_at(pass->plan, pass->view->now_wall_ns + CLAIM_NOT_FOUND_RETRY_NS);
    }
    return CLAIM_E_FAULT;
}

/* The assigned member when it still can be taken, else what the pool has. */
static PoolPick member_pick(ClaimPass *pass)
{
    Str strategy = jnode_str(jnode_at(kube_obj_spec(pass->pool), "updateStrategy", "type"));
    bool recreate = str_eq(strategy, STR("Recreate"));
    Str assigned = claim_assigned_name(pass->claim);
    const KubeObj *member =
        assigned.ptr ? view_get(pass->view, KUBE_SANDBOX, pass->claim->ns, assigned) : NULL;
    KubeOwner owner;

    if (member && pools_is_adoptable(member, &owner) && str_eq(owner.uid, pass->pool->uid) &&
        !view_reserved_by(pass->view, member->uid).ptr &&
        !(recreate &&
          template_cache_is_stale(pools_templates(pass->view->pools), pass->template, member))) {
        pass->member = member;
        return POOL_PICK_READY;
    }
    return pools_pick(pass->view, pass->pool, recreate ? pass->template : NULL, &pass->member);
}

static bool wants_own_sandbox(const ClaimPass *pass)
{
    return json_array_size(json_object_get(pass->spec, "env")) > 0 ||
           json_array_size(json_object_get(pass->spec, "volumeClaimTemplates")) > 0;
}

/* Members are on their way, and the claim is young enough to wait for one. */
static bool may_wait(ClaimPass *pass)
{
    int64_t now = pass->view->now_wall_ns;
    int64_t until =
        kube_obj_created_ns(pass->claim) + pass->view->options->claim_candidate_grace_ns;

    if (now >= until) {
        return false;
    }
    plan_requeue_at(pass->plan, until < now + CLAIM_POLL_NS ? until : now + CLAIM_POLL_NS);
    pass->waiting = true;
    return true;
}

/* What the API server said to our last try in this pass. The executor shows only what is worth
 * telling: refusals, and transient failures that do not go away. */
static bool failure_is_fault(ClaimPass *pass, PlanVerb verb, Str name)
{
    const ViewFailure *failure =
        view_failure(pass->view, verb, KUBE_SANDBOX, pass->claim->ns, name);
    bool invalid = failure && failure->error.reason == KUBE_REASON_INVALID;

    if (!failure) {
        return false;
    }
    (void)claim_fault(pass->arena, &pass->fault,
                      invalid ? REASON_INVALID_CONFIGURATION : REASON_RECONCILER_ERROR, "%s%s",
                      invalid ? "" : "Error seen: ", failure->error.msg);
    return true;
}

/* Code never starts before the policy that confines it is there. */
static bool policy_is_in_place(ClaimPass *pass)
{
    const char *name = NULL;

    if (template_gate_is_open(pass->view, pass->template, pass->facts, pass->arena, &name)) {
        return true;
    }
    (void)claim_fault(pass->arena, &pass->fault, REASON_SANDBOX_NOT_READY,
                      "Waiting for NetworkPolicy \"%s\"", name);
    return false;
}

static void cold_start(ClaimPass *pass)
{
    if (failure_is_fault(pass, PLAN_CREATE, pass->claim->name) || !policy_is_in_place(pass)) {
        return;
    }
    (void)claim_sandbox_build(pass->claim, pass->template, pass->facts, pass->arena, &pass->created,
                              &pass->fault);
}

/* Metadata first: a member is not chosen for a claim that could not keep it. */
static int metadata_check(ClaimPass *pass)
{
    const char *text = NULL;

    if (podmeta_validate(pass->additional, pass->view->options->label_domains,
                         pass->view->options->n_label_domains, pass->arena, &text) != 0) {
        return claim_fault(pass->arena, &pass->fault, REASON_INVALID_METADATA,
                           "invalid additionalPodMetadata: %s", text);
    }
    return 0;
}

/* Metadata of the Sandbox's podTemplate as pod_metadata. */
static int metadata_make(ClaimPass *pass, const KubeObj *sandbox)
{
    AUTO(json)
    json_t *current = jnode_to_jansson(jnode_at(kube_obj_spec(sandbox), "podTemplate", "metadata"));

    return claim_pod_metadata(pass->facts, pass->additional, current, pass->arena,
                              &pass->pod_metadata, &pass->fault);
}

/* Bound before, and the Sandbox is gone. Data may have gone with it, so the claim says so instead
 * of quietly becoming another sandbox. */
static bool is_missing(ClaimPass *pass)
{
    Str bound = claim_bound_name(pass->claim);
    const KubeObj *other;

    if (!bound.ptr || may_be_bound_again(pass->claim)) {
        return false;
    }
    other = view_get(pass->view, KUBE_SANDBOX, pass->claim->ns, bound);
    pass->missing = other || confirmed_absent(pass, KUBE_SANDBOX, bound);
    return true;
}

/* A Sandbox with the claim's own name that somebody else controls. */
static bool name_is_taken(ClaimPass *pass)
{
    const KubeObj *other = view_get(pass->view, KUBE_SANDBOX, pass->claim->ns, pass->claim->name);

    if (!other || kube_obj_controlled_by(other, pass->claim->uid)) {
        return false;
    }
    pass->fault.reason = REASON_RECONCILER_ERROR;
    pass->fault.message =
        arena_printf(pass->arena,
                     "Error seen: sandbox \"" STR_FMT "\" is not controlled by claim \"" STR_FMT
                     "\". Please use a different claim name or delete the sandbox manually",
                     STR_ARG(pass->claim->name), STR_ARG(pass->claim->name));
    return true;
}

void claim_resolve(ClaimPass *pass)
{
    PoolPick pick = POOL_PICK_NONE;

    if (metadata_check(pass) != 0 || is_missing(pass) || name_is_taken(pass) ||
        pool_and_template_need(pass) != 0) {
        return;
    }
    if (!wants_own_sandbox(pass)) {
        AUTO(json) json_t *probe = NULL;

        if (claim_pod_metadata(pass->facts, pass->additional, NULL, pass->arena, &probe,
                               &pass->fault) != 0) {
            return;
        }
        pick = member_pick(pass);
    }
    if (pass->member) {
        if (failure_is_fault(pass, PLAN_PATCH, pass->member->name)) {
            pass->member = NULL;
            return;
        }
        (void)metadata_make(pass, pass->member);
        return;
    }
    if (pick == POOL_PICK_PENDING && may_wait(pass)) {
        return;
    }
    cold_start(pass);
}

void claim_resolve_bound(ClaimPass *pass)
{
    Str ref_hash = kube_obj_label(pass->sandbox, STR(LABEL_TEMPLATE_REF_HASH));

    if (metadata_check(pass) != 0) {
        return;
    }
    pool_and_template_get(pass);
    if (pass->facts && str_eq(ref_hash, str_from(pass->facts->ref_hash))) {
        (void)metadata_make(pass, pass->sandbox);
    }
}
