/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/samples.c
 *
 * Start-up latencies in milliseconds, measured once in the life of a claim: the annotation
 * claim-first-ready-at guards them over flaps, restarts and hand-overs.
 */
#include "base/clock.h"
#include "base/timefmt.h"
#include "controller/claim/pass.h"
#include "controller/engine/meters.h"
#include "controller/keys.h"

#define TEMPLATE_UNKNOWN "__unknown__"

/* The Sandbox whose labels count: the claim's, or the member that it gets. */
static const KubeObj *subject(const ClaimPass *pass)
{
    return pass->sandbox ? pass->sandbox : pass->member;
}

static Str launch_type(const ClaimPass *pass)
{
    Str type;

    if (pass->created) {
        return STR(LAUNCH_TYPE_COLD);
    }
    type = kube_obj_label(subject(pass), STR(LABEL_LAUNCH_TYPE));
    return pass->member || str_eq(type, STR(LAUNCH_TYPE_WARM)) ? STR(LAUNCH_TYPE_WARM)
                                                               : STR(LAUNCH_TYPE_COLD);
}

static Str template_name(const ClaimPass *pass)
{
    Str name = STR_NULL;

    if (subject(pass)) {
        name = kube_obj_annotation(subject(pass), STR(ANNOTATION_TEMPLATE_REF));
    } else if (pass->template) {
        name = pass->template->name;
    }
    return name.len > 0 ? name : STR(TEMPLATE_UNKNOWN);
}

static Str created_by(const KubeObj *claim)
{
    static const char *const known[] = {CREATED_BY_GO_CLIENT, CREATED_BY_PYTHON_CLIENT,
                                        CREATED_BY_CONTROLLER};
    Str label = kube_obj_label(claim, STR(LABEL_CREATED_BY));

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (str_eq(label, str_from(known[i]))) {
            return label;
        }
    }
    return STR(CREATED_BY_UNKNOWN);
}

/* From the time in an annotation until the claim is told; nothing when absent or in the future. */
static void sample_since(ClaimPass *pass, MeterId meter, const char *annotation)
{
    Str labels[] = {launch_type(pass), template_name(pass)};
    int64_t since;

    if (timefmt_parse(kube_obj_annotation(pass->claim, str_from(annotation)), &since) == 0 &&
        since <= pass->view->now_wall_ns) {
        plan_sample_since(pass->plan, meter, since, labels, ARRAY_LEN(labels));
    }
}

void claim_sample_ready(ClaimPass *pass, const KubeObj *sandbox)
{
    Str labels[] = {pass->claim->ns, launch_type(pass), template_name(pass)};
    JNode ready = kube_obj_condition(sandbox, STR("Ready"));
    int64_t since;

    sample_since(pass, METER_CLAIM_STARTUP_MS, ANNOTATION_WEBHOOK_FIRST_OBSERVED);
    sample_since(pass, METER_CLAIM_CLIENT_STARTUP_MS, ANNOTATION_CLIENT_FIRST_REQUESTED);
    if (kube_obj_annotation(pass->claim, STR(ANNOTATION_CONTROLLER_FIRST_OBSERVED)).len > 0) {
        sample_since(pass, METER_CLAIM_CONTROLLER_STARTUP_MS, ANNOTATION_CONTROLLER_FIRST_OBSERVED);
    } else {
        /* Seen for the first time in this very pass. */
        plan_sample_since(pass->plan, METER_CLAIM_CONTROLLER_STARTUP_MS, pass->view->now_wall_ns,
                          labels + 1, 2);
    }
    if (timefmt_parse(jnode_str(jnode_at(ready, "lastTransitionTime")), &since) == 0 &&
        since >= kube_obj_created_ns(sandbox)) {
        plan_sample(pass->plan, METER_SANDBOX_CREATION_MS,
                    (double)(since - kube_obj_created_ns(sandbox)) / (double)NS_PER_MS, labels,
                    ARRAY_LEN(labels));
    }
}

/* The writes of a plan's first stage make the Sandbox the claim's. */
void claim_sample_bound(ClaimPass *pass)
{
    Str queue[] = {launch_type(pass), STR("queue")};
    Str adopt[] = {launch_type(pass), STR("adopt")};

    plan_sample_time(pass->plan, METER_CLAIM_STAGE_MS, PLAN_TIME_QUEUE, 0, queue, ARRAY_LEN(queue));
    plan_sample_time(pass->plan, METER_CLAIM_STAGE_MS, PLAN_TIME_STAGE, 0, adopt, ARRAY_LEN(adopt));
}

/* A member that was Ready when it was taken made nobody wait for its Pod. */
void claim_sample_told(ClaimPass *pass, unsigned stage)
{
    Str pod[] = {launch_type(pass), STR("pod")};
    Str status[] = {launch_type(pass), STR("status")};
    int64_t now = pass->view->now_wall_ns;
    int64_t since;

    if (pass->member ||
        timefmt_parse(kube_obj_annotation(pass->claim, STR(ANNOTATION_CONTROLLER_FIRST_OBSERVED)),
                      &since) < 0 ||
        since > now) {
        since = now;
    }
    plan_sample(pass->plan, METER_CLAIM_STAGE_MS, (double)(now - since) / (double)NS_PER_MS, pod,
                ARRAY_LEN(pod));
    plan_sample_time(pass->plan, METER_CLAIM_STAGE_MS, PLAN_TIME_STAGE, stage, status,
                     ARRAY_LEN(status));
}

void claim_sample_created(ClaimPass *pass)
{
    bool ready = pass->member && kube_obj_condition_is(pass->member, STR("Ready"), STR("True"));
    Str labels[] = {pass->claim->ns,
                    template_name(pass),
                    launch_type(pass),
                    pass->pool ? pass->pool->name : STR(""),
                    ready ? STR("ready") : STR("not_ready"),
                    created_by(pass->claim)};

    plan_sample(pass->plan, METER_CLAIM_CREATION_TOTAL, 1, labels, ARRAY_LEN(labels));
}
