/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a Sandbox and its children that need nothing but the objects. */
#include "base/timefmt.h"
#include "controller/sandbox/sandbox.h"

bool sandbox_key_is_reserved(Str key)
{
    return str_starts(key, STR(KEY_PREFIX_CORE)) || str_starts(key, STR(KEY_PREFIX_EXTENSIONS)) ||
           str_eq(key, STR(ANNOTATION_TRACE_CONTEXT));
}

SandboxOwnership sandbox_ownership(const KubeObj *sandbox, const KubeObj *child)
{
    KubeOwner owner;

    if (!kube_obj_controller(child, &owner)) {
        return SANDBOX_UNOWNED;
    }
    return str_eq(owner.uid, sandbox->uid) ? SANDBOX_OWNED : SANDBOX_FOREIGN;
}

SandboxOwnerKind sandbox_owner_kind(const KubeObj *sandbox)
{
    KubeOwner owner;

    if (!kube_obj_controller(sandbox, &owner)) {
        return SANDBOX_BY_NOBODY;
    }
    if (!str_eq(owner.api_group, STR(API_GROUP_EXTENSIONS))) {
        return SANDBOX_BY_FOREIGNER;
    }
    if (str_eq(owner.kind, STR(KIND_SANDBOX_WARM_POOL))) {
        return SANDBOX_BY_POOL;
    }
    return str_eq(owner.kind, STR(KIND_SANDBOX_CLAIM)) ? SANDBOX_BY_CLAIM
                                                       : SANDBOX_BY_OTHER_EXTENSION;
}

bool sandbox_is_suspended(const KubeObj *sandbox)
{
    return str_eq(jnode_str(jnode_at(kube_obj_spec(sandbox), "operatingMode")), STR("Suspended"));
}

bool sandbox_may_adopt(const KubeObj *child, const char *hash)
{
    return str_eq(kube_obj_label(child, STR(LABEL_ADOPTABLE)), STR("true")) ||
           str_eq(kube_obj_label(child, STR(LABEL_SANDBOX_NAME_HASH)), str_from(hash));
}

const char *sandbox_owner_text(const KubeObj *child, Arena *arena)
{
    KubeOwner owner;

    if (!kube_obj_controller(child, &owner)) {
        return "nobody";
    }
    return arena_printf(arena, STR_FMT " " STR_FMT " (uid " STR_FMT ")", STR_ARG(owner.kind),
                        STR_ARG(owner.name), STR_ARG(owner.uid));
}

bool sandbox_shutdown_time(const KubeObj *sandbox, int64_t *ret_wall_ns)
{
    Str text = jnode_str(jnode_at(kube_obj_spec(sandbox), "shutdownTime"));

    return text.len > 0 && timefmt_parse(text, ret_wall_ns) == 0;
}
