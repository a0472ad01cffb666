/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The one executor: takes keys from each reconciler's queue, makes a plan, carries it out stage by
 * stage, puts the replies into the stores, and decides what a failure means. It is the only place
 * of the controller that sends anything to the API server.
 *
 * A pass over a key: plan; do the stages; plan again when an action was a READ, or when a write
 * found the world different (AlreadyExists, Conflict, NotFound: the name is read live first), or
 * when a failure has to be shown in a status; at most EXEC_PLANS_MAX plans. Then the key is done,
 * wanted again at a time, or retried with back-off. A key is in at most one pass at a time.
 *
 * Failures, in one table (exec_call.c): gone on DELETE is success; transient ones (429, 503, lost
 * connections, unknown outcomes) are retried with back-off and shown in a status only after
 * EXEC_TRANSIENT_MAX in a row; 422 is shown and not retried unless the plan says plan_fail(); all
 * others are shown and retried. An action that failed is not tried again within its pass, and
 * neither are the stages behind it.
 *
 * coalesce_ns: an action that carries it is left out (later stages still run) until plans for its
 * key have wanted such an action for that long; the key is woken then.
 *
 * An object that is written again and again is left alone for a while, with the whole pass that
 * wants to write it: engine/pace.h.
 *
 * Before every write may_write() is asked: a leader that slept through its Lease sends nothing when
 * it wakes up. A status that has a precondition and is not as we left it is a sign of a second
 * leader, which on_rival() is told of.
 *
 * Between exec_stop() (or before the first exec_start()) nothing is planned and nothing is sent,
 * while the stores may go on changing: a standby's caches are warm.
 */
#include "base/log.h"
#include "base/loop.h"
#include "controller/engine/meters.h"
#include "controller/engine/reconciler.h"
#include "kube/api.h"
#include "kube/events.h"
#include "trace/tracer.h"

#define EXEC_PLANS_MAX 10
#define EXEC_TRANSIENT_MAX 5
#define EXEC_TERMINATING_NS (30 * NS_PER_S)    /* between tries in a namespace that goes away */
#define EXEC_STATUS_PACE_MAX_NS (1 * NS_PER_S) /* a pool's status waits for its pace no longer */
#define EXEC_CONTROLLERS_MAX 8
#define EXEC_REQUEUE_MAX_NS                                                                        \
    (3600 * NS_PER_S)          /* wall clocks jump: look again at least this often                 \
                                */
#define EXEC_TICK_RUNS_MAX 256 /* passes begun before the loop gets its turn */

typedef struct Exec Exec;

typedef struct ExecConfig {
    Loop *loop; /* all borrowed */
    KubeApi *api;
    Logger *log;        /* NULL = silent */
    Metrics *metrics;   /* NULL = none */
    Meters *meters;     /* NULL = none */
    KubeEvents *events; /* NULL = EVENT actions do nothing */
    const ControllerOptions *options;
    KubeStore *stores[KUBE_KIND_MAX_]; /* NULL = not watched */
    const Pools *pools;                /* NULL without the extensions */
    Tracer *tracer;                    /* NULL = no spans */
    uint64_t seed;
    bool (*may_write)(void *ctx); /* asked before every write; NULL = always */
    void (*on_rival)(void *ctx);  /* a status of ours was written by somebody else; may be NULL */
    /* An answer shows that the server's versions went back: all caches have to be listed anew. From
     * inside an answer's callback; may be NULL. */
    void (*on_went_back)(void *ctx);
    void *ctx;
} ExecConfig;

typedef struct ExecStats {
    uint64_t passes;
    uint64_t errors;
    uint64_t plans;
    uint64_t calls[PLAN_VERB_MAX_]; /* sent, EVENT: recorded */
    size_t running;
} ExecStats;

Exec *exec_new(const ExecConfig *config);
Exec *exec_free(Exec *exec); /* stops first; not from inside a callback of it */

/* Listens to the stores that its watch rules name. Before exec_start(). */
void exec_add(Exec *exec, const Reconciler *reconciler);

/* Begins with every known object of every reconciler, at low priority. The stores must be synced.
 */
void exec_start(Exec *exec);
/* Cancels what is in flight; outcomes are then unknown and found out by the next start. */
void exec_stop(Exec *exec);
bool exec_is_started(const Exec *exec);
/* Nothing running and nothing due (delayed keys do not count). */
bool exec_is_idle(const Exec *exec);

/* Wakes a key by hand. */
void exec_enqueue(Exec *exec, const Reconciler *reconciler, KubeKey key);
void exec_stats(const Exec *exec, ExecStats *ret_stats);

DEFINE_AUTO_PTR(exec, Exec, exec_free)
