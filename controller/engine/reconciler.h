/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The contract of a reconciler: a name, the kind of its keys, which changes of which kinds wake
 * which keys, and a pure function from what is known to what is to be done.
 *
 * plan() does no I/O, reads no clock, writes no log and keeps nothing between calls. Three
 * properties are tested on random object states (test/unit/controller/props.h):
 *
 *  - deterministic: the same view gives the same plan, byte for byte;
 *  - fixpoint: the plan after a plan was carried out is empty;
 *  - prefix-safe: carrying out any prefix, then planning again, ends in the same state.
 *
 * Who writes what. The Sandbox reconciler alone writes Pods, Services, PVCs and Sandbox status; it
 * sees a changed owner of a Sandbox in the moment in which the reply to the swap enters the store,
 * and patches the Pod's labels beside the claim's status patch: claims and pools do not. Claims and
 * pools write Sandbox metadata and spec and their own objects; the template reconciler
 * NetworkPolicies and the template's label.
 */
#include "base/arena.h"
#include "base/str.h"
#include "controller/engine/plan.h"
#include "controller/engine/view.h"

/* Where a watch rule puts the keys that a change wakes. */
typedef struct KeySink KeySink;
struct KeySink {
    void (*add)(KeySink *sink, Str ns, Str name);
};

static inline void key_sink_add(KeySink *sink, Str ns, Str name)
{
    sink->add(sink, ns, name);
}

typedef struct WatchRule {
    KubeKindId kind;
    /* `before` is NULL for a new object, `after` for a deleted one. May look at the view (indexes).
     */
    void (*map)(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink);
    /* The keys wait this long, so that changes that come together are planned once. 0 = at once. */
    uint64_t gather_ns;
} WatchRule;

typedef struct Reconciler {
    const char *name;     /* metrics label and log field: "sandbox", "sandboxclaim", … */
    const char *reporter; /* reportingController of its events: "sandbox-controller", … */
    KubeKindId kind;
    bool extension; /* only with --extensions */
    uint64_t backoff_max_ns;
    size_t (*workers)(const ControllerOptions *options); /* most keys in work at once */
    const WatchRule *watches;
    size_t n_watches;
    /* Adds to an empty plan. `arena` is the plan's own. */
    void (*plan)(const View *view, KubeKey key, Arena *arena, Plan *plan);
} Reconciler;

/* For watch rules: the changed object's own key. */
void watch_map_self(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink);
/* The controller owners (before and after) when they are of this group, any version, and kind. */
void watch_add_owner(const KubeObj *before, const KubeObj *after, Str group, Str kind,
                     KeySink *sink);

/* The four of them; manager.c has the table. */
const Reconciler *sandbox_reconciler(void);
const Reconciler *template_reconciler(void);
const Reconciler *warmpool_reconciler(void);
const Reconciler *claim_reconciler(void);
