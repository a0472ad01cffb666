/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of a claim, as text: what is written, in which stage, under which condition. */
#include "controller/claim/claim.h"

#include <stdio.h>

#include "controller/engine/meters.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

static const char *plan(Fixture *f)
{
    return fixture_plan(f, claim_plan, "k");
}

static void put_claim(Fixture *f, const char *metadata, const char *spec, const char *status)
{
    fixture_put(f, KUBE_CLAIM,
                "{'metadata':{'name':'k'%s},'spec':{'warmPoolRef':{'name':'p'}%s},'status':%s}",
                metadata, spec, status);
}

static char *quoted(const char *text)
{
    char *copy = xstrdup(text);

    for (char *c = copy; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    return copy;
}

/* The one Ready condition that the plan writes. */
static const json_t *ready_written(const Fixture *f)
{
    const PlanAction *action = fixture_action(f, PLAN_PATCH_STATUS, KUBE_CLAIM);
    const json_t *list = action ? jx_get(action->body, "status", "conditions") : NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(jx_get_str(json_array_get(list, i), "type"), STR("Ready"))) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

static void check_ready(const Fixture *f, const char *reason, const char *message)
{
    const json_t *ready = ready_written(f);

    T_CHECK(ready);
    T_EQ_STR(jx_get_str(ready, "reason"), reason);
    T_EQ_STR(jx_get_str(ready, "message"), message);
}

#define NOW "2026-11-30T12:00:00.000000001Z"

T_TEST(warm_claim_has_two_stages_and_an_event)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *want = NULL;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    put_claim(&f, ",'labels':{'agents.x-k8s.io/created-by':'python-client'}", "", "{}");
    want = quoted(
        "0 patch Sandbox a/m1 if-rv=104 {'metadata':{'labels':{'agents.x-k8s.io/claim-uid':'uid-k',"
        "'agents.x-k8s.io/created-by':'python-client','agents.x-k8s.io/sandbox-pod-template-hash':"
        "null,'agents.x-k8s.io/sandbox-template-hash':null,'agents.x-k8s.io/warm-pool-sandbox':"
        "null},'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1',"
        "'blockOwnerDeletion':true,'controller':true,'kind':'SandboxClaim','name':'k','uid':"
        "'uid-k'}]}}\n"
        "0 patch SandboxClaim a/k if-rv=105 {'metadata':{'annotations':{'agents.x-k8s.io/"
        "claim-first-ready-at':'" NOW "','agents.x-k8s.io/controller-first-observed-at':'" NOW
        "','agents.x-k8s.io/sandbox-name':'m1'}}}\n"
        "1 patch-status SandboxClaim a/k if-rv-of=1 {'status':{'conditions':[{"
        "'lastTransitionTime':'2026-11-30T11:59:30Z','message':'Pod is Ready',"
        "'observedGeneration':1,'reason':'DependenciesReady','status':'True','type':'Ready'}],"
        "'sandbox':{'name':'m1','podIPs':['10.0.0.9']}}}\n"
        "2 event SandboxClaim a/k optional Normal SandboxAdopted Adoption Adopted warm pool "
        "Sandbox 'm1'\n"
        "reserve uid-m1\n");
    T_EQ_STR(plan(&f), want);
    T_EQ_INT(f.plan.n_samples, 7);
    T_EQ_INT(f.plan.samples[0].meter, METER_CLAIM_CREATION_TOTAL);
    T_EQ_STR(f.plan.samples[0].labels[4], "ready");
    T_EQ_STR(f.plan.samples[0].labels[5], "python-client");
}

T_TEST(warm_claim_without_events_and_annotations)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    f.options.disable_claim_events = true;
    f.options.disable_claim_observability = true;
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    put_claim(&f, "", "", "{}");
    plan(&f);
    T_EQ_INT(f.plan.n_actions, 3);
}

T_TEST(metadata_of_the_claim_touches_the_pod_template_only_when_it_must)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *got = NULL;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    put_claim(&f, "", ",'additionalPodMetadata':{'labels':{'sandbox.users.io/team':'red'}}", "{}");
    plan(&f);
    got = jx_dump_sorted(
        jx_get(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->body, "spec", "podTemplate"));
    T_EQ_STR(got, "{\"metadata\":{\"labels\":{\"sandbox.users.io/team\":\"red\"}}}");
}

