/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PersistentVolumeClaims of a Sandbox: made once per volumeClaimTemplate and never changed
 * afterwards, so that data outlives suspend, resume and expiry.
 */
#include "controller/sandbox/sandbox.h"
#include "kube/meta.h"

Str sandbox_pvc_name(const KubeObj *sandbox, JNode claim_template, Arena *arena)
{
    Str name = jnode_str(jnode_at(claim_template, "metadata", "name"));

    return str_from(
        arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(name), STR_ARG(sandbox->name)));
}

json_t *sandbox_pvc_desired(const KubeObj *sandbox, JNode claim_template)
{
    AUTO(arena) Arena arena;
    json_t *pvc;
    json_t *annotations;
    json_t *labels;
    json_t *spec;
    char hash[HASH_HEX_SIZE];

    arena_init(&arena, 0);
    hash_name(sandbox->name, hash);
    pvc = kube_meta_new(kube_kind(KUBE_PVC), sandbox->ns,
                        sandbox_pvc_name(sandbox, claim_template, &arena));
    labels = jnode_to_jansson(jnode_at(claim_template, "metadata", "labels"));
    if (json_is_object(labels)) {
        jx_set_path(pvc, labels, "metadata", "labels");
    } else {
        json_decref(labels);
    }
    kube_meta_set_label(pvc, LABEL_SANDBOX_NAME_HASH, str_from(hash));
    annotations = jnode_to_jansson(jnode_at(claim_template, "metadata", "annotations"));
    if (json_object_size(annotations) > 0) {
        jx_set_path(pvc, annotations, "metadata", "annotations");
    } else {
        json_decref(annotations);
    }
    kube_meta_set_owner(pvc, sandbox);
    spec = jnode_to_jansson(jnode_at(claim_template, "spec"));
    jx_set(pvc, "spec", spec ? spec : jx_object_new());
    return pvc;
}

json_t *sandbox_adopt_patch(const KubeObj *sandbox, const KubeObj *child)
{
    json_t *patch = jx_object_new();
    json_t *owners =
        jnode_to_jansson(jnode_at(kube_obj_root(child), "metadata", "ownerReferences"));

    if (!json_is_array(owners)) {
        json_decref(owners);
        owners = jx_array_new();
    }
    jx_append(owners, kube_meta_owner_ref(sandbox));
    jx_set_path(patch, owners, "metadata", "ownerReferences");
    return patch;
}

json_t *sandbox_pvc_patch(const KubeObj *sandbox, const KubeObj *pvc)
{
    AUTO(json)
    json_t *patch = sandbox_ownership(sandbox, pvc) == SANDBOX_UNOWNED
                        ? sandbox_adopt_patch(sandbox, pvc)
                        : jx_object_new();
    char hash[HASH_HEX_SIZE];

    hash_name(sandbox->name, hash);
    if (!str_eq(kube_obj_label(pvc, STR(LABEL_SANDBOX_NAME_HASH)), str_from(hash))) {
        kube_meta_set_label(patch, LABEL_SANDBOX_NAME_HASH, str_from(hash));
    }
    return json_object_size(patch) > 0 ? TAKE(patch) : NULL;
}
