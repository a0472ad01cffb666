/* SPDX-License-Identifier: Apache-2.0 */
/* What a user reads in a claim that does not become ready, half a minute after it began. */
#include "controller/engine/reconciler.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

#define READY_FALSE(reason, message)                                                               \
    "{'type':'Ready','status':'False','reason':'" reason "','message':'" message                   \
    "','lastTransitionTime':'2026-11-30T11:59:29Z','observedGeneration':1}"
#define PENDING READY_FALSE("DependenciesNotReady", "Pod exists with phase: Pending")

typedef struct Row {
    const char *label;
    const char *sandbox; /* its Ready condition */
    const char *pod;     /* its status, NULL = no Pod */
    const char *reason;
    const char *words; /* in the message */
} Row;

static const Row table[] = {
    {"image pull", PENDING,
     "'phase':'Pending','containerStatuses':[{'state':{'waiting':{'reason':'ImagePullBackOff',"
     "'message':'Back-off pulling image x:1'}}}]",
     "DependenciesNotReady",
     "Pod exists with phase: Pending; ImagePullBackOff: Back-off pulling image x:1"},
    {"no node", PENDING,
     "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
     "'Unschedulable','message':'0/3 nodes are available: 3 Insufficient cpu'}]",
     "DependenciesNotReady",
     "Pod exists with phase: Pending; Unschedulable: 0/3 nodes are available: 3 Insufficient cpu"},
    {"volume not bound", PENDING,
     "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False','reason':"
     "'Unschedulable','message':'pod has unbound immediate PersistentVolumeClaims'}]",
     "DependenciesNotReady", "; Unschedulable: pod has unbound immediate PersistentVolumeClaims"},
    {"volume not mounted", PENDING,
     "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'True'},{'type':"
     "'PodReadyToStartContainers','status':'False'}]",
     "DependenciesNotReady", "; ContainerCreating: volumes or network of Pod"},
    {"quota",
     READY_FALSE("ReconcilerError", "Error seen: failed to create Pod s: exceeded quota: q"), NULL,
     "ReconcilerError", "exceeded quota: q"},
    {"policy",
     READY_FALSE("ReconcilerError", "Error seen: failed to create Pod s: violates PodSecurity"),
     NULL, "ReconcilerError", "violates PodSecurity"},
    {"refused for good", READY_FALSE("InvalidConfiguration", "spec.containers: Required value"),
     NULL, "InvalidConfiguration", "spec.containers: Required value"},
};

static void put(Fixture *f, const Row *row)
{
    fixture_pool(f, 0, "");
    (void)fixture_put(f, KUBE_CLAIM,
                      "{'metadata':{'name':'k'},'spec':{'warmPoolRef':{'name':'p'}},'status':{"
                      "'sandbox':{'name':'k'}}}");
    (void)fixture_put(f, KUBE_SANDBOX,
                      "{'metadata':{'name':'k','ownerReferences':[{'apiVersion':'extensions.agents"
                      ".x-k8s.io/v1beta1','kind':'SandboxClaim','name':'k','uid':'uid-k',"
                      "'controller':true}]},'spec':{'podTemplate':{'spec':{}}},'status':{"
                      "'conditions':[%s]}}",
                      row->sandbox);
    /* Objects of one name would have one uid here. */
    if (row->pod) {
        (void)fixture_put(f, KUBE_POD,
                          "{'metadata':{'name':'k','uid':'uid-pod','ownerReferences':[{"
                          "'apiVersion':'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'k',"
                          "'uid':'uid-k','controller':true}]},'status':{%s}}",
                          row->pod);
    }
}

T_TEST(claims_say_why_they_are_not_ready_within_a_minute)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        AUTO(fixture) Fixture f;
        const PlanAction *action;

        t_row(table[i].label);
        fixture_init(&f);
        put(&f, &table[i]);
        (void)fixture_plan(&f, claim_reconciler()->plan, "k");
        action = fixture_action(&f, PLAN_PATCH_STATUS, KUBE_CLAIM);
        T_CHECK(action);
        T_CHECK(action->coalesce_ns <= 1000000000ull);
        T_CONTAINS(f.dump, table[i].reason);
        T_CONTAINS(f.dump, table[i].words);
        t_row(NULL);
    }
}

T_TEST(a_clients_trace_context_goes_to_the_member_it_gets)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    (void)fixture_member(&f, "m1", "n1");
    (void)fixture_put(&f, KUBE_CLAIM,
                      "{'metadata':{'name':'k','annotations':{'opentelemetry.io/trace-context':"
                      "'w3c'}},'spec':{'warmPoolRef':{'name':'p'}}}");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->body, "metadata",
                        "annotations", "opentelemetry.io/trace-context"),
             "w3c");
}

T_TEST(a_claim_without_a_trace_remembers_the_one_of_this_pass)
{
    static const char key[] = "opentelemetry.io/trace-context";
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    f.view.trace_context = STR("w3c");
    fixture_pool(&f, 1, "");
    (void)fixture_put(&f, KUBE_CLAIM,
                      "{'metadata':{'name':'k'},'spec':{'warmPoolRef':{'name':'p'}}}");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k"); /* cold */
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_CREATE, KUBE_SANDBOX)->body, "metadata",
                        "annotations", key),
             "w3c");
    (void)fixture_member(&f, "m1", "n1");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k"); /* warm */
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->body, "metadata",
                        "annotations", key),
             "w3c");
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_PATCH, KUBE_CLAIM)->body, "metadata", "annotations",
                        key),
             "w3c");
}

/* Turning tracing on must not write to every claim there is. */
T_TEST(a_trace_is_written_down_only_on_a_write_that_is_made_anyway)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    f.view.trace_context = STR("w3c");
    f.options.disable_claim_observability = true;
    fixture_pool(&f, 0, "");
    (void)fixture_put(&f, KUBE_CLAIM,
                      "{'metadata':{'name':'k'},'spec':{'warmPoolRef':{'name':'p'}}}");
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    T_CHECK(fixture_action(&f, PLAN_CREATE, KUBE_SANDBOX));
    T_EQ_INT(fixture_count(&f, PLAN_PATCH, KUBE_CLAIM), 0);
}

static size_t warned(const char *lifecycle, const char *restart)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 0, "");
    (void)fixture_put(&f, KUBE_TEMPLATE,
                      "{'metadata':{'name':'t'},'spec':{'networkPolicyManagement':'Unmanaged',"
                      "'podTemplate':{'spec':{'containers':[{'name':'c'}]%s}}}}",
                      restart);
    (void)fixture_put(&f, KUBE_CLAIM,
                      "{'metadata':{'name':'k'},'spec':{'warmPoolRef':{'name':'p'}%s}}", lifecycle);
    (void)fixture_plan(&f, claim_reconciler()->plan, "k");
    T_CHECK(fixture_action(&f, PLAN_CREATE, KUBE_SANDBOX));
    return fixture_count(&f, PLAN_EVENT, KUBE_CLAIM) - 1; /* beside SandboxProvisioned */
}

T_TEST(a_ttl_that_never_begins_is_warned_of)
{
    static const char ttl[] = ",'lifecycle':{'ttlSecondsAfterFinished':5}";

    T_EQ_INT(warned(ttl, ""), 1);
    T_EQ_INT(warned(ttl, ",'restartPolicy':'Always'"), 1);
    T_EQ_INT(warned(ttl, ",'restartPolicy':'Never'"), 0);
    T_EQ_INT(warned("", ""), 0);
}
