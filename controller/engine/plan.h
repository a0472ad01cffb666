/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A plan: what a reconciler wants done, as data.
 *
 * Actions are grouped in stages. Stage n+1 starts when every critical action of stage n succeeded;
 * within a stage all actions are in flight together. The executor (engine/exec.h) carries the plan
 * out, puts the objects of the replies into the stores, and plans again after a READ or a failure,
 * so a reconciler never handles a reply: it looks at the view as it is now.
 *
 * Ownership: strings given to plan_* are copied into the plan's arena; a json_t given to plan_* is
 * taken over (even on NULL target: never). Actions are arena objects whose address is stable; the
 * functions return them so that the caller can set the optional fields.
 *
 * What a reconciler can rely on:
 *   DELETE carries the target's uid as precondition; 404 counts as done.
 *   PATCH and PATCH_STATUS are JSON merge patches; a 404 is a failure, an empty patch is never
 * sent. PATCH carries the target's uid too: an object made anew under the name is not touched.
 * CREATE that finds the object there (AlreadyExists) is followed by a live GET of the name, whose
 * answer enters the view, and a new plan. Conflict (409 on a precondition) is followed by a live
 * GET of the target and a new plan. Any other failure of a critical action is recorded in the view
 * (view_failure()) and planned again once, so that the reconciler can write the status that tells
 * of it; when that plan is done the key is retried with back-off.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "kube/object.h"
#include "kube/transport.h"
#include "json/jx.h"

/* Most actions in one plan. plan_* beyond it are dropped and set plan->overflow: the executor
 * carries out what fits and plans again at once. */
#define PLAN_ACTIONS_MAX 1024
#define PLAN_SAMPLES_MAX 16
#define PLAN_RESERVATIONS_MAX 4
#define PLAN_SAMPLE_LABELS_MAX 6
#define PLAN_TIMED_STAGES_MAX 4 /* stages whose length can be measured */

typedef enum PlanVerb {
    PLAN_CREATE,
    PLAN_PATCH,
    PLAN_PATCH_STATUS,
    PLAN_DELETE,
    PLAN_EVENT,
    PLAN_READ,
    PLAN_VERB_MAX_,
} PlanVerb;

typedef struct PlanAction PlanAction;
struct PlanAction {
    PlanVerb verb;
    KubeKindId kind;
    Str ns;
    Str name;
    json_t *body;   /* CREATE: object; PATCH*: merge patch without the precondition; else NULL */
    unsigned stage; /* set from plan->stage */
    unsigned index; /* place in plan->actions */

    /* --- to be set by the caller after plan_*() --- */
    KubePriority priority;   /* default KUBE_PRIO_NORMAL, EVENT: KUBE_PRIO_LOW */
    bool optional;           /* a failure is logged, stops nothing and is not retried */
    const PlanAction *rv_of; /* PATCH*, DELETE: precondition = resourceVersion in the reply to this
                                action, which must be in an earlier stage */
    uint64_t coalesce_ns;    /* done only after it has been wanted this long without a pause */
    bool foreground;         /* DELETE: propagationPolicy Foreground instead of Background */
    bool warning;            /* EVENT: type Warning instead of Normal */

    /* --- set by plan_*() --- */
    Str rv;  /* PATCH*: resourceVersion precondition, STR_NULL = none; see plan_if_rv() */
    Str uid; /* DELETE, PATCH: precondition */
    KubeObj *regarding; /* EVENT: owned reference */
    const char *event_reason;
    const char *event_action;
    Str note;
};

typedef enum PlanTime {
    PLAN_TIME_NONE,  /* value, or since_wall_ns */
    PLAN_TIME_QUEUE, /* how long the key waited for this pass */
    PLAN_TIME_STAGE, /* how long `stage` took */
} PlanTime;

/* A measurement to take when every critical action has succeeded; ids in engine/meters.h. */
typedef struct PlanSample {
    int meter;
    PlanTime time;
    unsigned stage;
    double value;
    int64_t since_wall_ns; /* not 0: the value is the milliseconds from then until it is taken */
    size_t n_labels;
    Str labels[PLAN_SAMPLE_LABELS_MAX];
} PlanSample;

typedef struct Plan {
    Arena *arena; /* borrowed; lives as long as the plan */
    PlanAction **actions;
    size_t n_actions, cap_actions;
    unsigned stage; /* of the next action */
    bool overflow;

    int64_t requeue_at_wall_ns; /* 0 = no; the earliest one asked for wins */
    bool more;                  /* see plan_more() */
    const char *reason;         /* one or two words for the log: what this plan is about */

    /* Set by plan_fail(): the pass ends as an error and is retried with back-off. */
    const char *error;

    PlanSample samples[PLAN_SAMPLES_MAX];
    size_t n_samples;

    Str reservations[PLAN_RESERVATIONS_MAX]; /* uids, see plan_reserve() */
    size_t n_reservations;
} Plan;

void plan_init(Plan *plan, Arena *arena);
void plan_deinit(Plan *plan); /* drops the bodies; the arena is the caller's */

/* Actions from here on belong to the next stage (no effect when the current one is empty). */
void plan_next_stage(Plan *plan);

PlanAction *plan_create(Plan *plan, KubeKindId kind, Str ns, Str name, json_t *body);
PlanAction *plan_patch(Plan *plan, const KubeObj *target, json_t *patch);
PlanAction *plan_patch_status(Plan *plan, const KubeObj *target, json_t *patch);
PlanAction *plan_delete(Plan *plan, const KubeObj *target);
/* One live GET by name; the answer enters the view. A name already asked in this pass is left out.
 */
PlanAction *plan_read(Plan *plan, KubeKindId kind, Str ns, Str name);
/* reason and action: static strings. Type Normal unless `warning` is set in the returned action. */
PlanAction *plan_event(Plan *plan, const KubeObj *regarding, const char *reason, const char *action,
                       const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Precondition "still this version" for a PATCH of `target`'s current state. */
void plan_if_rv(Plan *plan, PlanAction *action, Str rv);

/*
 * Reserves the object with this uid for the key being planned: until the pass has ended,
 * view_reserved_by() tells every other key's plan about it. Taken by the executor when it accepts
 * the plan; if another pass got there first the plan is thrown away and made again.
 */
void plan_reserve(Plan *plan, Str uid);

/* The key is wanted again at this wall time. */
void plan_requeue_at(Plan *plan, int64_t wall_ns);

/* What there is to do after these actions shows only when they are done: plan again in this pass.
 */
void plan_more(Plan *plan);

/* This pass is an error (counted, logged, retried with back-off). Actions already planned are done.
 */
void plan_fail(Plan *plan, const char *fmt, ...) PRINTF_LIKE(2, 3);

void plan_sample(Plan *plan, int meter, double value, const Str *labels, size_t n_labels);
/* Milliseconds from this wall time until the plan has been carried out. */
void plan_sample_since(Plan *plan, int meter, int64_t since_wall_ns, const Str *labels,
                       size_t n_labels);

/* Milliseconds that the executor measures. stage: of PLAN_TIME_STAGE, below PLAN_TIMED_STAGES_MAX.
 */
void plan_sample_time(Plan *plan, int meter, PlanTime time, unsigned stage, const Str *labels,
                      size_t n_labels);

static inline bool plan_is_empty(const Plan *plan)
{
    return plan->n_actions == 0;
}

const char *plan_verb_name(PlanVerb verb);

/* A plan as canonical text (one line an action, bodies sorted by key): for tests and debug logs. */
char *plan_dump(const Plan *plan);
