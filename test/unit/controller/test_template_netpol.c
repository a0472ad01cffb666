/* SPDX-License-Identifier: Apache-2.0 */
/* Templates and their NetworkPolicies. */
#include "base/mem.h"
#include "controller/template/template.h"
#include "test/harness/t.h"
#include "test/unit/controller/golden.h"
#include "test/unit/controller/props.h"

#define KEY ((KubeKey){STR("a"), STR("template-0")})
#define HASH "cd01fec6"
#define CONTROLLED                                                                                 \
    "'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"                \
    "'SandboxTemplate','name':'template-0','uid':'uid-t','controller':true}]"

#define CONTROLLED_BY_OTHER                                                                        \
    "'ownerReferences':[{'apiVersion':'v1','kind':'K','name':'n','uid':'z','controller':true}]"

T_TEST(template_netpol_golden)
{
    static const char *const names[] = {"default", "rules"};

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(kube_obj) KubeObj *template = NULL;
        AUTO(json) json_t *want = NULL;
        AUTO(json) json_t *got = NULL;

        golden_load("template-netpol", names[i], KUBE_TEMPLATE, &template, &want);
        got = template_netpol_desired(template);
        golden_check(names[i], got, want);
    }
}

static void put_template(World *world, const char *spec)
{
    world_put(world, KUBE_TEMPLATE,
              "{'metadata':{'name':'template-0','uid':'uid-t'},'spec':{'podTemplate':{}%s}}", spec);
}

static const json_t *policy(const World *world)
{
    return world_get(world, KUBE_NETPOL, "a", "template-0-network-policy");
}

T_TEST(template_gets_its_label_and_a_policy)
{
    AUTO(world) World world;

    world_init(&world, 1);
    put_template(&world, "");
    T_EQ_INT(world_pass(&world, template_reconciler(), KEY), 2);
    T_EQ_STR(jx_get_str(world_get(&world, KUBE_TEMPLATE, "a", "template-0"), "metadata", "labels",
                        LABEL_TEMPLATE_REF_HASH),
             HASH);
    T_EQ_STR(
        jx_get_str(policy(&world), "spec", "podSelector", "matchLabels", LABEL_TEMPLATE_REF_HASH),
        HASH);
    T_EQ_INT(world_pass(&world, template_reconciler(), KEY), 0);
}

/* The API server completes ports; that is no difference. */
T_TEST(template_policy_is_compared_after_defaulting)
{
    AUTO(world) World world;

    world_init(&world, 1);
    put_template(&world, ",'networkPolicy':{'ingress':[],'egress':[{'ports':[{'port':53}]}]}");
    (void)world_pass(&world, template_reconciler(), KEY);
    world_change(&world, KUBE_NETPOL, "a", "template-0-network-policy",
                 "{'spec':{'egress':[{'ports':[{'port':53,'protocol':'TCP'}]}]}}");
    T_EQ_INT(world_pass(&world, template_reconciler(), KEY), 0);
    world_change(&world, KUBE_NETPOL, "a", "template-0-network-policy",
                 "{'spec':{'egress':[{'ports':[{'port':53,'protocol':'UDP'}]}]}}");
    T_EQ_INT(world_pass(&world, template_reconciler(), KEY), 1);
}

T_TEST(template_change_updates_the_policy_in_place)
{
    AUTO(world) World world;
    AUTO(mem) char *uid = NULL;

    world_init(&world, 1);
    put_template(&world, "");
    (void)world_pass(&world, template_reconciler(), KEY);
    uid = xstrdup(jx_get_str(policy(&world), "metadata", "uid").ptr);
    world_change(&world, KUBE_TEMPLATE, "a", "template-0",
                 "{'spec':{'networkPolicy':{'ingress':[{}]}}}");
    T_EQ_INT(world_pass(&world, template_reconciler(), KEY), 1);
    T_EQ_STR(jx_get_str(policy(&world), "metadata", "uid"), uid);
    T_CHECK(!jx_get(policy(&world), "spec", "egress")); /* closed */
    T_EQ_INT(json_array_size(jx_get(policy(&world), "spec", "ingress")), 1);
}

T_TEST(template_unmanaged_deletes_only_its_own_policy)
{
    AUTO(world) World world;

    world_init(&world, 1);
    put_template(&world, ",'networkPolicyManagement':'Unmanaged'");
    world_put(&world, KUBE_NETPOL, "{'metadata':{'name':'template-0-network-policy'},'spec':{}}");
    (void)world_pass(&world, template_reconciler(), KEY);
    T_CHECK(policy(&world));
    world_change(&world, KUBE_NETPOL, "a", "template-0-network-policy",
                 "{'metadata':{" CONTROLLED "}}");
    (void)world_pass(&world, template_reconciler(), KEY);
    T_CHECK(!policy(&world));
}

T_TEST(template_refuses_a_policy_that_is_not_its_own)
{
    AUTO(world) World world;
    AUTO(arena) Arena arena;
    Plan plan;
    View view;

    world_init(&world, 1);
    put_template(&world, "");
    world_put(&world, KUBE_NETPOL, "{'metadata':{'name':'template-0-network-policy'},'spec':{}}");
    (void)world_pass(&world, template_reconciler(), KEY);
    T_CHECK(!jx_get(policy(&world), "spec", "podSelector"));
    arena_init(&arena, 0);
    plan_init(&plan, &arena);
    view = world_view(&world);
    template_reconciler()->plan(&view, KEY, &arena, &plan);
    T_CONTAINS(plan.error, "refusing to update NetworkPolicy");
    plan_deinit(&plan);
}

/* ---- properties ---- */

static void generate(Rng *rng, World *world)
{
    static const char *const specs[] = {
        "", ",'networkPolicyManagement':'Managed'", ",'networkPolicyManagement':'Unmanaged'",
        ",'networkPolicy':{}",
        ",'networkPolicy':{'ingress':[{'ports':[{'port':80}]}],'egress':[{}]}"};
    static const char *const owners[] = {CONTROLLED, "'x':'y'", CONTROLLED_BY_OTHER};
    static const char *const rules[] = {"", "'policyTypes':['Ingress']",
                                        "'egress':[{}],'ingress':[{'ports':[{'port':80}]}]"};

    if (rng_below(rng, 10) > 0) {
        put_template(world, specs[rng_below(rng, ARRAY_LEN(specs))]);
    }
    if (rng_below(rng, 2)) {
        world_put(
            world, KUBE_NETPOL, "{'metadata':{'name':'template-0-network-policy',%s},'spec':{%s}}",
            owners[rng_below(rng, ARRAY_LEN(owners))], rules[rng_below(rng, ARRAY_LEN(rules))]);
    }
}

T_TEST(template_plans_are_deterministic_fixpoints_and_prefix_safe)
{
    const PropsSpec spec = {.reconciler = template_reconciler(), .key = KEY, .generate = generate};

    props_check(&spec, 1, 300);
}