T_TEST(faults_before_a_sandbox_is_chosen)
{
    static const struct {
        const char *label, *spec, *reason, *message;
    } rows[] = {
        {"bad metadata", ",'additionalPodMetadata':{'labels':{'team':'red'}}", "InvalidMetadata",
         "invalid additionalPodMetadata: label key \"team\" must have a domain prefix"},
        {"conflict with the template", ",'additionalPodMetadata':{'annotations':{'note':'mine'}}",
         "ReconcilerError",
         "Error seen: metadata override conflict: annotation \"note\" is already set by the "
         "template"},
        {"env not allowed", ",'env':[{'name':'A','value':'1'}]", "EnvVarsInjectionRejected",
         "environment variable injection rejected: the template does not allow environment "
         "variables from a claim"},
        {"volumes not allowed", ",'volumeClaimTemplates':[{'metadata':{'name':'d'},'spec':{}}]",
         "VolumeClaimTemplatesError",
         "failed to merge volume claim templates: the template does not allow volume claim "
         "templates from a claim"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;

        t_row(rows[i].label);
        fixture_init(&f);
        fixture_pool(&f, 1, "");
        fixture_put(&f, KUBE_TEMPLATE,
                    "{'metadata':{'name':'t'},'spec':{'podTemplate':{'metadata':{'annotations':"
                    "{'note':'theirs'}},'spec':{'containers':[{'name':'c'}]}}}}");
        fixture_member(&f, "m1", "n1");
        put_claim(&f, "", rows[i].spec, "{}");
        plan(&f);
        check_ready(&f, rows[i].reason, rows[i].message);
        T_EQ_INT(fixture_count(&f, PLAN_PATCH, KUBE_SANDBOX), 0);
        T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 0);
    }
}

T_TEST(a_missing_pool_is_asked_for_before_it_is_told)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    put_claim(&f, "", "", "{}");
    T_EQ_STR(plan(&f), "0 read SandboxWarmPool a/p\n");
    fixture_absent(&f, KUBE_WARMPOOL, "p");
    plan(&f);
    check_ready(&f, "WarmPoolNotFound", "SandboxWarmPool \"p\" not found");
    T_EQ_INT(f.plan.requeue_at_wall_ns - FIXTURE_NOW_NS, 60ll * 1000000000ll);
}

T_TEST(a_missing_template_is_asked_for_before_it_is_told)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_put(&f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p'},'spec':{'sandboxTemplateRef':{'name':'gone'}}}");
    put_claim(&f, "", "", "{}");
    T_EQ_STR(plan(&f), "0 read SandboxTemplate a/gone\n");
    fixture_absent(&f, KUBE_TEMPLATE, "gone");
    plan(&f);
    check_ready(&f, "TemplateNotFound", "SandboxTemplate \"gone\" not found");
}

T_TEST(cold_start_waits_for_the_policy)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 0, "");
    fixture_delete(&f, KUBE_NETPOL, "t-network-policy");
    put_claim(&f, "", "", "{}");
    plan(&f);
    check_ready(&f, "SandboxNotReady", "Waiting for NetworkPolicy \"t-network-policy\"");
    T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 0);
    /* Somebody else's policy of that name confines nobody of ours. */
    fixture_put(&f, KUBE_NETPOL,
                "{'metadata':{'name':'t-network-policy','uid':'other'},'spec':{}}");
    plan(&f);
    T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 0);
}

T_TEST(cold_start_writes_sandbox_status_and_event)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *want = NULL;

    fixture_init(&f);
    fixture_pool(&f, 0, "");
    put_claim(&f, ",'annotations':{'opentelemetry.io/trace-context':'{}'}", "", "{}");
    want = quoted(
        "0 create Sandbox a/k {'apiVersion':'agents.x-k8s.io/v1beta1','kind':'Sandbox','metadata':"
        "{'annotations':{'agents.x-k8s.io/pod-name':'k','agents.x-k8s.io/sandbox-template-ref':'t',"
        "'opentelemetry.io/trace-context':'{}'},'labels':{'agents.x-k8s.io/claim-uid':'uid-k',"
        "'agents.x-k8s.io/launch-type':'cold','agents.x-k8s.io/sandbox-template-ref-hash':"
        "'f10c3da3'},'name':'k','namespace':'a','ownerReferences':[{'apiVersion':"
        "'extensions.agents.x-k8s.io/v1beta1','blockOwnerDeletion':true,'controller':true,'kind':"
        "'SandboxClaim','name':'k','uid':'uid-k'}]},'spec':{'podTemplate':{'metadata':{'labels':"
        "{'agents.x-k8s.io/claim-uid':'uid-k','agents.x-k8s.io/sandbox-template-ref-hash':"
        "'f10c3da3','app':'demo'}},'spec':{'automountServiceAccountToken':false,'containers':"
        "[{'image':'i:1','name':'c'}],'dnsConfig':{'nameservers':['8.8.8.8','1.1.1.1']},"
        "'dnsPolicy':'None'}}}}\n"
        "0 patch SandboxClaim a/k if-rv=104 {'metadata':{'annotations':{"
        "'agents.x-k8s.io/controller-first-observed-at':'" NOW "'}}}\n"
        "1 patch-status SandboxClaim a/k if-rv-of=1 {'status':{'conditions':[{"
        "'lastTransitionTime':'2026-11-30T12:00:00Z','message':'Sandbox is not ready',"
        "'observedGeneration':1,'reason':'SandboxNotReady','status':'False','type':'Ready'}],"
        "'sandbox':{'name':'k'}}}\n"
        "2 event SandboxClaim a/k optional Normal SandboxProvisioned Provisioning Created Sandbox "
        "'k'\n");
    T_EQ_STR(plan(&f), want);
}

