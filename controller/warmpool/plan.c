/* SPDX-License-Identifier: Apache-2.0 */
/* controller/warmpool/plan.c
 *
 * The plan of a pool. Stage 1: new members, and those that go. Stage 2: status, with the numbers
 * that stage 1 leads to, so that a refill is told once and not twice. All of it has low priority: a
 * claim that waits is always more urgent than a member that nobody waits for.
 *
 * Nothing is counted in memory. Members made under names that follow from slots are found again by
 * those names, so a create whose answer was lost is repeated, not doubled. Deletes are bound to the
 * version that was judged, so a member that was claimed meanwhile is not deleted.
 */
#include "base/clock.h"
#include "controller/blueprint/gate.h"
#include "controller/engine/reconciler.h"
#include "controller/keys.h"
#include "controller/warmpool/census.h"
#include "controller/warmpool/member.h"
#include "controller/warmpool/pools.h"
#include "controller/warmpool/scale.h"
#include "controller/warmpool/status.h"
#include "controller/warmpool/warmpool.h"
#include "kube/meta.h"

/* A member that was claimed is not replaced sooner than this: in a burst the claims go first. */
#define POOL_YIELD_NS (100 * NS_PER_MS)

typedef struct PoolPass {
    const View *view;
    const KubeObj *pool;
    Arena *arena;
    Plan *plan;
    const KubeObj *template; /* NULL = gone */
    const TemplateFacts *facts;
    bool recreate;
    bool failed; /* something of this pass was refused: only tell the numbers */
    PoolCensus census;
} PoolPass;

static void delete_plan(PoolPass *pass, const KubeObj *member)
{
    PlanAction *action;

    if (view_reserved_by(pass->view, member->uid).ptr) {
        return;
    }
    action = plan_delete(pass->plan, member);
    plan_if_rv(pass->plan, action, member->rv_text);
    action->priority = KUBE_PRIO_LOW;
}

/* Takes in Sandboxes that lost their pool, as many as are missing. Returns how many. */
static size_t adopt_plan(PoolPass *pass, size_t n)
{
    size_t done = 0;

    for (; done < n && done < pass->census.n_orphans; done++) {
        const KubeObj *orphan = pass->census.orphans[done];
        json_t *patch = NULL;
        PlanAction *action;

        kube_patch_label(&patch, LABEL_LAUNCH_TYPE, STR(LAUNCH_TYPE_WARM));
        jx_append(jx_arr(patch, "metadata", "ownerReferences"), kube_meta_owner_ref(pass->pool));
        action = plan_patch(pass->plan, orphan, patch);
        plan_if_rv(pass->plan, action, orphan->rv_text);
        action->priority = KUBE_PRIO_LOW;
    }
    return done;
}

/* A claim took a member while others are ready: its successor gives way to the claims that come
 * with it, and --sandbox-warm-pool-replenish-delay may ask for more. Never for a pool that is being
 * made, scaled, or has nothing ready. */
static uint64_t refill_delay(const PoolPass *pass)
{
    JNode status = kube_obj_status(pass->pool);
    uint64_t asked = (uint64_t)pass->view->options->pool_replenish_delay_ns;

    if (pass->census.n_ready == 0 ||
        jnode_i64(jnode_at(status, "observedGeneration"), 0) != kube_obj_generation(pass->pool)) {
        return 0;
    }
    return asked > POOL_YIELD_NS ? asked : POOL_YIELD_NS;
}

/* What --sandbox-warm-pool-max-refill-rate leaves of `n`: members made within the time in which the
 * rate fills its bucket (a second, or one member) count against it. */
static size_t refill_allowed(PoolPass *pass, size_t n)
{
    double rate = pass->view->options->pool_refill_rate_max;
    double bucket = rate > 1 ? rate : 1;
    int64_t window_ns = rate > 0 ? (int64_t)(bucket / rate * (double)NS_PER_S) : 0;
    size_t recent;

    if (rate <= 0) {
        return n;
    }
    recent =
        pool_census_created_since(pass->view, &pass->census, pass->view->now_wall_ns - window_ns);
    if (n + recent > (size_t)bucket) {
        plan_requeue_at(pass->plan, pass->view->now_wall_ns + window_ns);
        n = recent < (size_t)bucket ? (size_t)bucket - recent : 0;
    }
    return n;
}

static void create_plan(PoolPass *pass, size_t n)
{
    uint64_t delay_ns = refill_delay(pass);
    uint64_t slot = pools_next_slot(pass->view->pools, pass->pool);
    char name[MEMBER_NAME_MAX + 1];
    PlanAction *action;

    for (; n > 0; slot++) {
        member_name(pass->pool->name, pass->pool->uid, slot, name);
        if (view_get(pass->view, KUBE_SANDBOX, pass->pool->ns, str_from(name))) {
            continue;
        }
        action = plan_create(pass->plan, KUBE_SANDBOX, pass->pool->ns, str_from(name),
                             member_build(pass->pool, pass->template, pass->facts, str_from(name)));
        action->priority = KUBE_PRIO_LOW;
        action->coalesce_ns = delay_ns;
        n--;
    }
}

