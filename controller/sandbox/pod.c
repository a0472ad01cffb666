/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Pod of a Sandbox, and the patch that brings a live Pod's metadata in line.
 *
 * The pod spec is the user's, with one volume per volumeClaimTemplate; it is never changed on a Pod
 * that exists. Metadata is kept in step all the time: keys that came from podTemplate are recorded
 * in two annotations so that they can be taken away again; keys that were never recorded are not
 * ours.
 *
 * safe-to-evict is treated as if podTemplate of a pool's Sandbox had it: recorded, and gone from
 * the Pod as soon as the Sandbox belongs to a claim.
 */
#include <stdlib.h>

#include "base/vec.h"
#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

/* What the Pod's labels and annotations have to be; keys owned by this Sandbox only. */
typedef struct PodMeta {
    json_t *labels;      /* from podTemplate */
    json_t *annotations; /* from podTemplate, and safe-to-evict */
} PodMeta;

static json_t *template_map(const KubeObj *sandbox, const char *member)
{
    JNode map = jnode_at(kube_obj_spec(sandbox), "podTemplate", "metadata", member);
    json_t *result = jx_object_new();
    JIter it = jnode_iter(map);
    Str key;
    JNode value;

    while (jiter_next(&it, &key, &value)) {
        if (jnode_type(value) == JTYPE_STRING && !sandbox_key_is_reserved(key)) {
            (void)json_object_setn_new(result, key.ptr, key.len, jx_string_new(jnode_str(value)));
        }
    }
    return result;
}

static PodMeta pod_meta(const KubeObj *sandbox, bool eviction)
{
    PodMeta meta = {template_map(sandbox, "labels"), template_map(sandbox, "annotations")};

    if (eviction && sandbox_owner_kind(sandbox) == SANDBOX_BY_POOL &&
        !json_object_get(meta.annotations, ANNOTATION_SAFE_TO_EVICT)) {
        jx_set_str(meta.annotations, ANNOTATION_SAFE_TO_EVICT, STR("true"));
    }
    return meta;
}

static void pod_meta_deinit(PodMeta *meta)
{
    json_decref(meta->labels);
    json_decref(meta->annotations);
}

DEFINE_AUTO(pod_meta, PodMeta, pod_meta_deinit)

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of an object, sorted and joined by commas. */
static json_t *key_list(json_t *map)
{
    VEC(const char *) keys = {0};
    AUTO(strbuf) StrBuf text = STRBUF_INIT(1u << 20);
    const char *key;
    json_t *value;

    json_object_foreach(map, key, value)
    {
        UNUSED(value);
        vec_push(&keys, key);
    }
    if (keys.len > 1) {
        qsort(keys.ptr, keys.len, sizeof(keys.ptr[0]), compare_keys);
    }
    for (size_t i = 0; i < keys.len; i++) {
        (void)strbuf_printf(&text, "%s%s", i ? "," : "", keys.ptr[i]);
    }
    vec_free(&keys);
    return jx_string_new(strbuf_str(&text));
}

/* ---- labels that follow from the Sandbox ---- */

static Str created_by(const KubeObj *sandbox)
{
    Str value = kube_obj_label(sandbox, STR(LABEL_CREATED_BY));
    const Str known[] = {STR(CREATED_BY_GO_CLIENT), STR(CREATED_BY_PYTHON_CLIENT),
                         STR(CREATED_BY_CONTROLLER)};

    for (size_t i = 0; value.ptr && i < ARRAY_LEN(known); i++) {
        if (str_eq(value, known[i])) {
            return known[i];
        }
    }
    return value.ptr ? STR(CREATED_BY_UNKNOWN) : STR_NULL;
}

typedef struct SystemLabel {
    const char *key;
    Str value; /* STR_NULL = must not be on the Pod */
} SystemLabel;

#define SYSTEM_LABELS 4