/* A Sandbox that belongs to the claim k. */
static void put_own(Fixture *f, const char *name, const char *labels, const char *status)
{
    fixture_put(f, KUBE_SANDBOX,
                "{'metadata':{'name':'%s','labels':{'agents.x-k8s.io/claim-uid':'uid-k',"
                "'agents.x-k8s.io/launch-type':'warm',"
                "'agents.x-k8s.io/sandbox-template-ref-hash':'f10c3da3'%s},'ownerReferences':"
                "[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxClaim','name':"
                "'k','uid':'uid-k','controller':true}]},'spec':{'podTemplate':{'metadata':"
                "{'labels':{'app':'demo'}},'spec':{}}},'status':%s}",
                name, labels, status);
}

#define READY_STATUS                                                                               \
    "{'podIPs':['10.0.0.9'],'conditions':[{'type':'Ready','status':'True','reason':"               \
    "'DependenciesReady','message':'Pod is Ready','lastTransitionTime':'2026-11-30T11:59:30Z'}]}"
#define BOUND_STATUS                                                                               \
    "{'sandbox':{'name':'m1','podIPs':['10.0.0.9']},'conditions':[{'type':'Ready','status':"       \
    "'True','reason':'DependenciesReady','message':'Pod is Ready','lastTransitionTime':"           \
    "'2026-11-30T11:59:30Z','observedGeneration':1}]}"
#define BOUND_META                                                                                 \
    ",'annotations':{'agents.x-k8s.io/sandbox-name':'m1',"                                         \
    "'agents.x-k8s.io/controller-first-observed-at':'x',"                                          \
    "'agents.x-k8s.io/claim-first-ready-at':'x'}"

T_TEST(bound_claim_at_rest_writes_nothing)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_own(&f, "m1", "", READY_STATUS);
    put_claim(&f, BOUND_META, "", BOUND_STATUS);
    T_EQ_STR(plan(&f), "");
    /* Nor when pool and template go. */
    fixture_delete(&f, KUBE_WARMPOOL, "p");
    T_EQ_STR(plan(&f), "");
    fixture_delete(&f, KUBE_TEMPLATE, "t");
    T_EQ_STR(plan(&f), "");
}

T_TEST(adoption_cut_short_is_found_by_its_owner)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m2", "n1");
    put_own(&f, "m1", "", READY_STATUS);
    put_claim(&f, "", "", "{}");
    plan(&f);
    T_EQ_INT(fixture_count(&f, PLAN_PATCH, KUBE_SANDBOX), 0);
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_PATCH_STATUS, KUBE_CLAIM)->body, "status",
                        "sandbox", "name"),
             "m1");
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_PATCH, KUBE_CLAIM)->body, "metadata", "annotations",
                        "agents.x-k8s.io/sandbox-name"),
             "m1");
}

T_TEST(an_assignment_is_kept_while_the_member_is_free)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_member(&f, "m1", "n1");
    fixture_member(&f, "m2", "n1");
    put_claim(&f, ",'annotations':{'agents.x-k8s.io/sandbox-name':'m2'}", "", "{}");
    plan(&f);
    T_EQ_STR(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->name, "m2");
    /* Taken by another pass meanwhile: the next one, and the assignment follows. */
    T_CHECK(reservations_take(&f.reservations, STR("uid-m2"), STR("other")));
    plan(&f);
    T_EQ_STR(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->name, "m1");
    T_EQ_STR(jx_get_str(fixture_action(&f, PLAN_PATCH, KUBE_CLAIM)->body, "metadata", "annotations",
                        "agents.x-k8s.io/sandbox-name"),
             "m1");
}

