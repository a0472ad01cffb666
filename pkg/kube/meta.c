/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/meta.h"

#include "base/timefmt.h"

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
    return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool kube_name_is_label(Str s)
{
    if (s.len == 0 || s.len > KUBE_LABEL_MAX || s.ptr[0] == '-' || s.ptr[s.len - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (!is_lower_alnum(s.ptr[i]) && s.ptr[i] != '-') {
            return false;
        }
    }
    return true;
}

bool kube_name_is_service(Str s)
{
    return kube_name_is_label(s) && s.ptr[0] >= 'a';
}

bool kube_name_is_subdomain(Str s)
{
    bool edge = true; /* a part begins here, so no '-' or '.' */

    if (s.len == 0 || s.len > KUBE_SUBDOMAIN_MAX) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (is_lower_alnum(c)) {
            edge = false;
        } else if (c == '-' && !edge) {
            edge = i + 1 == s.len || s.ptr[i + 1] == '.';
        } else if (c == '.' && !edge) {
            edge = true;
        } else {
            return false;
        }
    }
    return !edge;
}

/* Letters, digits, '-', '_', '.'; begins and ends with a letter or digit. */
static bool is_name_part(Str s)
{
    if (s.len == 0 || s.len > KUBE_LABEL_MAX || !is_alnum(s.ptr[0]) ||
        !is_alnum(s.ptr[s.len - 1])) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (!is_alnum(s.ptr[i]) && s.ptr[i] != '-' && s.ptr[i] != '_' && s.ptr[i] != '.') {
            return false;
        }
    }
    return true;
}

bool kube_name_is_qualified(Str s)
{
    Str rest;
    Str first = str_cut(s, '/', &rest);

    return rest.ptr ? kube_name_is_subdomain(first) && is_name_part(rest) : is_name_part(first);
}

bool kube_label_value_is_valid(Str s)
{
    return s.len == 0 || is_name_part(s);
}

json_t *kube_meta_owner_ref(const KubeObj *owner)
{
    json_t *ref = jx_object_new();

    jx_set_str(ref, "apiVersion", str_from(owner->kind->api_version));
    jx_set_str(ref, "kind", str_from(owner->kind->kind));
    jx_set_str(ref, "name", owner->name);
    jx_set_str(ref, "uid", owner->uid);
    jx_set_bool(ref, "controller", true);
    jx_set_bool(ref, "blockOwnerDeletion", true);
    return ref;
}

void kube_meta_set_owner(json_t *object, const KubeObj *owner)
{
    json_t *refs = jx_array_new();

    jx_append(refs, kube_meta_owner_ref(owner));
    jx_set(jx_obj(object, "metadata"), "ownerReferences", refs);
}

void kube_meta_set_label(json_t *object, const char *key, Str value)
{
    jx_set_str(jx_obj(object, "metadata", "labels"), key, value);
}

void kube_meta_set_annotation(json_t *object, const char *key, Str value)
{
    jx_set_str(jx_obj(object, "metadata", "annotations"), key, value);
}

json_t *kube_meta_new(const KubeKind *kind, Str ns, Str name)
{
    json_t *object = jx_object_new();
    json_t *meta;

    jx_set_str(object, "apiVersion", str_from(kind->api_version));
    jx_set_str(object, "kind", str_from(kind->kind));
    meta = jx_obj(object, "metadata");
    if (ns.ptr) {
        jx_set_str(meta, "namespace", ns);
    }
    if (name.ptr) {
        jx_set_str(meta, "name", name);
    }
    return object;
}

json_t *kube_condition_find(json_t *conditions, const char *type)
{
    size_t i;
    json_t *condition;

    json_array_foreach(conditions, i, condition)
    {
        if (str_eq(jx_get_str(condition, "type"), str_from(type))) {
            return condition;
        }
    }
    return NULL;
}

/* True when the member was another or absent. */
static bool member_set(json_t *object, const char *key, Str value)
{
    Str now = jx_get_str(object, key);

    if (now.ptr && str_eq(now, value)) {
        return false;
    }
    jx_set_str(object, key, value);
    return true;
}

static bool generation_set(json_t *condition, int64_t generation)
{
    const json_t *now = json_object_get(condition, "observedGeneration");

    if (generation == 0 ? !now : json_is_integer(now) && json_integer_value(now) == generation) {
        return false;
    }
    if (generation != 0) {
        jx_set_i64(condition, "observedGeneration", generation);
    } else {
        jx_set(condition, "observedGeneration", NULL);
    }
    return true;
}

bool kube_condition_set(json_t *conditions, const KubeCondition *condition, int64_t now_wall_ns)
{
    json_t *live = kube_condition_find(conditions, condition->type);
    bool changed = !live;
    char now[TIMEFMT_SIZE];

    if (!live) {
        live = jx_object_new();
        jx_set_str(live, "type", str_from(condition->type));
        jx_append(conditions, live);
    }
    if (member_set(live, "status", str_from(condition->status))) {
        timefmt_seconds(now_wall_ns, now);
        jx_set_str(live, "lastTransitionTime", str_from(now));
        changed = true;
    }
    changed |= member_set(live, "reason", str_from(condition->reason));
    changed |= member_set(live, "message", condition->message.ptr ? condition->message : STR(""));
    changed |= generation_set(live, condition->observed_generation);
    return changed;
}

bool kube_condition_remove(json_t *conditions, const char *type)
{
    size_t i;
    json_t *condition;

    json_array_foreach(conditions, i, condition)
    {
        if (str_eq(jx_get_str(condition, "type"), str_from(type))) {
            json_array_remove(conditions, i);
            return true;
        }
    }
    return false;
}

static json_t *patch_member(json_t **patch, const char *map)
{
    if (!*patch) {
        *patch = jx_object_new();
    }
    return map ? jx_obj(*patch, "metadata", map) : jx_obj(*patch, "metadata");
}

void kube_patch_require_rv(json_t **patch, Str rv)
{
    jx_set_str(patch_member(patch, NULL), "resourceVersion", rv);
}

void kube_patch_label(json_t **patch, const char *key, Str value)
{
    jx_set(patch_member(patch, "labels"), key, value.ptr ? jx_string_new(value) : json_null());
}

void kube_patch_annotation(json_t **patch, const char *key, Str value)
{
    jx_set(patch_member(patch, "annotations"), key, value.ptr ? jx_string_new(value) : json_null());
}
