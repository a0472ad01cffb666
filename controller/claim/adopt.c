/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/adopt.c
 *
 * The patch of a member is built from differences, label by label, so that finishing an adoption
 * that a crash cut short and starting a new one are the same function.
 */
#include "controller/claim/adopt.h"

#include "base/attr.h"
#include "controller/blueprint/blueprint.h"
#include "controller/blueprint/podmeta.h"
#include "controller/claim/env.h"
#include "controller/claim/volumes.h"
#include "controller/keys.h"
#include "kube/meta.h"

static const char *const pool_labels[] = {LABEL_WARM_POOL_SANDBOX, LABEL_TEMPLATE_HASH,
                                          LABEL_POD_TEMPLATE_HASH};

/* Keys of `current` that the system owns go over into `metadata`. */
static void reserved_keep(json_t *metadata, const json_t *current, const char *map)
{
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(current, map), key, value)
    {
        if (podmeta_key_is_reserved(str_from(key))) {
            json_object_set(jx_obj(metadata, map), key, value);
        }
    }
}

int claim_pod_metadata(const TemplateFacts *facts, const json_t *additional, const json_t *current,
                       Arena *arena, json_t **ret, ClaimFault *ret_fault)
{
    const json_t *base = jx_get(facts->blueprint, "podTemplate", "metadata");
    AUTO(json) json_t *metadata = base ? jx_dup(base) : jx_object_new();
    const char *text = NULL;

    if (podmeta_merge(metadata, additional, arena, &text) != 0) {
        return claim_fault(arena, ret_fault, REASON_RECONCILER_ERROR,
                           "Error seen: metadata override conflict: %s", text);
    }
    reserved_keep(metadata, current, "labels");
    reserved_keep(metadata, current, "annotations");
    *ret = TAKE(metadata);
    return 0;
}

/* Adds the label to the patch when the object has another value; STR_NULL = it must not be there.
 */
static void label_want(json_t **patch, const KubeObj *obj, const char *key, Str value)
{
    Str now = kube_obj_label(obj, str_from(key));

    if ((now.ptr != NULL) != (value.ptr != NULL) || !str_eq(now, value)) {
        kube_patch_label(patch, key, value);
    }
}

static void annotation_want(json_t **patch, const KubeObj *obj, const char *key, Str value)
{
    if (value.len > 0 && !str_eq(kube_obj_annotation(obj, str_from(key)), value)) {
        kube_patch_annotation(patch, key, value);
    }
}

/* The whole owner list becomes one entry, unless it is that already. */
static void owner_want(json_t **patch, const KubeObj *member, const KubeObj *claim)
{
    JNode owners = jnode_at(kube_obj_root(member), "metadata", "ownerReferences");

    if (jnode_len(owners) == 1 && kube_obj_controlled_by(member, claim->uid)) {
        return;
    }
    if (!*patch) {
        *patch = jx_object_new();
    }
    jx_append(jx_arr(*patch, "metadata", "ownerReferences"), kube_meta_owner_ref(claim));
}

/* podTemplate.metadata is replaced key by key, and only when a Pod would look different. */
static void pod_metadata_want(json_t **patch, const KubeObj *member, const json_t *wanted)
{
    AUTO(json)
    json_t *now = jnode_to_jansson(jnode_at(kube_obj_spec(member), "podTemplate", "metadata"));
    json_t *change;

    if (!wanted || podmeta_pod_equal(now, wanted)) {
        return;
    }
    change = jx_merge_patch_make(now, wanted);
    if (change) {
        if (!*patch) {
            *patch = jx_object_new();
        }
        jx_set_path(*patch, change, "spec", "podTemplate", "metadata");
    }
}

static bool is_still_the_pools(const KubeObj *sandbox, const KubeObj *claim)
{
    return !kube_obj_controlled_by(sandbox, claim->uid) ||
           kube_obj_label(sandbox, STR(LABEL_WARM_POOL_SANDBOX)).ptr;
}

bool claim_sandbox_is_warm(const KubeObj *sandbox, const KubeObj *claim)
{
    Str launch = kube_obj_label(sandbox, STR(LABEL_LAUNCH_TYPE));

    if (is_still_the_pools(sandbox, claim)) {
        return true;
    }
    return launch.len > 0 ? str_eq(launch, STR(LAUNCH_TYPE_WARM))
                          : !str_eq(sandbox->name, claim->name);
}