T_TEST(an_assignment_to_nothing_is_overwritten)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    put_claim(&f, ",'annotations':{'agents.x-k8s.io/sandbox-name':'never-was'}", "", "{}");
    plan(&f);
    T_EQ_STR(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->name, "m1");
}

T_TEST(a_legacy_assignment_label_becomes_an_annotation)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *got = NULL;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_own(&f, "m1", "", READY_STATUS);
    put_claim(&f, ",'labels':{'agents.x-k8s.io/sandbox-name':'m1'}", "", BOUND_STATUS);
    plan(&f);
    got = jx_dump_sorted(
        jx_get(fixture_action(&f, PLAN_PATCH, KUBE_CLAIM)->body, "metadata", "labels"));
    T_EQ_STR(got, "{\"agents.x-k8s.io/sandbox-name\":null}");
}

T_TEST(a_bound_claim_whose_sandbox_is_gone_says_so_and_binds_no_other)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m2", "n1");
    put_claim(&f, BOUND_META, "", BOUND_STATUS);
    T_EQ_STR(plan(&f), "0 read Sandbox a/m1\n");
    fixture_absent(&f, KUBE_SANDBOX, "m1");
    plan(&f);
    check_ready(&f, "SandboxMissing", "Sandbox does not exist");
    T_EQ_INT(fixture_count(&f, PLAN_PATCH, KUBE_SANDBOX), 0);
    put_claim(&f,
              ",'annotations':{'agents.x-k8s.io/sandbox-name':'m1','cofferdam.dev/rebind':'true'}",
              "", BOUND_STATUS);
    plan(&f);
    T_EQ_STR(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->name, "m2");
}

T_TEST(a_foreign_sandbox_under_the_claims_name_is_an_error)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 0, "");
    fixture_put(&f, KUBE_SANDBOX, "{'metadata':{'name':'k'},'spec':{}}");
    put_claim(&f, "", "", "{}");
    plan(&f);
    check_ready(
        &f, "ReconcilerError",
        "Error seen: sandbox \"k\" is not controlled by claim \"k\". Please use a different "
        "claim name or delete the sandbox manually");
}

T_TEST(members_on_their_way_are_waited_for_while_the_claim_is_young)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", NULL);
    put_claim(&f, ",'creationTimestamp':'2026-11-30T11:59:59Z'", "", "{}");
    plan(&f);
    T_EQ_INT(fixture_count(&f, PLAN_PATCH_STATUS, KUBE_CLAIM), 0);
    T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 0);
    T_EQ_INT(f.plan.requeue_at_wall_ns - FIXTURE_NOW_NS, 500ll * 1000000ll);
    f.view.now_wall_ns += 900000000ll;
    plan(&f);
    T_EQ_INT(f.plan.requeue_at_wall_ns - FIXTURE_NOW_NS, 1000ll * 1000000ll);
    f.view.now_wall_ns += 100000000ll;
    plan(&f);
    T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 1);
}

T_TEST(recreate_passes_over_stale_members)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "Recreate");
    fixture_member(&f, "m1", "n1");
    fixture_put(&f, KUBE_TEMPLATE,
                "{'metadata':{'name':'t','generation':2},'spec':{'podTemplate':{'spec':"
                "{'containers':[{'name':'c','image':'i:2'}]}}}}");
    put_claim(&f, "", "", "{}");
    plan(&f);
    T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 1);
    fixture_pool(&f, 1, "OnReplenish");
    plan(&f);
    T_EQ_STR(fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX)->name, "m1");
}

