/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * KubeObj: one received object, immutable and refcounted (not atomic: one thread). It holds what
 * the kind's projection keeps; all Str members point into its document and live as long as it does.
 * What crosses a callback holds a reference.
 *
 * resourceVersions are compared in one function, kube_rv_newer(), so that the assumption that they
 * are numbers sits in one place: one that is not a number counts as newer than anything.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "kube/kind.h"
#include "json/doc.h"

#define KUBE_OBJ_TEXT_MAX (4u << 20) /* bytes of one object as text */

typedef struct KubeKey {
    Str ns;
    Str name;
} KubeKey;

typedef struct KubeObj {
    uint32_t refs;
    const KubeKind *kind;
    JDoc *doc;
    JNode root; /* the object inside doc */
    Str ns;     /* "" when cluster-scoped */
    Str name;
    Str uid;
    Str rv_text;
    uint64_t rv;        /* 0 when rv_text is not a number */
    int64_t created_ns; /* wall time; 0 when unknown */
} KubeObj;

/* The controller owner reference of an object. */
typedef struct KubeOwner {
    Str api_group; /* group part of apiVersion, "" = core */
    Str kind;
    Str name;
    Str uid;
} KubeOwner;

/*
 * Decodes text through the kind's projection. -EINVAL: bad JSON, not this kind (when kind is
 * stated), no metadata.name, a namespaced object without namespace; -E2BIG.
 */
int kube_obj_from_text(const KubeKind *kind, Str text, KubeObj **ret_obj, Err *reterr);
/* The object at `root` of doc; takes a reference on doc. */
int kube_obj_from_doc(const KubeKind *kind, JDoc *doc, JNode root, KubeObj **ret_obj, Err *reterr);

KubeObj *kube_obj_ref(const KubeObj *obj);
KubeObj *kube_obj_unref(KubeObj *obj); /* NULL is fine; returns NULL */

static inline JNode kube_obj_root(const KubeObj *obj)
{
    return obj->root;
}

static inline KubeKey kube_obj_key(const KubeObj *obj)
{
    return (KubeKey){obj->ns, obj->name};
}

static inline bool kube_key_eq(KubeKey a, KubeKey b)
{
    return str_eq(a.name, b.name) && str_eq(a.ns, b.ns);
}

int kube_key_cmp(KubeKey a, KubeKey b); /* by namespace, then name */

JNode kube_obj_spec(const KubeObj *obj);
JNode kube_obj_status(const KubeObj *obj);
Str kube_obj_label(const KubeObj *obj, Str key);      /* STR_NULL when absent */
Str kube_obj_annotation(const KubeObj *obj, Str key); /* STR_NULL when absent */
bool kube_obj_deleting(const KubeObj *obj);           /* deletionTimestamp is set */
int64_t kube_obj_generation(const KubeObj *obj);      /* 0 when absent */
int64_t kube_obj_created_ns(const KubeObj *obj);      /* wall ns, 0 when absent or unreadable */
bool kube_obj_controller(const KubeObj *obj, KubeOwner *ret_owner);
bool kube_obj_controlled_by(const KubeObj *obj, Str uid);
/* The element of status.conditions with this type (JSON_ABSENT when there is none). */
JNode kube_obj_condition(const KubeObj *obj, Str type);
bool kube_obj_condition_is(const KubeObj *obj, Str type, Str status);

/* True when version a is newer than b, for objects of one resource. */
bool kube_rv_newer(uint64_t a, uint64_t b);
uint64_t kube_rv_parse(Str text); /* 0 when it is not a number */

DEFINE_AUTO_PTR(kube_obj, KubeObj, kube_obj_unref)
