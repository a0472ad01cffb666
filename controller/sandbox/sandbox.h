/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The Sandbox reconciler, inside: one Sandbox becomes a Pod, its PVCs, a headless Service and a
 * status.
 *
 * plan.c holds the decisions. Everything else is builders and transforms: objects in, JSON out, no
 * store, no clock, no option that is not passed in; test/unit/controller/test_sandbox_*.c drives
 * them from test/golden.
 */
#include <stdbool.h>

#include "base/clock.h"
#include "base/hash.h"
#include "controller/engine/reconciler.h"
#include "controller/keys.h"
#include "json/jx.h"

/* Progress that stays Ready=False is written after this time, that of pool members, which nobody
 * looks at before they are Ready, after the longer one. */
#define SANDBOX_COALESCE_NS NS_PER_S
#define SANDBOX_COALESCE_POOL_NS (10 * NS_PER_S)
/* Longest time by which a metadata-only Pod patch is put off (--sandbox-write-behind-window). */
#define SANDBOX_WRITE_BEHIND_MAX_NS NS_PER_S
/* What the cache does not show wakes nobody when it goes: it is looked at again after this time. */
#define SANDBOX_LOOK_AGAIN_NS (60 * NS_PER_S)
/* Most container ports that become Service ports. */
#define SANDBOX_PORTS_MAX 256
/* Most errors of one pass that a Ready message tells of. */
#define SANDBOX_ERRORS_MAX 16

#define CONDITION_READY "Ready"
#define CONDITION_SUSPENDED "Suspended"
#define CONDITION_FINISHED "Finished"
#define CONDITION_POD_SCHEDULED "PodScheduled"

#define REASON_EXPIRED "SandboxExpired"
#define REASON_INVALID "InvalidConfiguration"
#define REASON_RECONCILER_ERROR "ReconcilerError"
#define REASON_MULTIPLE_PODS "MultiplePods"
#define REASON_NOT_READY "DependenciesNotReady"

typedef enum SandboxOwnership {
    SANDBOX_OWNED,   /* controller reference with our uid */
    SANDBOX_UNOWNED, /* no controller reference */
    SANDBOX_FOREIGN, /* somebody else's */
} SandboxOwnership;

/* What kind of object controls the Sandbox. */
typedef enum SandboxOwnerKind {
    SANDBOX_BY_NOBODY,
    SANDBOX_BY_CLAIM,
    SANDBOX_BY_POOL,
    SANDBOX_BY_OTHER_EXTENSION,
    SANDBOX_BY_FOREIGNER,
} SandboxOwnerKind;

/* One pass: what the decisions collect and the status is computed from. */
typedef struct SandboxPass {
    const View *view;
    const KubeObj *sandbox;
    Arena *arena;
    Plan *plan;
    char hash[HASH_HEX_SIZE];
    SandboxOwnerKind owner;
    bool suspended;
    bool fresh_generation; /* no status of this generation was written yet */

    const KubeObj *pod; /* NULL = none */
    SandboxOwnership pod_ownership;
    Str unknown_pod;        /* a name that might be taken by a Pod the cache does not show */
    bool pod_error;         /* the Pod's state could not be found out */
    bool service_required;  /* Ready needs it */
    bool service_in_use;    /* it exists and is ours */
    const char *many_pods;  /* text of the MultiplePods condition, or NULL */
    const char *invalid;    /* text of the InvalidConfiguration condition, or NULL */
    bool volume_refused;    /* a volume's name belongs to somebody else's claim */
    bool pod_create_failed; /* in this pass */
    const char *errors[SANDBOX_ERRORS_MAX];
    size_t n_errors;
} SandboxPass;

void sandbox_pass_init(SandboxPass *pass, const View *view, const KubeObj *sandbox, Arena *arena,
                       Plan *plan);
void sandbox_pass_error(SandboxPass *pass, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- facts about objects ---- */

SandboxOwnership sandbox_ownership(const KubeObj *sandbox, const KubeObj *child);
SandboxOwnerKind sandbox_owner_kind(const KubeObj *sandbox);
bool sandbox_is_suspended(const KubeObj *sandbox);
/* An unowned child may be taken over: adoptable=true, or it carries our hash label. */
bool sandbox_may_adopt(const KubeObj *child, const char *hash);
/* "SandboxClaim demo (uid …)" of the foreign owner, for error texts; arena memory. */
const char *sandbox_owner_text(const KubeObj *child, Arena *arena);
/* The wall time of spec.shutdownTime; false when there is none. */
bool sandbox_shutdown_time(const KubeObj *sandbox, int64_t *ret_wall_ns);
bool sandbox_key_is_reserved(Str key);

/* ---- pod.c ---- */

/* The whole Pod of a Sandbox. `eviction`: --enable-warm-pool-eviction. */
json_t *sandbox_pod_desired(const KubeObj *sandbox, bool eviction);
/* Merge patch that brings the live Pod's metadata (and, if it is unowned, its owner) in line; NULL
 * when it is. */
json_t *sandbox_pod_patch(const KubeObj *sandbox, const KubeObj *pod, bool eviction);

/* ---- pvc.c ---- */

/* "<template>-<sandbox>" in arena memory. */
Str sandbox_pvc_name(const KubeObj *sandbox, JNode claim_template, Arena *arena);
json_t *sandbox_pvc_desired(const KubeObj *sandbox, JNode claim_template);
/* Merge patch that makes a live PVC ours and visible in the cache (its hash label); NULL when it
 * is. */
json_t *sandbox_pvc_patch(const KubeObj *sandbox, const KubeObj *pvc);
/* Merge patch that adds our controller reference to an unowned object. */
json_t *sandbox_adopt_patch(const KubeObj *sandbox, const KubeObj *child);

/* ---- service.c ---- */

json_t *sandbox_service_desired(const KubeObj *sandbox);
/* Merge patch for a live Service; `ports` says whether its ports are ours to set. NULL: in line. */
json_t *sandbox_service_patch(const KubeObj *sandbox, const KubeObj *service, bool ports);

/* ---- children.c: decisions about PVCs, Pod and Service; they add actions and errors ---- */

void sandbox_plan_pvcs(SandboxPass *pass);
void sandbox_plan_pod(SandboxPass *pass);
void sandbox_plan_service(SandboxPass *pass);

/* ---- conditions.c ---- */

/* The whole status for this pass, made from the present one; owned. */
json_t *sandbox_status_compute(const SandboxPass *pass);
/* The status with only the marker that the Sandbox has expired. */
json_t *sandbox_status_expired(const SandboxPass *pass);

/* ---- status.c ---- */

/* Adds the status patch, if there is something to write, and the Events that go with it. */
void sandbox_plan_status(SandboxPass *pass, json_t *stolen_status);
/* An Event about the Sandbox, unless they are off or it is a pool's. */
void sandbox_plan_event(SandboxPass *pass, bool warning, const char *reason, const char *note);

/* ---- samples.c ---- */

/* Adds the measurements that go with this change of status. */
void sandbox_plan_samples(SandboxPass *pass, const json_t *before, const json_t *after);

/* ---- lifecycle.c ---- */

/* True when the Sandbox has expired; what there is to do is then in the plan. */
bool sandbox_plan_expiry(SandboxPass *pass);