json_t *claim_sandbox_patch(const KubeObj *member, const KubeObj *claim, const TemplateFacts *facts,
                            const json_t *pod_metadata)
{
    bool adopted = is_still_the_pools(member, claim);
    Str launch = kube_obj_label(member, STR(LABEL_LAUNCH_TYPE));
    json_t *patch = NULL;

    owner_want(&patch, member, claim);
    for (size_t i = 0; i < ARRAY_LEN(pool_labels); i++) {
        label_want(&patch, member, pool_labels[i], STR_NULL);
    }
    if (adopted || launch.len == 0) {
        launch =
            claim_sandbox_is_warm(member, claim) ? STR(LAUNCH_TYPE_WARM) : STR(LAUNCH_TYPE_COLD);
    }
    label_want(&patch, member, LABEL_LAUNCH_TYPE, launch);
    label_want(&patch, member, LABEL_CLAIM_UID, claim->uid);
    label_want(&patch, member, LABEL_CREATED_BY, kube_obj_label(claim, STR(LABEL_CREATED_BY)));
    if (facts && (adopted || !kube_obj_label(member, STR(LABEL_TEMPLATE_REF_HASH)).ptr)) {
        label_want(&patch, member, LABEL_TEMPLATE_REF_HASH, str_from(facts->ref_hash));
    }
    if (adopted) {
        annotation_want(&patch, member, ANNOTATION_POD_NAME, member->name);
        annotation_want(&patch, member, ANNOTATION_TRACE_CONTEXT,
                        kube_obj_annotation(claim, STR(ANNOTATION_TRACE_CONTEXT)));
    }
    pod_metadata_want(&patch, member, pod_metadata);
    return patch;
}

static void cold_metadata(json_t *sandbox, const KubeObj *claim, const KubeObj *template,
                          const TemplateFacts *facts)
{
    Str created_by = kube_obj_label(claim, STR(LABEL_CREATED_BY));
    Str trace = kube_obj_annotation(claim, STR(ANNOTATION_TRACE_CONTEXT));
    json_t *labels = jx_obj(sandbox, "spec", "podTemplate", "metadata", "labels");

    kube_meta_set_owner(sandbox, claim);
    kube_meta_set_label(sandbox, LABEL_CLAIM_UID, claim->uid);
    kube_meta_set_label(sandbox, LABEL_LAUNCH_TYPE, STR(LAUNCH_TYPE_COLD));
    kube_meta_set_label(sandbox, LABEL_TEMPLATE_REF_HASH, str_from(facts->ref_hash));
    kube_meta_set_annotation(sandbox, ANNOTATION_TEMPLATE_REF, template->name);
    kube_meta_set_annotation(sandbox, ANNOTATION_POD_NAME, claim->name);
    jx_set_str(labels, LABEL_CLAIM_UID, claim->uid);
    jx_set_str(labels, LABEL_TEMPLATE_REF_HASH, str_from(facts->ref_hash));
    if (created_by.ptr) {
        kube_meta_set_label(sandbox, LABEL_CREATED_BY, created_by);
        jx_set_str(labels, LABEL_CREATED_BY, created_by);
    }
    if (trace.len > 0) {
        kube_meta_set_annotation(sandbox, ANNOTATION_TRACE_CONTEXT, trace);
    }
}

int claim_sandbox_build(const KubeObj *claim, const KubeObj *template, const TemplateFacts *facts,
                        Arena *arena, json_t **ret_sandbox, ClaimFault *ret_fault)
{
    AUTO(json) json_t *spec = jnode_to_jansson(kube_obj_spec(claim));
    AUTO(json) json_t *sandbox = kube_meta_new(kube_kind(KUBE_SANDBOX), claim->ns, claim->name);
    AUTO(json) json_t *blueprint = blueprint_from_spec(facts->spec);
    json_t *metadata = NULL;
    int r;

    r = claim_volumes_merge(blueprint, json_object_get(spec, "volumeClaimTemplates"),
                            jx_get_str(facts->spec, "volumeClaimTemplatesPolicy"), arena,
                            ret_fault);
    if (r != 0) {
        return r;
    }
    r = claim_pod_metadata(facts, json_object_get(spec, "additionalPodMetadata"), NULL, arena,
                           &metadata, ret_fault);
    if (r != 0) {
        return r;
    }
    jx_set(json_object_get(blueprint, "podTemplate"), "metadata", metadata);
    r = claim_env_inject(jx_obj(blueprint, "podTemplate", "spec"), json_object_get(spec, "env"),
                         jx_get_str(facts->spec, "envVarsInjectionPolicy"), arena, ret_fault);
    if (r != 0) {
        return r;
    }
    blueprint_apply_secure_defaults(blueprint, facts->spec);
    jx_set(sandbox, "spec", TAKE(blueprint));
    cold_metadata(sandbox, claim, template, facts);
    *ret_sandbox = TAKE(sandbox);
    return 0;
}
