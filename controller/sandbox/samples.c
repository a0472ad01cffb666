/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a change of status means for the counters: suspends, resumes, ends, expiries and start-up
 * times. Everything is read from the conditions before and after the write, so nothing is counted
 * twice over restarts, hand-overs and flapping probes. Times of conditions are whole seconds.
 *
 * The first status write gives Ready and Suspended the same lastTransitionTime. As long as they are
 * equal the Sandbox has never been Ready; a resume leaves Suspended's the later one.
 */
#include "base/timefmt.h"
#include "controller/engine/meters.h"
#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

typedef struct Change {
    const json_t *ready[2]; /* before, after; NULL = no such condition */
    const json_t *suspended[2];
    const json_t *finished[2];
} Change;

static const json_t *find(const json_t *status, const char *type)
{
    json_t *conditions = json_object_get(status, "conditions");

    return conditions ? kube_condition_find(conditions, type) : NULL;
}

static bool is_status(const json_t *condition, const char *status)
{
    return condition && str_eq(jx_get_str(condition, "status"), str_from(status));
}

static bool has_reason(const json_t *condition, const char *reason)
{
    return condition && str_eq(jx_get_str(condition, "reason"), str_from(reason));
}

static bool becomes(const json_t *const pair[2], const char *reason)
{
    return has_reason(pair[1], reason) && !has_reason(pair[0], reason);
}

/* Wall time of the last transition, 0 when there is none. */
static int64_t since(const json_t *condition)
{
    int64_t at = 0;

    if (!condition || timefmt_parse(jx_get_str(condition, "lastTransitionTime"), &at) < 0) {
        return 0;
    }
    return at;
}

static Str owned_by(const SandboxPass *pass)
{
    return pass->owner == SANDBOX_BY_CLAIM  ? STR(KIND_SANDBOX_CLAIM)
           : pass->owner == SANDBOX_BY_POOL ? STR(KIND_SANDBOX_WARM_POOL)
                                            : STR("None");
}

static Str template_of(const SandboxPass *pass, const char *otherwise)
{
    Str name = kube_obj_annotation(pass->sandbox, STR(ANNOTATION_TEMPLATE_REF));

    return name.len > 0 ? name : str_from(otherwise);
}

/* last: the label after namespace, sandbox_template and owned_by. */
static void count(SandboxPass *pass, MeterId meter, const char *last)
{
    const Str labels[] = {pass->sandbox->ns, template_of(pass, "unknown"), owned_by(pass),
                          str_from(last)};

    plan_sample(pass->plan, meter, 1, labels, ARRAY_LEN(labels));
}

static void measure(SandboxPass *pass, MeterId meter, int64_t since_wall_ns)
{
    const Str labels[] = {pass->sandbox->ns, template_of(pass, "unknown"), owned_by(pass)};

    if (since_wall_ns != 0 && since_wall_ns <= pass->view->now_wall_ns) {
        plan_sample_since(pass->plan, meter, since_wall_ns, labels, ARRAY_LEN(labels));
    }
}

static void samples_suspend(SandboxPass *pass, const Change *change)
{
    if (!pass->suspended) {
        return;
    }
    if (has_reason(change->suspended[0], "NotSuspended") &&
        !has_reason(change->suspended[1], "NotSuspended")) {
        count(pass, METER_SUSPEND_TOTAL, "requested");
    }
    if (change->suspended[0] && !is_status(change->suspended[0], "True") &&
        is_status(change->suspended[1], "True")) {
        count(pass, METER_SUSPEND_TOTAL, "pod_terminated");
        measure(pass, METER_SUSPEND_MS, since(change->ready[1]));
    }
    if (becomes(change->ready, REASON_RECONCILER_ERROR)) {
        count(pass, METER_SUSPEND_TOTAL, "error");
    }
}

static void samples_resume(SandboxPass *pass, const Change *change)
{
    bool asked = change->suspended[0] && !has_reason(change->suspended[0], "NotSuspended");
    bool under_way =
        !asked && change->ready[0] && since(change->suspended[0]) > since(change->ready[0]);

    if (pass->suspended) {
        return;
    }
    if (asked) {
        count(pass, METER_RESUME_TOTAL, "requested");
    }
    if (under_way && is_status(change->ready[1], "True")) {
        count(pass, METER_RESUME_TOTAL, "ready");
        measure(pass, METER_RESUME_MS, since(change->suspended[0]));
    }
    if ((asked || under_way) && becomes(change->ready, REASON_RECONCILER_ERROR)) {
        count(pass, METER_RESUME_TOTAL, "error");
    }
}

/* Of Sandboxes that nobody made for a claim: those are measured with their claim. */
static void sample_creation(SandboxPass *pass, const Change *change)
{
    Str launch = kube_obj_label(pass->sandbox, STR(LABEL_LAUNCH_TYPE));
    const Str labels[] = {pass->sandbox->ns, launch.len > 0 ? launch : STR(LAUNCH_TYPE_COLD),
                          template_of(pass, "__unknown__")};
    int64_t created = kube_obj_created_ns(pass->sandbox);
    bool first = !change->ready[0] || (!is_status(change->ready[0], "True") &&
                                       since(change->ready[0]) == since(change->suspended[0]));

    if ((pass->owner == SANDBOX_BY_NOBODY || pass->owner == SANDBOX_BY_FOREIGNER) && first &&
        is_status(change->ready[1], "True") && created > 0 && created <= pass->view->now_wall_ns) {
        plan_sample_since(pass->plan, METER_SANDBOX_CREATION_MS, created, labels,
                          ARRAY_LEN(labels));
    }
}

void sandbox_plan_samples(SandboxPass *pass, const json_t *before, const json_t *after)
{
    const Change change = {
        .ready = {find(before, CONDITION_READY), find(after, CONDITION_READY)},
        .suspended = {find(before, CONDITION_SUSPENDED), find(after, CONDITION_SUSPENDED)},
        .finished = {find(before, CONDITION_FINISHED), find(after, CONDITION_FINISHED)},
    };

    if (becomes(change.ready, REASON_EXPIRED)) {
        Str policy = jnode_str(jnode_at(kube_obj_spec(pass->sandbox), "shutdownPolicy"));

        count(pass, METER_EXPIRED_TOTAL, str_eq(policy, STR("Delete")) ? "Delete" : "Retain");
        return;
    }
    if (has_reason(change.ready[1], REASON_EXPIRED)) {
        return;
    }
    if (is_status(change.finished[1], "True") && !is_status(change.finished[0], "True")) {
        count(pass, METER_FINISHED_TOTAL,
              has_reason(change.finished[1], "PodFailed") ? "PodFailed" : "PodSucceeded");
    }
    samples_suspend(pass, &change);
    samples_resume(pass, &change);
    sample_creation(pass, &change);
}