static void system_labels(const KubeObj *sandbox, const char *hash,
                          SystemLabel ret_labels[SYSTEM_LABELS])
{
    SandboxOwnerKind owner = sandbox_owner_kind(sandbox);
    bool extension = owner == SANDBOX_BY_POOL || owner == SANDBOX_BY_CLAIM ||
                     owner == SANDBOX_BY_OTHER_EXTENSION;

    ret_labels[0] = (SystemLabel){LABEL_SANDBOX_NAME_HASH, str_from(hash)};
    ret_labels[1] = (SystemLabel){
        LABEL_WARM_POOL_SANDBOX,
        owner == SANDBOX_BY_POOL ? kube_obj_label(sandbox, STR(LABEL_WARM_POOL_SANDBOX)) : STR_NULL,
    };
    ret_labels[2] = (SystemLabel){
        LABEL_TEMPLATE_REF_HASH,
        extension ? kube_obj_label(sandbox, STR(LABEL_TEMPLATE_REF_HASH)) : STR_NULL,
    };
    ret_labels[3] = (SystemLabel){LABEL_CREATED_BY, created_by(sandbox)};
}

/* ---- a new Pod ---- */

static void add_claim_volumes(const KubeObj *sandbox, json_t *spec)
{
    JIter it = jnode_iter(jnode_at(kube_obj_spec(sandbox), "volumeClaimTemplates"));
    AUTO(arena) Arena arena;
    JNode claim;

    arena_init(&arena, 0);
    while (jiter_next(&it, NULL, &claim)) {
        Str name = jnode_str(jnode_at(claim, "metadata", "name"));
        json_t *volumes = jx_arr(spec, "volumes");
        json_t *volume = jx_object_new();
        json_t *other;
        size_t i;

        json_array_foreach(volumes, i, other)
        {
            if (str_eq(jx_get_str(other, "name"), name)) {
                json_array_remove(volumes, i);
                break;
            }
        }
        jx_set_str(volume, "name", name);
        jx_set_path(volume, jx_string_new(sandbox_pvc_name(sandbox, claim, &arena)),
                    "persistentVolumeClaim", "claimName");
        jx_append(volumes, volume);
    }
}

json_t *sandbox_pod_desired(const KubeObj *sandbox, bool eviction)
{
    json_t *pod = kube_meta_new(kube_kind(KUBE_POD), sandbox->ns, sandbox->name);
    json_t *spec = jnode_to_jansson(jnode_at(kube_obj_spec(sandbox), "podTemplate", "spec"));
    AUTO(pod_meta) PodMeta meta = pod_meta(sandbox, eviction);
    json_t *labels = jx_obj(pod, "metadata", "labels");
    SystemLabel system[SYSTEM_LABELS];
    char hash[HASH_HEX_SIZE];

    hash_name(sandbox->name, hash);
    system_labels(sandbox, hash, system);
    (void)json_object_update(labels, meta.labels);
    for (size_t i = 0; i < SYSTEM_LABELS; i++) {
        if (system[i].value.ptr) {
            jx_set_str(labels, system[i].key, system[i].value);
        }
    }
    if (json_object_size(meta.annotations) > 0) {
        json_t *annotations = jx_obj(pod, "metadata", "annotations");

        (void)json_object_update(annotations, meta.annotations);
        jx_set(annotations, ANNOTATION_PROPAGATED_ANNOTATIONS, key_list(meta.annotations));
    }
    if (json_object_size(meta.labels) > 0) {
        jx_set(jx_obj(pod, "metadata", "annotations"), ANNOTATION_PROPAGATED_LABELS,
               key_list(meta.labels));
    }
    kube_meta_set_owner(pod, sandbox);
    jx_set(pod, "spec", spec ? spec : jx_object_new());
    add_claim_volumes(sandbox, jx_obj(pod, "spec"));
    return pod;
}

/* ---- a live Pod ---- */

/* Members of `want` that differ in the live map go into the patch. */
static void patch_wanted(json_t *patch, JNode live, json_t *want)
{
    const char *key;
    json_t *value;

    json_object_foreach(want, key, value)
    {
        if (!str_eq(jnode_str(jnode_get(live, str_from(key))), jx_str(value)) ||
            !jnode_exists(jnode_get(live, str_from(key)))) {
            jx_set(patch, key, jx_dup(value));
        }
    }
}

