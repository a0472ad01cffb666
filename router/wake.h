/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the API server knows of a Sandbox that has no route, and resuming one that is suspended.
 * Workers ask; the main thread reads the Sandbox once for all who ask for it at a time, remembers
 * the answer for WAKE_REMEMBER_NS, and resumes it (spec.operatingMode: Running) when one who asks
 * may wake it. Answers come back through the asking loop's wake-up.
 *
 * One lock guards every list; it is never held while the API is called or a callback runs.
 */
#include "base/log.h"
#include "kube/api.h"
#include "metrics/metrics.h"

#define WAKE_NAMES_MAX 256     /* Sandboxes asked about or remembered; more cannot be told */
#define WAKE_QUERIES_MAX 16384 /* who wait for an answer; more are told nothing */
#define WAKE_REMEMBER_NS NS_PER_S

typedef enum WakeState {
    WAKE_UNTOLD,    /* the API server did not say */
    WAKE_UNKNOWN,   /* there is no such Sandbox, or it is going away */
    WAKE_SUSPENDED, /* and stays so */
    WAKE_EXPIRED,
    WAKE_STARTING, /* it is to run, but is not Ready */
} WakeState;

typedef struct Wake Wake;
typedef struct WakeInbox WakeInbox;
typedef struct WakeQuery WakeQuery;
typedef void (*WakeFn)(void *ctx, WakeState state);

typedef struct WakeConfig {
    KubeApi *api; /* of the main thread's loop */
    bool resume;  /* --wake-suspended */
    Metrics *metrics;
    Logger *log;
} WakeConfig;

Wake *wake_new(const WakeConfig *config);
Wake *wake_free(Wake *wake); /* NULL is fine; inboxes are gone */
bool wake_resumes(const Wake *wake);

WakeInbox *wake_inbox_new(Wake *wake, Loop *loop);
WakeInbox *wake_inbox_free(WakeInbox *inbox); /* NULL is fine; all queries done or cancelled */

/* NULL when too many wait. Otherwise fn is called once from the inbox's loop. may_wake: a suspended
 * one is resumed, if the configuration allows that. */
WakeQuery *wake_ask(WakeInbox *inbox, Str ns, Str name, bool may_wake, WakeFn fn, void *ctx);
void wake_cancel(WakeQuery *query); /* fn will not be called; the Sandbox is resumed all the same */

WakeState wake_state_of(const KubeObj *sandbox); /* pure, for tests */
