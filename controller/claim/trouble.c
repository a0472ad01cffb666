/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/trouble.c
 *
 * The first that applies: the Pod as a whole, then init containers, then containers, in order.
 */
#include "controller/claim/trouble.h"

#include "base/attr.h"

/* Waiting for these is normal. */
static const char *const quiet_reasons[] = {"ContainerCreating", "PodInitializing"};

static const char *trouble_text(Arena *arena, Str reason, Str text)
{
    if (text.len > CLAIM_TROUBLE_TEXT_MAX) {
        text = str_take(text, CLAIM_TROUBLE_TEXT_MAX);
        while (text.len > 0 && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80) {
            text.len--; /* not in the middle of a character */
        }
    }
    if (text.len == 0) {
        return arena_dup(arena, reason);
    }
    return arena_printf(arena, STR_FMT ": " STR_FMT, STR_ARG(reason), STR_ARG(text));
}

static const char *container_trouble(JNode state, Arena *arena)
{
    JNode waiting = jnode_at(state, "waiting");
    JNode terminated = jnode_at(state, "terminated");
    Str reason = jnode_str(jnode_at(waiting, "reason"));

    for (size_t i = 0; i < ARRAY_LEN(quiet_reasons); i++) {
        if (str_eq(reason, str_from(quiet_reasons[i]))) {
            return NULL;
        }
    }
    if (reason.len > 0) {
        return trouble_text(arena, reason, jnode_str(jnode_at(waiting, "message")));
    }
    reason = jnode_str(jnode_at(terminated, "reason"));
    if (reason.len > 0 && !str_eq(reason, STR("Completed"))) {
        Str text = jnode_str(jnode_at(terminated, "message"));

        if (text.len == 0) {
            text =
                str_from(arena_printf(arena, "exit code %lld",
                                      (long long)jnode_i64(jnode_at(terminated, "exitCode"), 0)));
        }
        return trouble_text(arena, reason, text);
    }
    return NULL;
}

static const char *containers_trouble(JNode statuses, Arena *arena)
{
    JIter it = jnode_iter(statuses);
    JNode status;

    while (jiter_next(&it, NULL, &status)) {
        const char *text = container_trouble(jnode_at(status, "state"), arena);

        if (text) {
            return text;
        }
    }
    return NULL;
}

/* The kubelet tells of volumes and the network in Events only, which we may not read; the Pod at
 * least says that its sandbox is not up, which comes before any image is pulled. */
static const char *sandbox_trouble(const KubeObj *pod, Arena *arena)
{
    JNode started = kube_obj_condition(pod, STR("PodReadyToStartContainers"));

    if (!str_eq(jnode_str(jnode_at(started, "status")), STR("False")) ||
        !str_eq(jnode_str(jnode_at(kube_obj_status(pod), "phase")), STR("Pending"))) {
        return NULL;
    }
    return arena_printf(arena,
                        "ContainerCreating: volumes or network of Pod \"" STR_FMT
                        "\" are not ready, see its Events",
                        STR_ARG(pod->name));
}

const char *claim_pod_trouble(const KubeObj *pod, Arena *arena)
{
    JNode status = kube_obj_status(pod);
    JNode scheduled = kube_obj_condition(pod, STR("PodScheduled"));
    Str reason = jnode_str(jnode_at(status, "reason"));
    const char *text;

    if (reason.len > 0) {
        return trouble_text(arena, reason, jnode_str(jnode_at(status, "message")));
    }
    reason = jnode_str(jnode_at(scheduled, "reason"));
    if (str_eq(jnode_str(jnode_at(scheduled, "status")), STR("False")) && reason.len > 0) {
        return trouble_text(arena, reason, jnode_str(jnode_at(scheduled, "message")));
    }
    text = containers_trouble(jnode_at(status, "initContainerStatuses"), arena);
    text = text ? text : containers_trouble(jnode_at(status, "containerStatuses"), arena);
    return text ? text : sandbox_trouble(pod, arena);
}
