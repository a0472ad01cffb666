/* SPDX-License-Identifier: Apache-2.0 */
/* See view.h. */
#include "controller/engine/view.h"

#include <stdlib.h>

#include "base/check.h"
#include "controller/engine/facts.h"
#include "controller/engine/reserve.h"
#include "controller/keys.h"

static Str index_sandbox_hash(const KubeObj *obj)
{
    return kube_obj_label(obj, STR(LABEL_SANDBOX_NAME_HASH));
}

static Str index_owner(const KubeObj *obj)
{
    KubeOwner owner;

    return kube_obj_controller(obj, &owner) ? owner.uid : STR_NULL;
}

/* What a pool may take in. All its members carry the label too; their number must not matter. */
static Str index_orphan_pool_hash(const KubeObj *obj)
{
    KubeOwner owner;

    return kube_obj_deleting(obj) || kube_obj_controller(obj, &owner)
               ? STR_NULL
               : kube_obj_label(obj, STR(LABEL_WARM_POOL_SANDBOX));
}

static Str index_template_hash(const KubeObj *obj)
{
    return kube_obj_label(obj, STR(LABEL_TEMPLATE_REF_HASH));
}

static Str index_claim_pool(const KubeObj *obj)
{
    return jnode_str(jnode_at(kube_obj_spec(obj), "warmPoolRef", "name"));
}

static Str index_claim_assignment(const KubeObj *obj)
{
    return kube_obj_annotation(obj, STR(ANNOTATION_SANDBOX_NAME));
}

/* Claims without a Sandbox, and those that take another when theirs is gone. Few at any time, while
 * a pool may have served thousands. */
static Str index_claim_waiting(const KubeObj *obj)
{
    Str bound = jnode_str(jnode_at(kube_obj_status(obj), "sandbox", "name"));

    if (kube_obj_deleting(obj) ||
        (bound.len > 0 && !str_eq(kube_obj_annotation(obj, STR(ANNOTATION_REBIND)), STR("true")))) {
        return STR_NULL;
    }
    return index_claim_pool(obj);
}

static Str index_pool_template(const KubeObj *obj)
{
    return jnode_str(jnode_at(kube_obj_spec(obj), "sandboxTemplateRef", "name"));
}

/* One table a kind, for kube_store_new(); the numbers of `indexes` below refer to it. */
static const KubeIndex pod_indexes[] = {
    {"sandbox-hash", index_sandbox_hash},
    {"owner", index_owner},
};
static const KubeIndex owner_indexes[] = {{"owner", index_owner}};
static const KubeIndex sandbox_indexes[] = {
    {"owner", index_owner},
    {"orphan-pool-hash", index_orphan_pool_hash},
    {"template-hash", index_template_hash},
};
static const KubeIndex claim_indexes[] = {
    {"pool", index_claim_pool},
    {"assignment", index_claim_assignment},
    {"waiting", index_claim_waiting},
};
static const KubeIndex pool_indexes[] = {{"template", index_pool_template}};

const KubeIndex *view_store_indexes(KubeKindId kind, size_t *ret_n)
{
    static const struct {
        const KubeIndex *table;
        size_t n;
    } of_kind[KUBE_KIND_MAX_] = {
        [KUBE_POD] = {pod_indexes, ARRAY_LEN(pod_indexes)},
        [KUBE_SERVICE] = {owner_indexes, ARRAY_LEN(owner_indexes)},
        [KUBE_NETPOL] = {owner_indexes, ARRAY_LEN(owner_indexes)},
        [KUBE_SANDBOX] = {sandbox_indexes, ARRAY_LEN(sandbox_indexes)},
        [KUBE_CLAIM] = {claim_indexes, ARRAY_LEN(claim_indexes)},
        [KUBE_WARMPOOL] = {pool_indexes, ARRAY_LEN(pool_indexes)},
    };

    *ret_n = of_kind[kind].n;
    return of_kind[kind].table;
}

const char *view_store_selector(KubeKindId kind)
{
    switch (kind) {
    case KUBE_POD:
    case KUBE_SERVICE:
    case KUBE_PVC:
        return LABEL_SANDBOX_NAME_HASH;
    default:
        return NULL;
    }
}

bool view_store_holds(const KubeObj *obj)
{
    const char *selector = view_store_selector(obj->kind->id);

    return !selector || kube_obj_label(obj, str_from(selector)).ptr != NULL;
}