T_TEST(expired_claims)
{
    static const struct {
        const char *label, *policy;
        KubeKindId kind; /* what is deleted */
        bool foreground;
    } rows[] = {
        {"retain is the default", "", KUBE_SANDBOX, false},
        {"retain", ",'shutdownPolicy':'Retain'", KUBE_SANDBOX, false},
        {"delete", ",'shutdownPolicy':'Delete'", KUBE_CLAIM, false},
        {"delete in the foreground", ",'shutdownPolicy':'DeleteForeground'", KUBE_CLAIM, true},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;
        AUTO(mem)
        char *spec =
            xasprintf(",'lifecycle':{'shutdownTime':'2026-11-30T12:00:00Z'%s}", rows[i].policy);
        const PlanAction *action;

        t_row(rows[i].label);
        fixture_init(&f);
        fixture_pool(&f, 1, "");
        put_own(&f, "m1", "", READY_STATUS);
        put_claim(&f, BOUND_META, spec, BOUND_STATUS);
        plan(&f);
        check_ready(&f, "ClaimExpired", "Claim expired. Sandbox cleanup initiated.");
        T_EQ_INT(fixture_action(&f, PLAN_PATCH_STATUS, KUBE_CLAIM)->stage, 0);
        action = fixture_action(&f, PLAN_DELETE, rows[i].kind);
        T_CHECK(action);
        T_EQ_INT(action->stage, 1);
        T_EQ_INT(action->foreground, rows[i].foreground);
        T_EQ_INT(fixture_count(&f, PLAN_DELETE, KUBE_SANDBOX) +
                     fixture_count(&f, PLAN_DELETE, KUBE_CLAIM),
                 1);
        /* A moment earlier nothing of this happens, but the time is kept in mind. */
        f.view.now_wall_ns -= 1;
        T_EQ_INT(plan(&f) && f.plan.n_actions == 0, 1);
        T_EQ_INT(f.plan.requeue_at_wall_ns, FIXTURE_NOW_NS);
    }
}

T_TEST(a_retained_claim_goes_when_the_retention_is_over)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    f.options.expired_retention_ns = 60ll * 1000000000;
    put_claim(&f, BOUND_META, ",'lifecycle':{'shutdownTime':'2026-11-30T11:59:00Z'}", BOUND_STATUS);
    plan(&f);
    T_EQ_INT(fixture_action(&f, PLAN_DELETE, KUBE_CLAIM)->stage, 1);
    f.view.now_wall_ns -= 1;
    plan(&f);
    T_CHECK(!fixture_action(&f, PLAN_DELETE, KUBE_CLAIM));
    T_EQ_INT(f.plan.requeue_at_wall_ns, FIXTURE_NOW_NS);
    f.options.expired_retention_ns = 0;
    plan(&f);
    T_EQ_INT(f.plan.requeue_at_wall_ns, 0);
}

T_TEST(an_expired_claim_starts_nothing)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    put_claim(&f, "", ",'lifecycle':{'shutdownTime':'2020-01-01T00:00:00Z'}", "{}");
    plan(&f);
    check_ready(&f, "ClaimExpired", "Claim expired. Sandbox cleanup initiated.");
    T_EQ_INT(fixture_count(&f, PLAN_PATCH, KUBE_SANDBOX), 0);
}

T_TEST(a_ttl_of_zero_ends_in_the_pass_that_sees_finished)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_own(&f, "m1", "",
            "{'conditions':[{'type':'Ready','status':'False','reason':'PodSucceeded','message':'x',"
            "'lastTransitionTime':'2026-11-30T11:59:58Z'},{'type':'Finished','status':'True',"
            "'reason':'PodSucceeded','message':'Pod completed successfully','lastTransitionTime':"
            "'2026-11-30T11:59:58Z','observedGeneration':1}]}");
    put_claim(&f, BOUND_META, ",'lifecycle':{'ttlSecondsAfterFinished':0}", BOUND_STATUS);
    plan(&f);
    check_ready(&f, "ClaimExpired", "Claim expired. Sandbox cleanup initiated.");
    T_EQ_INT(json_array_size(jx_get(fixture_action(&f, PLAN_PATCH_STATUS, KUBE_CLAIM)->body,
                                    "status", "conditions")),
             2);
    T_EQ_INT(fixture_action(&f, PLAN_DELETE, KUBE_SANDBOX)->stage, 1);
}

T_TEST(pod_trouble_shows_after_half_a_minute)
{
    static const char status[] =
        "{'conditions':[{'type':'Ready','status':'False','reason':'DependenciesNotReady','message':"
        "'Pod exists with phase: Pending','lastTransitionTime':'2026-11-30T11:59:45Z'}]}";
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_own(&f, "m1", "", status);
    fixture_put(&f, KUBE_POD,
                "{'metadata':{'name':'m1','ownerReferences':[{'apiVersion':"
                "'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'m1','uid':'uid-m1',"
                "'controller':true}]},'status':{'containerStatuses':[{'state':{'waiting':"
                "{'reason':'ErrImagePull','message':'not found'}}}]}}");
    put_claim(&f, "", "", "{}");
    plan(&f);
    check_ready(&f, "DependenciesNotReady", "Pod exists with phase: Pending");
    T_EQ_INT(f.plan.requeue_at_wall_ns - FIXTURE_NOW_NS, 15ll * 1000000000ll);
    f.view.now_wall_ns += 15ll * 1000000000ll;
    plan(&f);
    check_ready(&f, "DependenciesNotReady",
                "Pod exists with phase: Pending; ErrImagePull: not found");
}