/* Keys that were recorded once and are wanted no longer are taken away. */
static void patch_recorded(json_t *patch, JNode live, Str recorded, json_t *want)
{
    while (recorded.ptr) {
        Str key = str_trim(str_cut(recorded, ',', &recorded));

        if (key.len == 0 || str_eq(key, STR(LABEL_SANDBOX_NAME_HASH)) ||
            str_eq(key, STR(ANNOTATION_PROPAGATED_LABELS)) ||
            str_eq(key, STR(ANNOTATION_PROPAGATED_ANNOTATIONS)) ||
            !jnode_exists(jnode_get(live, key)) || json_object_getn(want, key.ptr, key.len)) {
            continue;
        }
        (void)json_object_setn_new(patch, key.ptr, key.len, json_null());
    }
}

static void patch_system_labels(json_t *patch, JNode live, const SystemLabel *system)
{
    for (size_t i = 0; i < SYSTEM_LABELS; i++) {
        Str value = jnode_str(jnode_get(live, str_from(system[i].key)));

        if (system[i].value.ptr && !(value.ptr && str_eq(value, system[i].value))) {
            jx_set_str(patch, system[i].key, system[i].value);
        } else if (!system[i].value.ptr && value.ptr) {
            jx_set(patch, system[i].key, json_null());
        } else {
            (void)json_object_del(patch, system[i].key);
        }
    }
}

/* An absent record and an empty one say the same. */
static void patch_record(json_t *patch, JNode live, const char *key, json_t *want)
{
    AUTO(json) json_t *list = key_list(want);
    Str recorded = jnode_str(jnode_get(live, str_from(key)));

    if (!str_eq(recorded, jx_str(list))) {
        jx_set(patch, key, jx_dup(list));
    }
}

json_t *sandbox_pod_patch(const KubeObj *sandbox, const KubeObj *pod, bool eviction)
{
    AUTO(json) json_t *patch = jx_object_new();
    AUTO(json) json_t *labels = jx_object_new();
    AUTO(json) json_t *annotations = jx_object_new();
    AUTO(pod_meta) PodMeta meta = pod_meta(sandbox, eviction);
    JNode live_labels = jnode_at(kube_obj_root(pod), "metadata", "labels");
    JNode live_annotations = jnode_at(kube_obj_root(pod), "metadata", "annotations");
    SystemLabel system[SYSTEM_LABELS];
    char hash[HASH_HEX_SIZE];

    hash_name(sandbox->name, hash);
    system_labels(sandbox, hash, system);
    patch_wanted(labels, live_labels, meta.labels);
    patch_recorded(labels, live_labels,
                   jnode_str(jnode_get(live_annotations, STR(ANNOTATION_PROPAGATED_LABELS))),
                   meta.labels);
    patch_system_labels(labels, live_labels, system);
    patch_wanted(annotations, live_annotations, meta.annotations);
    patch_recorded(annotations, live_annotations,
                   jnode_str(jnode_get(live_annotations, STR(ANNOTATION_PROPAGATED_ANNOTATIONS))),
                   meta.annotations);
    patch_record(annotations, live_annotations, ANNOTATION_PROPAGATED_LABELS, meta.labels);
    patch_record(annotations, live_annotations, ANNOTATION_PROPAGATED_ANNOTATIONS,
                 meta.annotations);
    if (sandbox_ownership(sandbox, pod) == SANDBOX_UNOWNED) {
        json_decref(patch);
        patch = sandbox_adopt_patch(sandbox, pod);
    }
    if (json_object_size(labels) > 0) {
        jx_set_path(patch, TAKE(labels), "metadata", "labels");
    }
    if (json_object_size(annotations) > 0) {
        jx_set_path(patch, TAKE(annotations), "metadata", "annotations");
    }
    return json_object_size(patch) > 0 ? TAKE(patch) : NULL;
}