/* Returns how many members there will be more. */
static size_t refill_plan(PoolPass *pass, size_t n)
{
    const char *policy = NULL;
    size_t adopted;

    if (n == 0 || !pass->template || pass->failed ||
        !template_gate_is_open(pass->view, pass->template, pass->facts, pass->arena, &policy)) {
        return 0;
    }
    n = refill_allowed(pass, n);
    adopted = adopt_plan(pass, n);
    create_plan(pass, n - adopted);
    return n;
}

static ScaleDecision decide(const PoolPass *pass)
{
    const PoolCensus *census = &pass->census;
    const ScaleInput in = {
        .desired = pool_desired(pass->pool),
        .fresh = census->n_active - census->n_stale_ready - census->n_stale_unready,
        .fresh_ready = census->n_ready - census->n_stale_ready,
        .stale_ready = census->n_stale_ready,
        .stale_unready = census->n_stale_unready,
        .terminating = census->n_terminating + census->n_stuck,
        .batch_max = (size_t)pass->view->options->pool_batch_max,
    };

    return scale_decide(&in);
}

static void give_up_plan(PoolPass *pass, bool stale, size_t n)
{
    const KubeObj **members;

    if (n > 0) {
        n = pool_census_give_up(pass->view, &pass->census, stale, n, pass->arena, &members);
        for (size_t i = 0; i < n; i++) {
            delete_plan(pass, members[i]);
        }
    }
}

static void shrink_plan(PoolPass *pass, ScaleDecision decision)
{
    if (pass->failed) {
        return;
    }
    give_up_plan(pass, true, decision.delete_stale);
    give_up_plan(pass, false, decision.delete_fresh);
    for (size_t i = 0; i < pass->census.n_stuck; i++) {
        delete_plan(pass, pass->census.stuck[i]);
    }
}

static void status_plan(PoolPass *pass, size_t replicas)
{
    const PoolNumbers numbers = {
        .replicas = replicas,
        .ready = pass->census.n_ready,
        .lost = pass->census.n_lost,
        .lean = options_are_lean(pass->view->options),
    };
    uint64_t wait_ns = 0;
    json_t *patch = pool_status_patch(pass->pool, &numbers, &wait_ns);
    PlanAction *action;

    if (!patch) {
        return;
    }
    action = plan_patch_status(pass->plan, pass->pool, patch);
    /* Numbers that follow from another state of the world overwrite nobody's: two leaders that
     * overlap would contradict each other as fast as they can write. */
    plan_if_rv(pass->plan, action, pass->pool->rv_text);
    action->priority = KUBE_PRIO_LOW;
    action->coalesce_ns = wait_ns;
}

/* Members that wait for room or a gate: an Event when that begins, and one when it ends. Both
 * follow from the objects' own times, so a restart repeats nothing; passes within the interval say
 * the same, and the recorder folds them into one. */
static void progress_plan(PoolPass *pass)
{
    PlanAction *event;

    plan_next_stage(pass->plan);
    if (pass->census.n_held_lately > 0) {
        event = plan_event(pass->plan, pass->pool, "WarmPoolNotProgressing", "Reconciling",
                           "Members cannot be scheduled or started; waiting for them");
        event->warning = true;
        event->optional = true;
    } else if (pass->census.n_held == 0 && pass->census.n_freed_lately > 0) {
        event = plan_event(pass->plan, pass->pool, "WarmPoolProgressing", "Reconciling",
                           "No member waits to be scheduled or started any more");
        event->optional = true;
    }
}

static void requeue_plan(PoolPass *pass)
{
    if (pass->census.look_at_ns != 0) {
        plan_requeue_at(pass->plan, pass->census.look_at_ns);
    }
    if (pass->census.n_held > 0) {
        plan_requeue_at(pass->plan, pass->view->now_wall_ns +
                                        pass->view->options->pool_unschedulable_recheck_ns);
    }
}

void warmpool_plan(const View *view, KubeKey key, Arena *arena, Plan *plan)
{
    PoolPass pass = {.view = view,
                     .pool = view_get(view, KUBE_WARMPOOL, key.ns, key.name),
                     .arena = arena,
                     .plan = plan};
    const ViewFailure *failures;
    ScaleDecision decision;
    size_t more;
    JNode spec;

    if (!pass.pool || kube_obj_deleting(pass.pool)) {
        return;
    }
    spec = kube_obj_spec(pass.pool);
    pass.template = view_get(view, KUBE_TEMPLATE, key.ns,
                             jnode_str(jnode_at(spec, "sandboxTemplateRef", "name")));
    if (pass.template) {
        pass.facts = template_cache_get(pools_templates(view->pools), pass.template);
    }
    pass.recreate = str_eq(jnode_str(jnode_at(spec, "updateStrategy", "type")), STR("Recreate"));
    pass.failed = view_failures(view, &failures) > 0;
    pool_census(view, pass.pool, pass.template, pass.recreate, arena, &pass.census);
    decision = decide(&pass);
    plan->reason = decision.create > 0 ? "refill" : "members";
    more = refill_plan(&pass, decision.create);
    shrink_plan(&pass, decision);
    plan_next_stage(plan);
    status_plan(&pass, pass.census.n_active + more);
    progress_plan(&pass);
    requeue_plan(&pass);
}
