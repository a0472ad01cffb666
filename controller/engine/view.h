/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a plan may look at: the stores with their indexes, the options, the time of this tick, who
 * has reserved what, and what this pass has learned from the API server (facts).
 *
 * Read-only. Pointers to objects are borrowed and good until plan() returns.
 *
 * Absent means asked. The informers of Pods, Services and PVCs see only objects with the
 * sandbox-name- hash label, so "not in the store" is VIEW_UNKNOWN for them until a PLAN_READ (or a
 * refused CREATE) has asked for the name in this pass. For the other kinds the store is complete:
 * VIEW_ABSENT.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "controller/engine/plan.h"
#include "controller/options.h"
#include "kube/object.h"
#include "kube/reason.h"
#include "kube/store.h"

typedef struct Reservations Reservations; /* engine/reserve.h */
typedef struct Facts Facts;               /* engine/facts.h */
typedef struct Pools Pools;               /* warmpool/pools.h */

/*
 * Index values. `ns` is compared too where the table says so; for the others pass STR_NULL.
 */
typedef enum ViewIndex {
    VIEW_PODS_BY_SANDBOX_HASH,  /* ns, label sandbox-name-hash */
    VIEW_PODS_BY_OWNER,         /* controller owner's uid */
    VIEW_SERVICES_BY_OWNER,     /* controller owner's uid */
    VIEW_NETPOLS_BY_OWNER,      /* controller owner's uid */
    VIEW_SANDBOXES_BY_OWNER,    /* controller owner's uid */
    VIEW_ORPHANS_BY_POOL_HASH,  /* ns, label warm-pool-sandbox; without controller, not deleting */
    VIEW_SANDBOXES_BY_TEMPLATE, /* ns, label sandbox-template-ref-hash */
    VIEW_CLAIMS_BY_POOL,        /* ns, spec.warmPoolRef.name */
    VIEW_CLAIMS_BY_ASSIGNMENT,  /* ns, annotation sandbox-name */
    VIEW_CLAIMS_WAITING,    /* ns, spec.warmPoolRef.name; only of claims that may get a Sandbox */
    VIEW_POOLS_BY_TEMPLATE, /* ns, spec.sandboxTemplateRef.name */
    VIEW_INDEX_MAX_,
} ViewIndex;

typedef struct View {
    KubeStore *stores[KUBE_KIND_MAX_]; /* NULL for kinds that nobody watches */
    const ControllerOptions *options;
    int64_t now_wall_ns;
    const Reservations *reservations; /* may be NULL: nothing reserved */
    const Facts *facts;               /* may be NULL: nothing asked, nothing failed */
    const Pools *pools; /* members free to be claimed; needed by claim and warmpool plans */
    Str trace_context; /* what a trace context annotation would say now; STR_NULL without tracing */
    Str self;          /* holder name of the key being planned, see exec.h */
} View;

typedef enum ViewPresence {
    VIEW_UNKNOWN, /* not in the store, which does not hold everything: plan_read() it */
    VIEW_ABSENT,
    VIEW_PRESENT,
} ViewPresence;

/* *ret_obj is set only for VIEW_PRESENT. A fact of this pass wins over an older object in the
 * store. */
ViewPresence view_lookup(const View *view, KubeKindId kind, Str ns, Str name,
                         const KubeObj **ret_obj);
/* The object or NULL, for the kinds where absent and unknown need no distinction. */
const KubeObj *view_get(const View *view, KubeKindId kind, Str ns, Str name);

/* Members of an index, in no meaningful order: decide nothing by it. */
typedef struct ViewIter {
    KubeStoreIter it;
    Str ns;
} ViewIter;

ViewIter view_iter(const View *view, ViewIndex index, Str ns, Str value);
const KubeObj *view_next(ViewIter *it); /* NULL at the end */
/* The same as an arena array sorted by (namespace, name). */
size_t view_list(const View *view, ViewIndex index, Str ns, Str value, Arena *arena,
                 const KubeObj ***ret_objs);
/* First by name, NULL when there is none. */
const KubeObj *view_first(const View *view, ViewIndex index, Str ns, Str value);

/* Key ("ns/name" of the reconciled object) that holds a reservation of this uid, or STR_NULL. The
 * key being planned never sees its own. */
Str view_reserved_by(const View *view, Str uid);

/* What an earlier attempt in this pass failed with, NULL when it did not. */
typedef struct ViewFailure {
    PlanVerb verb;
    KubeKindId kind;
    Str ns;
    Str name;
    KubeError error; /* reason, HTTP status (0 = no answer), the API server's text */
} ViewFailure;

const ViewFailure *view_failure(const View *view, PlanVerb verb, KubeKindId kind, Str ns, Str name);
/* All failures of this pass in the order in which they happened. */
size_t view_failures(const View *view, const ViewFailure **ret_failures);

/* ---- for whoever makes the stores ---- */

/* The index table of this kind's store. */
const KubeIndex *view_store_indexes(KubeKindId kind, size_t *ret_n);
/* Label selector of this kind's informer, NULL = everything. */
const char *view_store_selector(KubeKindId kind);
/* Whether that informer would see the object. */
bool view_store_holds(const KubeObj *obj);
