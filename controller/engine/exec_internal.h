/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of the executor, shared by exec.c (queues, listeners, start and stop), exec_run.c (one
 * pass) and exec_call.c (one action of it).
 */
#include "base/list.h"
#include "controller/engine/coalesce.h"
#include "controller/engine/exec.h"
#include "controller/engine/facts.h"
#include "controller/engine/pace.h"
#include "controller/engine/reserve.h"
#include "kube/queue.h"

typedef struct ExecController ExecController;
typedef struct ExecRun ExecRun;
typedef struct ExecTrace ExecTrace;

typedef struct ExecWatch {
    KubeListener listener;
    ExecController *controller;
    const WatchRule *rule;
} ExecWatch;

struct ExecController {
    Exec *exec;
    const Reconciler *reconciler;
    KubeQueue *queue;
    ExecWatch *watches;
    Coalesce coalesce;
    size_t workers;
    size_t running;
    LoopDefer resume; /* goes on with the queue after a worker became free */
};

struct Exec {
    ExecConfig config;
    View view; /* template of every pass's view */
    Reservations reservations;
    Pace pace;
    Rng trace_rng; /* of ids; not the seed's, they must differ between replicas */
    ExecController controllers[EXEC_CONTROLLERS_MAX];
    size_t n_controllers;
    List runs;
    List dead; /* ended runs, freed by `bury` */
    LoopDefer bury;
    bool started;
    ExecStats stats;
};

typedef enum ExecOutcome {
    EXEC_PENDING,
    EXEC_DONE,    /* carried out */
    EXEC_SKIPPED, /* optional and failed, coalesced, or failed earlier in this pass */
    EXEC_REPLAN,  /* the world is different: plan again */
    EXEC_FAILED,  /* recorded as a fact: plan again, then retry */
    EXEC_RETRY,   /* transient: leave the plan, retry with back-off */
} ExecOutcome;

/* One action of the plan in flight. */
typedef struct ExecCall {
    ExecRun *run;
    PlanAction *action;
    KubeCall *call; /* NULL = nothing in flight */
    ExecOutcome outcome;
    bool deferred;        /* left out by coalesce_ns */
    char *reply_rv;       /* resourceVersion of the reply, for rv_of */
    int64_t sent_wall_ns; /* with tracing */
    uint64_t highest;     /* version that its store had seen then */
    KubeObj *known;       /* what the store had under the name when the request was made; owned */
} ExecCall;

struct ExecRun {
    ListNode node; /* of exec->runs or exec->dead */
    Exec *exec;
    ExecController *controller;
    KubeQueueItem *item;
    char *holder; /* name in the reservations */
    KubeKey key;  /* points into ns and name */
    char *ns;
    char *name;
    Arena arena;
    Plan plan;
    Facts facts;
    ExecTrace *trace; /* NULL without tracing */
    ExecCall *calls;  /* one per action of the plan */
    unsigned stage;
    size_t pending; /* calls of this stage in flight */
    bool reserved;  /* it may hold reservations */
    bool starting;  /* inside the loop that starts a stage */
    unsigned plans;
    unsigned writes;
    uint64_t started_ns;
    uint64_t waited_ns; /* in the queue before this pass */
    uint64_t stage_began_ns;
    uint64_t stage_ns[PLAN_TIMED_STAGES_MAX]; /* how long the plan's stages took */
    uint64_t retry_after_ns;                  /* asked for by the server */
    uint64_t coalesced_for_ns; /* time until what was put off is due, 0 = nothing was */
    bool learned;              /* something of this plan's outcome is worth a new plan */
    bool failed;               /* some failure in this pass wants a retry */
    char error[ERR_MSG_MAX];   /* the first failure, for the log */
};

/* exec_run.c */
void exec_run_start(ExecController *controller, KubeQueueItem *item);
void exec_run_call_done(ExecRun *run);
void exec_run_cancel(ExecRun *run); /* no more callbacks; does not touch the queue */
void exec_run_free(ExecRun *run);
void exec_run_note_error(ExecRun *run, const PlanAction *action, const char *text);

/* exec_call.c: returns with call->outcome set, or EXEC_PENDING and a later exec_run_call_done(). */
void exec_call_start(ExecCall *call);
void exec_call_cancel(ExecCall *call);

/* exec.c: after a pass. */
void exec_run_ended(ExecRun *run);

/* exec_trace.c: all of them do nothing without tracing. */
void exec_trace_begin(ExecRun *run);
void exec_trace_end(ExecRun *run, const char *outcome);
void exec_trace_free(ExecRun *run);
Str exec_trace_annotation(const ExecRun *run); /* for the view; STR_NULL without tracing */
void exec_trace_call_begin(ExecCall *call);
void exec_trace_call_end(ExecCall *call, const char *verb, const KubeError *error);

/* exec_metrics.c */
void exec_metrics_register(Exec *exec);
