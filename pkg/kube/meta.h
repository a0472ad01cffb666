/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Rules and builders for object metadata and conditions. Validators return true for what the API
 * server would accept; builders work on Jansson trees and own nothing.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/object.h"
#include "json/doc.h"
#include "json/jx.h"

#define KUBE_LABEL_MAX 63 /* DNS label, name part of a qualified name, label value */
#define KUBE_SUBDOMAIN_MAX 253

bool kube_name_is_label(Str s);        /* DNS-1123 label */
bool kube_name_is_service(Str s);      /* DNS-1035 label: starts with a letter */
bool kube_name_is_subdomain(Str s);    /* DNS-1123 subdomain */
bool kube_name_is_qualified(Str s);    /* label or annotation key: [subdomain/]name */
bool kube_label_value_is_valid(Str s); /* empty is fine */

/* A new controller owner reference to obj (controller and blockOwnerDeletion true). */
json_t *kube_meta_owner_ref(const KubeObj *owner);
/* Sets object.metadata.ownerReferences to exactly that reference. */
void kube_meta_set_owner(json_t *object, const KubeObj *owner);
void kube_meta_set_label(json_t *object, const char *key, Str value);
void kube_meta_set_annotation(json_t *object, const char *key, Str value);
/* {"apiVersion","kind","metadata":{"namespace","name"}}; name STR_NULL = none. */
json_t *kube_meta_new(const KubeKind *kind, Str ns, Str name);

typedef struct KubeCondition {
    const char *type;
    const char *status; /* "True", "False", "Unknown" */
    const char *reason;
    Str message;
    int64_t observed_generation; /* 0 = leave out */
} KubeCondition;

/*
 * meta.SetStatusCondition on an array of conditions: matched by type, appended when new,
 * lastTransitionTime moves only when status changes (to now_wall_ns, in seconds), the rest is
 * always overwritten. True when something changed.
 */
bool kube_condition_set(json_t *conditions, const KubeCondition *condition, int64_t now_wall_ns);
bool kube_condition_remove(json_t *conditions, const char *type);  /* true when it was there */
json_t *kube_condition_find(json_t *conditions, const char *type); /* borrowed, NULL = absent */

/*
 * The merge patch of metadata for a compare-and-swap: {"metadata":{"resourceVersion":rv,...}}.
 * Adds the version to patch, which is created when *patch is NULL.
 */
void kube_patch_require_rv(json_t **patch, Str rv);
/* Sets member `path` of metadata.labels or .annotations in a patch; value STR_NULL = null. */
void kube_patch_label(json_t **patch, const char *key, Str value);
void kube_patch_annotation(json_t **patch, const char *key, Str value);
