/* SPDX-License-Identifier: Apache-2.0 */
/* Found by the simulator: a new leader whose cache was behind made a Sandbox for a claim that had
 * been bound before and had lost its own. */
#include "controller/engine/reconciler.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

static void put_claim(Fixture *f, const char *annotations)
{
    (void)fixture_put(f, KUBE_CLAIM,
                      "{'metadata':{'name':'k','annotations':{%s}},'spec':{'warmPoolRef':{'name':"
                      "'p'}},'status':{'sandbox':{'name':'p-1'}}}",
                      annotations);
}

static void put_sandbox(Fixture *f, const char *name)
{
    (void)fixture_put(f, KUBE_SANDBOX,
                      "{'metadata':{'name':'%s','ownerReferences':[{'apiVersion':"
                      "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxClaim','name':'k',"
                      "'uid':'uid-k','controller':true}]},'spec':{'podTemplate':{'spec':{}}}}",
                      name);
}

T_TEST(a_sandbox_that_nobody_was_told_of_does_not_replace_a_lost_one)
{
    AUTO(fixture) Fixture f;
    const PlanAction *action;

    fixture_init(&f);
    fixture_pool(&f, 0, "OnReplenish");
    put_claim(&f, "");
    put_sandbox(&f, "k");
    fixture_absent(&f, KUBE_SANDBOX, "p-1");
    fixture_confirmed(&f, KUBE_CLAIM, "k");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    action = fixture_action(&f, PLAN_DELETE, KUBE_SANDBOX);
    T_CHECK(action);
    T_EQ_STR(action->name, "k");
    action = fixture_action(&f, PLAN_PATCH_STATUS, KUBE_CLAIM);
    T_CHECK(action);
    T_CONTAINS(f.dump, "SandboxMissing");
}

T_TEST(the_sandbox_that_clients_know_stays)
{
    AUTO(fixture) Fixture f;
    const PlanAction *action;

    fixture_init(&f);
    fixture_pool(&f, 0, "OnReplenish");
    put_claim(&f, "");
    put_sandbox(&f, "k");
    put_sandbox(&f, "p-1");
    /* Found by the simulator: a new leader's cache did not know what clients had been told. */
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    T_EQ_STR(f.dump, "0 read SandboxClaim a/k\n");
    fixture_confirmed(&f, KUBE_CLAIM, "k");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    T_EQ_INT(fixture_count(&f, PLAN_DELETE, KUBE_SANDBOX), 1);
    action = fixture_action(&f, PLAN_DELETE, KUBE_SANDBOX);
    T_EQ_STR(action->name, "k");
}

T_TEST(with_rebind_the_new_one_is_taken)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 0, "OnReplenish");
    put_claim(&f, "'cofferdam.dev/rebind':'true'");
    put_sandbox(&f, "k");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    T_EQ_INT(fixture_count(&f, PLAN_DELETE, KUBE_SANDBOX), 0);
}

/* A status bound to the reply of a patch that was bound to nothing would be bound to nothing. */
T_TEST(a_claim_is_written_only_as_it_was_seen)
{
    AUTO(fixture) Fixture f;
    const KubeObj *claim;
    const PlanAction *metadata;
    const PlanAction *status;

    fixture_init(&f);
    fixture_pool(&f, 0, "OnReplenish");
    claim = fixture_put(&f, KUBE_CLAIM,
                        "{'metadata':{'name':'k'},'spec':{'warmPoolRef':{'name':'p'}}}");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    metadata = fixture_action(&f, PLAN_PATCH, KUBE_CLAIM);
    status = fixture_action(&f, PLAN_PATCH_STATUS, KUBE_CLAIM);
    T_CHECK(metadata && status && status->rv_of == metadata);
    T_EQ_STR(metadata->rv, claim->rv_text);
}