T_TEST(first_ready_is_noted_once)
{
    AUTO(fixture) Fixture f;
    const PlanAction *action;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_own(&f, "m1", "", READY_STATUS);
    put_claim(&f,
              ",'annotations':{'agents.x-k8s.io/sandbox-name':'m1',"
              "'agents.x-k8s.io/controller-first-observed-at':'2026-11-30T11:59:59.5Z'}",
              "", "{}");
    plan(&f);
    action = fixture_action(&f, PLAN_PATCH, KUBE_CLAIM);
    T_EQ_STR(
        jx_get_str(action->body, "metadata", "annotations", "agents.x-k8s.io/claim-first-ready-at"),
        NOW);
    T_EQ_INT(f.plan.n_samples, 4);
    T_EQ_INT(f.plan.samples[0].meter, METER_CLAIM_CONTROLLER_STARTUP_MS);
    T_EQ_INT(FIXTURE_NOW_NS - f.plan.samples[0].since_wall_ns, 500 * 1000000ll);
    T_EQ_STR(f.plan.samples[0].labels[0], "warm");
    put_claim(&f,
              ",'annotations':{'agents.x-k8s.io/sandbox-name':'m1',"
              "'agents.x-k8s.io/controller-first-observed-at':'x'}",
              "", BOUND_STATUS);
    plan(&f);
    action = fixture_action(&f, PLAN_PATCH, KUBE_CLAIM);
    T_EQ_STR(
        jx_get_str(action->body, "metadata", "annotations", "agents.x-k8s.io/claim-first-ready-at"),
        "unknown");
    T_EQ_INT(f.plan.n_samples, 0);
}

T_TEST(refused_creates_are_told_and_not_repeated_in_the_pass)
{
    static const struct {
        KubeReason reason;
        const char *want, *message;
    } rows[] = {
        {KUBE_REASON_INVALID, "InvalidConfiguration", "spec.x: bad"},
        {KUBE_REASON_FORBIDDEN, "ReconcilerError", "Error seen: spec.x: bad"},
        {KUBE_REASON_SERVER, "ReconcilerError", "Error seen: spec.x: bad"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;
        PlanAction create = {
            .verb = PLAN_CREATE, .kind = KUBE_SANDBOX, .ns = STR("a"), .name = STR("k")};
        KubeError error = {.reason = rows[i].reason, .msg = "spec.x: bad"};

        t_row(kube_reason_name(rows[i].reason));
        fixture_init(&f);
        fixture_pool(&f, 0, "");
        put_claim(&f, "", "", "{}");
        facts_add_failure(&f.facts, &create, &error);
        plan(&f);
        T_EQ_INT(fixture_count(&f, PLAN_CREATE, KUBE_SANDBOX), 0);
        check_ready(&f, rows[i].want, rows[i].message);
    }
}

T_TEST(sandboxes_beyond_the_first_are_given_back)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 0, "");
    put_own(&f, "a1", "", READY_STATUS);
    put_own(&f, "m1", "", READY_STATUS);
    put_claim(&f, BOUND_META, "", BOUND_STATUS);
    T_EQ_STR(plan(&f), "0 read SandboxClaim a/k\n");
    fixture_confirmed(&f, KUBE_CLAIM, "k");
    T_CONTAINS(plan(&f), "0 delete Sandbox a/a1 if-rv=104 if-uid=uid-a1");
}

T_TEST(a_deleted_or_deleting_claim_is_left_alone)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    T_EQ_STR(plan(&f), "");
    put_claim(&f, ",'deletionTimestamp':'2026-11-30T11:00:00Z'", "", "{}");
    T_EQ_STR(plan(&f), "");
}

T_TEST(a_policy_that_was_made_for_the_claim_is_removed)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    put_own(&f, "m1", "", READY_STATUS);
    put_claim(&f, BOUND_META, "", BOUND_STATUS);
    fixture_put(&f, KUBE_NETPOL,
                "{'metadata':{'name':'k-network-policy','ownerReferences':[{'apiVersion':"
                "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxClaim','name':'k','uid':"
                "'uid-k','controller':true}]},'spec':{}}");
    T_EQ_STR(plan(&f), "0 delete NetworkPolicy a/k-network-policy if-uid=uid-k-network-policy "
                       "optional\n");
}
