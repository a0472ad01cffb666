/* SPDX-License-Identifier: Apache-2.0 */
/* See plan.h. */
#include "controller/engine/plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"

#define PLAN_DUMP_MAX (16u << 20)

void plan_init(Plan *plan, Arena *arena)
{
    *plan = (Plan){.arena = arena, .reason = ""};
}

void plan_deinit(Plan *plan)
{
    for (size_t i = 0; i < plan->n_actions; i++) {
        json_decref(plan->actions[i]->body);
        plan->actions[i]->body = NULL;
        plan->actions[i]->regarding = kube_obj_unref(plan->actions[i]->regarding);
    }
    free(plan->actions);
    plan->actions = NULL;
    plan->n_actions = plan->cap_actions = 0;
}

void plan_next_stage(Plan *plan)
{
    if (plan->n_actions > 0 && plan->actions[plan->n_actions - 1]->stage == plan->stage) {
        plan->stage++;
    }
}

/* Beyond the limit the caller still gets an action to write to; it is just not in the plan. */
static PlanAction *add(Plan *plan, PlanVerb verb, KubeKindId kind, Str ns, Str name)
{
    PlanAction *action = arena_alloc(plan->arena, sizeof(*action));

    action->verb = verb;
    action->kind = kind;
    action->ns = arena_str(plan->arena, ns);
    action->name = arena_str(plan->arena, name);
    action->stage = plan->stage;
    action->priority = KUBE_PRIO_NORMAL;
    if (plan->n_actions == PLAN_ACTIONS_MAX) {
        plan->overflow = true;
        return action;
    }
    if (plan->n_actions == plan->cap_actions) {
        plan->cap_actions = plan->cap_actions ? plan->cap_actions * 2 : 8;
        plan->actions = xrealloc(plan->actions, plan->cap_actions * sizeof(plan->actions[0]));
    }
    action->index = (unsigned)plan->n_actions;
    plan->actions[plan->n_actions++] = action;
    return action;
}

/* The body belongs to the plan, or to nobody when the action did not fit. */
static PlanAction *add_with_body(Plan *plan, PlanVerb verb, KubeKindId kind, Str ns, Str name,
                                 json_t *body)
{
    PlanAction *action = add(plan, verb, kind, ns, name);

    CHECK(body);
    if (plan->overflow) {
        json_decref(body);
    } else {
        action->body = body;
    }
    return action;
}

PlanAction *plan_create(Plan *plan, KubeKindId kind, Str ns, Str name, json_t *body)
{
    return add_with_body(plan, PLAN_CREATE, kind, ns, name, body);
}

PlanAction *plan_patch(Plan *plan, const KubeObj *target, json_t *patch)
{
    PlanAction *action =
        add_with_body(plan, PLAN_PATCH, target->kind->id, target->ns, target->name, patch);

    action->uid = arena_str(plan->arena, target->uid);
    return action;
}

PlanAction *plan_patch_status(Plan *plan, const KubeObj *target, json_t *patch)
{
    return add_with_body(plan, PLAN_PATCH_STATUS, target->kind->id, target->ns, target->name,
                         patch);
}

PlanAction *plan_delete(Plan *plan, const KubeObj *target)
{
    PlanAction *action = add(plan, PLAN_DELETE, target->kind->id, target->ns, target->name);

    action->uid = arena_str(plan->arena, target->uid);
    return action;
}

PlanAction *plan_read(Plan *plan, KubeKindId kind, Str ns, Str name)
{
    return add(plan, PLAN_READ, kind, ns, name);
}

PlanAction *plan_event(Plan *plan, const KubeObj *regarding, const char *reason,
                       const char *action_text, const char *fmt, ...)
{
    PlanAction *action = add(plan, PLAN_EVENT, regarding->kind->id, regarding->ns, regarding->name);
    AUTO(strbuf) StrBuf note = STRBUF_INIT(4096);
    va_list ap;

    va_start(ap, fmt);
    (void)strbuf_vprintf(&note, fmt, ap);
    va_end(ap);
    action->note = arena_str(plan->arena, strbuf_str(&note));
    action->priority = KUBE_PRIO_LOW;
    action->event_reason = reason;
    action->event_action = action_text;
    if (!plan->overflow) {
        action->regarding = kube_obj_ref(regarding);
    }
    return action;
}

void plan_if_rv(Plan *plan, PlanAction *action, Str rv)
{
    action->rv = arena_str(plan->arena, rv);
}

void plan_reserve(Plan *plan, Str uid)
{
    CHECK(plan->n_reservations < PLAN_RESERVATIONS_MAX);
    plan->reservations[plan->n_reservations++] = arena_str(plan->arena, uid);
}

