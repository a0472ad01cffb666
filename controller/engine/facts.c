/* SPDX-License-Identifier: Apache-2.0 */
/* See facts.h. */
#include "controller/engine/facts.h"

void facts_init(Facts *facts)
{
    *facts = (Facts){0};
}

static void read_clear(FactRead *read)
{
    free(read->ns);
    free(read->name);
    read->obj = kube_obj_unref(read->obj);
}

static void failure_clear(ViewFailure *failure)
{
    free((char *)failure->ns.ptr);
    free((char *)failure->name.ptr);
}

void facts_deinit(Facts *facts)
{
    vec_foreach (&facts->reads, read) {
        read_clear(read);
    }
    vec_foreach (&facts->failures, failure) {
        failure_clear(failure);
    }
    vec_free(&facts->reads);
    vec_free(&facts->failures);
}

const FactRead *facts_read(const Facts *facts, KubeKindId kind, Str ns, Str name)
{
    for (size_t i = 0; i < facts->reads.len; i++) {
        const FactRead *read = &facts->reads.ptr[i];

        if (read->kind == kind && str_eq(str_from(read->name), name) &&
            str_eq(str_from(read->ns), ns)) {
            return read;
        }
    }
    return NULL;
}

void facts_drop_read(Facts *facts, KubeKindId kind, Str ns, Str name)
{
    const FactRead *read = facts_read(facts, kind, ns, name);

    if (read) {
        size_t i = (size_t)(read - facts->reads.ptr);

        read_clear(&facts->reads.ptr[i]);
        vec_remove(&facts->reads, i);
    }
}

void facts_add_read(Facts *facts, KubeKindId kind, Str ns, Str name, const KubeObj *obj)
{
    FactRead read = {
        .kind = kind,
        .ns = xstrndup(ns.len ? ns.ptr : "", ns.len),
        .name = xstrndup(name.ptr, name.len),
        .obj = obj ? kube_obj_ref(obj) : NULL,
    };

    facts_drop_read(facts, kind, ns, name);
    if (facts->reads.len == FACTS_MAX) {
        read_clear(&facts->reads.ptr[0]);
        vec_remove(&facts->reads, 0);
    }
    vec_push(&facts->reads, read);
}

void facts_add_failure(Facts *facts, const PlanAction *action, const KubeError *error)
{
    ViewFailure failure = {.verb = action->verb, .kind = action->kind, .error = *error};

    if (facts_failure(facts, action->verb, action->kind, action->ns, action->name)) {
        return;
    }
    if (facts->failures.len == FACTS_MAX) {
        failure_clear(&facts->failures.ptr[0]);
        vec_remove(&facts->failures, 0);
    }
    failure.ns =
        (Str){xstrndup(action->ns.len ? action->ns.ptr : "", action->ns.len), action->ns.len};
    failure.name = (Str){xstrndup(action->name.ptr, action->name.len), action->name.len};
    vec_push(&facts->failures, failure);
}

const ViewFailure *facts_failure(const Facts *facts, PlanVerb verb, KubeKindId kind, Str ns,
                                 Str name)
{
    for (size_t i = 0; i < facts->failures.len; i++) {
        const ViewFailure *failure = &facts->failures.ptr[i];

        if (failure->verb == verb && failure->kind == kind && str_eq(failure->name, name) &&
            str_eq(failure->ns, ns)) {
            return failure;
        }
    }
    return NULL;
}