static const struct {
    KubeKindId kind;
    unsigned number;
    bool by_ns;
} indexes[VIEW_INDEX_MAX_] = {
    [VIEW_PODS_BY_SANDBOX_HASH] = {KUBE_POD, 0, true},
    [VIEW_PODS_BY_OWNER] = {KUBE_POD, 1, false},
    [VIEW_SERVICES_BY_OWNER] = {KUBE_SERVICE, 0, false},
    [VIEW_NETPOLS_BY_OWNER] = {KUBE_NETPOL, 0, false},
    [VIEW_SANDBOXES_BY_OWNER] = {KUBE_SANDBOX, 0, false},
    [VIEW_ORPHANS_BY_POOL_HASH] = {KUBE_SANDBOX, 1, true},
    [VIEW_SANDBOXES_BY_TEMPLATE] = {KUBE_SANDBOX, 2, true},
    [VIEW_CLAIMS_BY_POOL] = {KUBE_CLAIM, 0, true},
    [VIEW_CLAIMS_BY_ASSIGNMENT] = {KUBE_CLAIM, 1, true},
    [VIEW_CLAIMS_WAITING] = {KUBE_CLAIM, 2, true},
    [VIEW_POOLS_BY_TEMPLATE] = {KUBE_WARMPOOL, 0, true},
};

ViewPresence view_lookup(const View *view, KubeKindId kind, Str ns, Str name,
                         const KubeObj **ret_obj)
{
    const KubeStore *store = view->stores[kind];
    const KubeObj *known = store ? kube_store_get(store, (KubeKey){ns, name}) : NULL;
    const FactRead *read = view->facts ? facts_read(view->facts, kind, ns, name) : NULL;

    if (read && read->obj && (!known || kube_rv_newer(read->obj->rv, known->rv))) {
        known = read->obj;
    }
    if (known) {
        *ret_obj = known;
        return VIEW_PRESENT;
    }
    return read || (store && !view_store_selector(kind)) ? VIEW_ABSENT : VIEW_UNKNOWN;
}

const KubeObj *view_get(const View *view, KubeKindId kind, Str ns, Str name)
{
    const KubeObj *obj = NULL;

    return view_lookup(view, kind, ns, name, &obj) == VIEW_PRESENT ? obj : NULL;
}

ViewIter view_iter(const View *view, ViewIndex index, Str ns, Str value)
{
    const KubeStore *store = view->stores[indexes[index].kind];
    ViewIter it = {.ns = indexes[index].by_ns ? ns : STR_NULL};

    if (store && value.ptr) {
        it.it = kube_store_find(store, indexes[index].number, value);
    }
    return it;
}

const KubeObj *view_next(ViewIter *it)
{
    const KubeObj *obj = it->it.store ? kube_store_next(&it->it) : NULL;

    while (obj && it->ns.ptr && !str_eq(obj->ns, it->ns)) {
        obj = kube_store_next(&it->it);
    }
    return obj;
}

static int compare_by_key(const void *a, const void *b)
{
    const KubeObj *const *x = a;
    const KubeObj *const *y = b;

    return kube_key_cmp(kube_obj_key(*x), kube_obj_key(*y));
}

size_t view_list(const View *view, ViewIndex index, Str ns, Str value, Arena *arena,
                 const KubeObj ***ret_objs)
{
    const KubeStore *store = view->stores[indexes[index].kind];
    size_t max = store && value.ptr ? kube_store_count(store, indexes[index].number, value) : 0;
    const KubeObj **objs = arena_alloc(arena, (max + 1) * sizeof(objs[0]));
    ViewIter it = view_iter(view, index, ns, value);
    const KubeObj *obj;
    size_t n = 0;

    while (n < max && (obj = view_next(&it))) {
        objs[n++] = obj;
    }
    qsort(objs, n, sizeof(objs[0]), compare_by_key);
    *ret_objs = objs;
    return n;
}

const KubeObj *view_first(const View *view, ViewIndex index, Str ns, Str value)
{
    ViewIter it = view_iter(view, index, ns, value);
    const KubeObj *first = view_next(&it);
    const KubeObj *obj;

    while (first && (obj = view_next(&it))) {
        if (kube_key_cmp(kube_obj_key(obj), kube_obj_key(first)) < 0) {
            first = obj;
        }
    }
    return first;
}

Str view_reserved_by(const View *view, Str uid)
{
    Str holder = view->reservations ? reservations_holder(view->reservations, uid) : STR_NULL;

    return holder.ptr && !str_eq(holder, view->self) ? holder : STR_NULL;
}

const ViewFailure *view_failure(const View *view, PlanVerb verb, KubeKindId kind, Str ns, Str name)
{
    return view->facts ? facts_failure(view->facts, verb, kind, ns, name) : NULL;
}

size_t view_failures(const View *view, const ViewFailure **ret_failures)
{
    *ret_failures = view->facts ? view->facts->failures.ptr : NULL;
    return view->facts ? view->facts->failures.len : 0;
}
