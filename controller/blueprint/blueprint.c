/* SPDX-License-Identifier: Apache-2.0 */
/* controller/blueprint/blueprint.c
 *
 * Copying a blueprint, the secure defaults, and the form that is compared and hashed.
 */
#include "controller/blueprint/blueprint.h"

#include <string.h>

#include "base/attr.h"
#include "json/semantic.h"

static const char *const blueprint_members[] = {"podTemplate", "volumeClaimTemplates", "service"};

/* Public resolvers: the cluster's own DNS would tell untrusted code about every Service. */
static const char *const secure_nameservers[] = {"8.8.8.8", "1.1.1.1"};

json_t *blueprint_from_spec(const json_t *spec)
{
    json_t *blueprint = jx_object_new();

    for (size_t i = 0; i < ARRAY_LEN(blueprint_members); i++) {
        const json_t *value = json_object_get(spec, blueprint_members[i]);

        if (value && !json_is_null(value)) {
            jx_set(blueprint, blueprint_members[i], jx_dup(value));
        }
    }
    jx_obj(blueprint, "podTemplate", "metadata");
    jx_obj(blueprint, "podTemplate", "spec");
    return blueprint;
}

static bool is_unset(const json_t *value)
{
    return !value || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

static bool policy_is_default(const json_t *template_spec)
{
    const json_t *management = json_object_get(template_spec, "networkPolicyManagement");

    return (is_unset(management) || str_eq(jx_str(management), STR("Managed"))) &&
           is_unset(json_object_get(template_spec, "networkPolicy"));
}

void blueprint_apply_secure_defaults(json_t *blueprint, const json_t *template_spec)
{
    json_t *pod = jx_obj(blueprint, "podTemplate", "spec");

    if (is_unset(json_object_get(pod, "automountServiceAccountToken"))) {
        jx_set_bool(pod, "automountServiceAccountToken", false);
    }
    if (policy_is_default(template_spec) && is_unset(json_object_get(pod, "dnsPolicy"))) {
        json_t *dns = jx_object_new();
        json_t *servers = jx_arr(dns, "nameservers");

        for (size_t i = 0; i < ARRAY_LEN(secure_nameservers); i++) {
            jx_append(servers, jx_string_new(str_from(secure_nameservers[i])));
        }
        jx_set_str(pod, "dnsPolicy", STR("None"));
        jx_set(pod, "dnsConfig", dns);
    }
}

json_t *blueprint_canonical(const json_t *blueprint)
{
    AUTO(json) json_t *picked = jx_object_new();
    const json_t *claims = json_object_get(blueprint, "volumeClaimTemplates");
    const json_t *service = json_object_get(blueprint, "service");
    const json_t *pod = jx_get(blueprint, "podTemplate", "spec");

    if (pod) {
        jx_set_path(picked, jx_dup(pod), "podTemplate", "spec");
    }
    if (json_is_boolean(service)) {
        /* Three states: false is not absence. Text is what the normal form leaves alone. */
        jx_set_str(picked, "service", json_is_true(service) ? STR("true") : STR("false"));
    }
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *claim = json_array_get(claims, i);
        json_t *entry = jx_object_new();

        jx_set_str(entry, "name", jx_get_str(claim, "metadata", "name"));
        jx_set(entry, "spec", jx_dup(json_object_get(claim, "spec")));
        jx_append(jx_arr(picked, "volumeClaimTemplates"), entry);
    }
    return jx_normalize(picked);
}

void blueprint_hash(const json_t *canonical, char ret_hex[HASH_HEX_SIZE])
{
    jx_hash(canonical, ret_hex);
}
