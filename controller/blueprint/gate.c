/* SPDX-License-Identifier: Apache-2.0 */
/* See gate.h. The policy has to be the template's own: a foreign one of that name confines others.
 */
#include "controller/blueprint/gate.h"

#include "controller/keys.h"

bool template_gate_is_open(const View *view, const KubeObj *template, const TemplateFacts *facts,
                           Arena *arena, const char **ret_name)
{
    const KubeObj *policy;

    if (!facts->policy_managed) {
        return true;
    }
    *ret_name = arena_printf(arena, STR_FMT "-network-policy", STR_ARG(template->name));
    policy = view_get(view, KUBE_NETPOL, template->ns, str_from(*ret_name));
    return policy && kube_obj_controlled_by(policy, template->uid) && !kube_obj_deleting(policy);
}

bool template_gate_opens(const KubeObj *before, const KubeObj *after, Str *ret_template)
{
    KubeOwner owner;

    if (!after || !kube_obj_controller(after, &owner) ||
        !str_eq(owner.kind, STR(KIND_SANDBOX_TEMPLATE))) {
        return false;
    }
    *ret_template = owner.name;
    return !before || !kube_obj_controlled_by(before, owner.uid);
}
