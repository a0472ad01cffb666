/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NetworkPolicy of a template. It selects the Pods of all its Sandboxes, pool members and
 * claimed ones alike, by the template's hash label.
 */
#include "base/hash.h"
#include "controller/template/template.h"
#include "kube/meta.h"
#include "json/semantic.h"

Str template_netpol_name(const KubeObj *template, Arena *arena)
{
    return str_from(arena_printf(arena, STR_FMT "-network-policy", STR_ARG(template->name)));
}

bool template_is_managed(const KubeObj *template)
{
    JNode management = jnode_at(kube_obj_spec(template), "networkPolicyManagement");

    return !str_eq(jnode_str(management), STR("Unmanaged"));
}

/* ---- default rules ---- */

static json_t *match_label(const char *key, const char *value)
{
    json_t *selector = jx_object_new();

    jx_set_path(selector, jx_string_new(str_from(value)), "matchLabels", key);
    return selector;
}

/* From the router's Pods in the system namespace, on all ports. */
static json_t *default_ingress(void)
{
    json_t *rules = jx_array_new();
    json_t *rule = jx_object_new();
    json_t *peer = jx_object_new();

    jx_set(peer, "podSelector", match_label("app", "sandbox-router"));
    jx_set(peer, "namespaceSelector",
           match_label("kubernetes.io/metadata.name", "agent-sandbox-system"));
    jx_append(jx_arr(rule, "from"), peer);
    jx_append(rules, rule);
    return rules;
}

static json_t *ip_block(const char *cidr, const char *const *except)
{
    json_t *peer = jx_object_new();
    json_t *block = jx_obj(peer, "ipBlock");

    jx_set_str(block, "cidr", str_from(cidr));
    for (size_t i = 0; except[i]; i++) {
        jx_append(jx_arr(block, "except"), jx_string_new(str_from(except[i])));
    }
    return peer;
}

/* To the public internet only: no private range, no link-local one, so no cluster DNS either. */
static json_t *default_egress(void)
{
    static const char *const private4[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                                           "169.254.0.0/16", NULL};
    static const char *const private6[] = {"fc00::/7", "fe80::/10", NULL};
    json_t *rules = jx_array_new();
    json_t *rule = jx_object_new();
    json_t *to = jx_arr(rule, "to");

    jx_append(to, ip_block("0.0.0.0/0", private4));
    jx_append(to, ip_block("::/0", private6));
    jx_append(rules, rule);
    return rules;
}

/* ---- the object ---- */

/* A missing list and an empty one both deny everything in that direction. */
static void set_rules(json_t *spec, const char *direction, JNode rules)
{
    if (jnode_len(rules) > 0) {
        jx_set(spec, direction, jnode_to_jansson(rules));
    }
}

static json_t *desired_spec(const KubeObj *template)
{
    JNode rules = jnode_at(kube_obj_spec(template), "networkPolicy");
    json_t *spec = jx_object_new();
    json_t *types = jx_arr(spec, "policyTypes");
    char hash[HASH_HEX_SIZE];

    hash_name(template->name, hash);
    jx_set(spec, "podSelector", match_label(LABEL_TEMPLATE_REF_HASH, hash));
    jx_append(types, jx_string_new(STR("Ingress")));
    jx_append(types, jx_string_new(STR("Egress")));
    if (jnode_type(rules) == JTYPE_OBJECT) {
        set_rules(spec, "ingress", jnode_get(rules, STR("ingress")));
        set_rules(spec, "egress", jnode_get(rules, STR("egress")));
    } else {
        jx_set(spec, "ingress", default_ingress());
        jx_set(spec, "egress", default_egress());
    }
    return spec;
}

json_t *template_netpol_desired(const KubeObj *template)
{
    AUTO(arena) Arena arena;
    json_t *policy;

    arena_init(&arena, 0);
    policy =
        kube_meta_new(kube_kind(KUBE_NETPOL), template->ns, template_netpol_name(template, &arena));
    kube_meta_set_owner(policy, template);
    jx_set(policy, "spec", desired_spec(template));
    return policy;
}

/* ---- comparison ---- */

/* What the API server fills in: the protocol of a port. */
static void default_ports(json_t *spec, const char *direction)
{
    json_t *rule;
    size_t i;

    json_array_foreach(json_object_get(spec, direction), i, rule)
    {
        json_t *port;
        size_t k;

        json_array_foreach(json_object_get(rule, "ports"), k, port)
        {
            if (jx_get_str(port, "protocol").len == 0) {
                jx_set_str(port, "protocol", STR("TCP"));
            }
        }
    }
}

json_t *template_netpol_patch(const KubeObj *template, const KubeObj *live)
{
    AUTO(json) json_t *want = desired_spec(template);
    AUTO(json) json_t *have = jnode_to_jansson(kube_obj_spec(live));
    json_t *patch;
    json_t *spec;

    if (!have) {
        have = jx_object_new();
    }
    default_ports(want, "ingress");
    default_ports(want, "egress");
    default_ports(have, "ingress");
    default_ports(have, "egress");
    if (jx_equal_semantic(have, want)) {
        return NULL;
    }
    spec = jx_merge_patch_make(have, want);
    if (!spec) {
        return NULL;
    }
    patch = jx_object_new();
    jx_set(patch, "spec", spec);
    return patch;
}
