/* SPDX-License-Identifier: Apache-2.0 */
/* controller/claim/env.c
 *
 * Two rounds: entries that name their container, then the others, which go to the first regular
 * container. So within the first container the named ones come first.
 */
#include "controller/claim/env.h"

#include "base/attr.h"

typedef struct Injection {
    json_t *pod;
    bool override; /* the policy lets a claim replace what the template set */
    Arena *arena;
    ClaimFault *ret_fault;
} Injection;

static json_t *container_find(json_t *pod, Str name)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        json_t *list = json_object_get(pod, lists[l]);

        for (size_t i = 0; i < json_array_size(list); i++) {
            json_t *container = json_array_get(list, i);

            if (str_eq(jx_get_str(container, "name"), name)) {
                return container;
            }
        }
    }
    return NULL;
}

static json_t *variable_new(const json_t *entry)
{
    json_t *variable = jx_object_new();

    jx_set_str(variable, "name", jx_get_str(entry, "name"));
    jx_set_str(variable, "value", jx_get_str(entry, "value"));
    return variable;
}

static int variable_put(const Injection *in, json_t *container, const json_t *entry)
{
    Str name = jx_get_str(entry, "name");
    json_t *env = jx_arr(container, "env");

    for (size_t i = 0; i < json_array_size(env); i++) {
        if (!str_eq(jx_get_str(json_array_get(env, i), "name"), name)) {
            continue;
        }
        if (!in->override) {
            return claim_fault(in->arena, in->ret_fault, REASON_RECONCILER_ERROR,
                               "Error seen: environment variable override is not allowed by the "
                               "template policy for variable \"" STR_FMT "\"",
                               STR_ARG(name));
        }
        json_array_set_new(env, i, variable_new(entry));
        return 0;
    }
    jx_append(env, variable_new(entry));
    return 0;
}

static int entry_inject(const Injection *in, const json_t *entry)
{
    Str target = jx_get_str(entry, "containerName");
    json_t *container = target.len > 0 ? container_find(in->pod, target)
                                       : json_array_get(json_object_get(in->pod, "containers"), 0);

    if (!container) {
        return claim_fault(in->arena, in->ret_fault, REASON_RECONCILER_ERROR,
                           "Error seen: container \"" STR_FMT
                           "\" of environment variable \"" STR_FMT "\" is not in the template",
                           STR_ARG(target), STR_ARG(jx_get_str(entry, "name")));
    }
    if (!in->override && json_array_size(json_object_get(container, "envFrom")) > 0) {
        return claim_fault(in->arena, in->ret_fault, REASON_ENV_REJECTED,
                           "environment variable injection rejected: container \"" STR_FMT
                           "\" uses envFrom, and the template policy does not allow overrides",
                           STR_ARG(jx_get_str(container, "name")));
    }
    return variable_put(in, container, entry);
}

int claim_env_inject(json_t *pod, const json_t *env, Str policy, Arena *arena,
                     ClaimFault *ret_fault)
{
    Injection in = {pod, str_eq(policy, STR("Overrides")), arena, ret_fault};

    if (json_array_size(env) == 0) {
        return 0;
    }
    if (!in.override && !str_eq(policy, STR("Allowed"))) {
        return claim_fault(arena, ret_fault, REASON_ENV_REJECTED,
                           "environment variable injection rejected: the template does not allow "
                           "environment variables from a claim");
    }
    for (int named = 1; named >= 0; named--) {
        for (size_t i = 0; i < json_array_size(env); i++) {
            const json_t *entry = json_array_get(env, i);
            bool has_name = jx_get_str(entry, "containerName").len > 0;
            int r;

            if (has_name != (named == 1)) {
                continue;
            }
            r = entry_inject(&in, entry);
            if (r != 0) {
                return r;
            }
        }
    }
    return 0;
}