void plan_requeue_at(Plan *plan, int64_t wall_ns)
{
    if (plan->requeue_at_wall_ns == 0 || wall_ns < plan->requeue_at_wall_ns) {
        plan->requeue_at_wall_ns = wall_ns;
    }
}

void plan_more(Plan *plan)
{
    plan->more = true;
}

void plan_fail(Plan *plan, const char *fmt, ...)
{
    AUTO(strbuf) StrBuf text = STRBUF_INIT(4096);
    va_list ap;

    va_start(ap, fmt);
    (void)strbuf_vprintf(&text, fmt, ap);
    va_end(ap);
    plan->error = arena_dup(plan->arena, strbuf_str(&text));
}

void plan_sample(Plan *plan, int meter, double value, const Str *labels, size_t n_labels)
{
    PlanSample *sample;

    CHECK(plan->n_samples < PLAN_SAMPLES_MAX && n_labels <= PLAN_SAMPLE_LABELS_MAX);
    sample = &plan->samples[plan->n_samples++];
    *sample = (PlanSample){.meter = meter, .value = value, .n_labels = n_labels};
    for (size_t i = 0; i < n_labels; i++) {
        sample->labels[i] = arena_str(plan->arena, labels[i]);
    }
}

void plan_sample_since(Plan *plan, int meter, int64_t since_wall_ns, const Str *labels,
                       size_t n_labels)
{
    plan_sample(plan, meter, 0, labels, n_labels);
    plan->samples[plan->n_samples - 1].since_wall_ns = since_wall_ns;
}

void plan_sample_time(Plan *plan, int meter, PlanTime time, unsigned stage, const Str *labels,
                      size_t n_labels)
{
    CHECK(stage < PLAN_TIMED_STAGES_MAX);
    plan_sample(plan, meter, 0, labels, n_labels);
    plan->samples[plan->n_samples - 1].time = time;
    plan->samples[plan->n_samples - 1].stage = stage;
}

const char *plan_verb_name(PlanVerb verb)
{
    static const char *const names[PLAN_VERB_MAX_] = {
        [PLAN_CREATE] = "create", [PLAN_PATCH] = "patch", [PLAN_PATCH_STATUS] = "patch-status",
        [PLAN_DELETE] = "delete", [PLAN_EVENT] = "event", [PLAN_READ] = "read",
    };

    return verb < PLAN_VERB_MAX_ ? names[verb] : "?";
}

static void dump_action(const PlanAction *action, StrBuf *out)
{
    (void)strbuf_printf(out, "%u %s %s " STR_FMT "/" STR_FMT, action->stage,
                        plan_verb_name(action->verb), kube_kind(action->kind)->kind,
                        STR_ARG(action->ns), STR_ARG(action->name));
    if (action->rv.len > 0) {
        (void)strbuf_printf(out, " if-rv=" STR_FMT, STR_ARG(action->rv));
    }
    if (action->rv_of) {
        (void)strbuf_printf(out, " if-rv-of=%u", action->rv_of->index);
    }
    if (action->verb == PLAN_DELETE) { /* a PATCH always has its target's */
        (void)strbuf_printf(out, " if-uid=" STR_FMT, STR_ARG(action->uid));
    }
    if (action->optional) {
        (void)strbuf_append_cstr(out, " optional");
    }
    if (action->foreground) {
        (void)strbuf_append_cstr(out, " foreground");
    }
    if (action->coalesce_ns > 0) {
        (void)strbuf_printf(out, " coalesce=%llums",
                            (unsigned long long)(action->coalesce_ns / NS_PER_MS));
    }
    if (action->verb == PLAN_EVENT) {
        (void)strbuf_printf(out, " %s %s %s " STR_FMT, action->warning ? "Warning" : "Normal",
                            action->event_reason, action->event_action, STR_ARG(action->note));
    }
    if (action->body) {
        AUTO(mem) char *text = jx_dump_sorted(action->body);

        (void)strbuf_printf(out, " %s", text);
    }
    (void)strbuf_append_char(out, '\n');
}

char *plan_dump(const Plan *plan)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(PLAN_DUMP_MAX);

    for (size_t i = 0; i < plan->n_actions; i++) {
        dump_action(plan->actions[i], &out);
    }
    for (size_t i = 0; i < plan->n_reservations; i++) {
        (void)strbuf_printf(&out, "reserve " STR_FMT "\n", STR_ARG(plan->reservations[i]));
    }
    if (plan->requeue_at_wall_ns != 0) {
        (void)strbuf_printf(&out, "requeue-at %lld\n", (long long)plan->requeue_at_wall_ns);
    }
    if (plan->error) {
        (void)strbuf_printf(&out, "error %s\n", plan->error);
    }
    return strbuf_take(&out);
}
