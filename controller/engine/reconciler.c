/* SPDX-License-Identifier: Apache-2.0 */
/* Watch rules that every reconciler uses. */
#include "controller/engine/reconciler.h"

void watch_map_self(const View *view, const KubeObj *before, const KubeObj *after, KeySink *sink)
{
    const KubeObj *obj = after ? after : before;

    UNUSED(view);
    key_sink_add(sink, obj->ns, obj->name);
}

static bool owner_of(const KubeObj *obj, Str group, Str kind, KubeOwner *ret_owner)
{
    return obj && kube_obj_controller(obj, ret_owner) && str_eq(ret_owner->api_group, group) &&
           str_eq(ret_owner->kind, kind);
}

void watch_add_owner(const KubeObj *before, const KubeObj *after, Str group, Str kind,
                     KeySink *sink)
{
    KubeOwner owner = {0};
    KubeOwner old = {0};

    if (owner_of(after, group, kind, &owner)) {
        key_sink_add(sink, after->ns, owner.name);
    }
    if (owner_of(before, group, kind, &old) && !str_eq(old.name, owner.name)) {
        key_sink_add(sink, before->ns, old.name);
    }
}
