/* SPDX-License-Identifier: Apache-2.0 */
/* Found by the simulator: a time that was prolonged while the delete was on its way. Whoever
 * expires is deleted only as it was judged. */
#include "controller/engine/reconciler.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

T_TEST(an_expired_sandbox_is_deleted_only_as_it_was_judged)
{
    AUTO(fixture) Fixture f;
    const KubeObj *sandbox;
    const PlanAction *action;

    fixture_init(&f);
    sandbox = fixture_put(
        &f, KUBE_SANDBOX,
        "{'metadata':{'name':'s'},'spec':{'shutdownTime':'2026-11-30T11:00:00Z',"
        "'shutdownPolicy':'Delete','podTemplate':{'spec':{}}},'status':{'conditions':[{'type':"
        "'Ready','status':'False','reason':'SandboxExpired'}]}}");
    (void)fixture_plan(&f, sandbox_reconciler()->plan, "s");
    action = fixture_action(&f, PLAN_DELETE, KUBE_SANDBOX);
    T_CHECK(action);
    T_EQ_STR(action->rv, sandbox->rv_text);
}

T_TEST(an_expired_claim_is_deleted_only_as_it_was_judged)
{
    AUTO(fixture) Fixture f;
    const PlanAction *action;

    fixture_init(&f);
    fixture_pool(&f, 0, "OnReplenish");
    (void)fixture_put(&f, KUBE_CLAIM,
                      "{'metadata':{'name':'k'},'spec':{'warmPoolRef':{'name':'p'},'lifecycle':"
                      "{'shutdownTime':'2026-11-30T11:00:00Z','shutdownPolicy':'Delete'}}}");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    action = fixture_action(&f, PLAN_DELETE, KUBE_CLAIM);
    T_CHECK(action && action->rv_of);
    T_CHECK(action->rv_of->verb == PLAN_PATCH_STATUS && action->rv_of->stage < action->stage);
    (void)fixture_put(&f, KUBE_CLAIM,
                      "{'metadata':{'name':'m'},'spec':{'warmPoolRef':{'name':'p'},'lifecycle':"
                      "{'shutdownTime':'2026-11-30T11:00:00Z','shutdownPolicy':'Delete'}},"
                      "'status':{'conditions':[{'type':'Ready','status':'False','reason':"
                      "'ClaimExpired','message':'Claim expired','lastTransitionTime':"
                      "'2026-11-30T11:30:00Z','observedGeneration':1}]}}");
    (void)fixture_plan(&f, claim_reconciler()->plan, "m");
    action = fixture_action(&f, PLAN_DELETE, KUBE_CLAIM);
    T_CHECK(action && (action->rv_of || action->rv.len > 0));
}
