/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of a pool: filling, shrinking, rollouts, stuck members, status. */
#include "controller/warmpool/warmpool.h"

#include <stdio.h>

#include "controller/warmpool/census.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

static const char *plan(Fixture *f)
{
    return fixture_plan(f, warmpool_plan, "p");
}

static size_t creates(const Fixture *f)
{
    return fixture_count(f, PLAN_CREATE, KUBE_SANDBOX);
}

static size_t deletes(const Fixture *f)
{
    return fixture_count(f, PLAN_DELETE, KUBE_SANDBOX);
}

static bool is_deleted(const Fixture *f, const char *name)
{
    for (size_t i = 0; i < f->plan.n_actions; i++) {
        if (f->plan.actions[i]->verb == PLAN_DELETE &&
            str_eq(f->plan.actions[i]->name, str_from(name))) {
            return true;
        }
    }
    return false;
}

static char *status_written(const Fixture *f)
{
    const PlanAction *action = fixture_action(f, PLAN_PATCH_STATUS, KUBE_WARMPOOL);

    return action ? jx_dump_sorted(json_object_get(action->body, "status")) : xstrdup("");
}

static void members(Fixture *f, const char *prefix, int n, const char *node)
{
    char name[32];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s%d", prefix, i);
        fixture_member(f, name, node);
    }
}

T_TEST(an_empty_pool_makes_its_members_and_tells_of_them_once)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *status = NULL;
    AUTO(mem) char *body = NULL;
    const PlanAction *create;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    plan(&f);
    T_EQ_INT(creates(&f), 2);
    create = fixture_action(&f, PLAN_CREATE, KUBE_SANDBOX);
    T_EQ_INT(create->priority, KUBE_PRIO_LOW);
    T_CHECK(str_starts(create->name, STR("p-")));
    body = jx_dump_sorted(jx_get(create->body, "metadata", "labels"));
    T_CONTAINS(body, "\"agents.x-k8s.io/launch-type\":\"warm\"");
    T_CONTAINS(body, "\"agents.x-k8s.io/created-by\":\"controller\"");
    T_CONTAINS(body, "\"agents.x-k8s.io/sandbox-template-ref-hash\":\"f10c3da3\"");
    T_CHECK(!jx_get(create->body, "spec", "podTemplate", "metadata", "annotations"));
    T_EQ_STR(
        jx_get_str(create->body, "metadata", "annotations", "agents.x-k8s.io/sandbox-template-ref"),
        "t");
    status = status_written(&f);
    T_EQ_STR(status, "{\"observedGeneration\":1,\"replicas\":2,\"selector\":"
                     "\"agents.x-k8s.io/warm-pool-sandbox=f50c43ef\"}");
    T_EQ_INT(fixture_action(&f, PLAN_PATCH_STATUS, KUBE_WARMPOOL)->stage, 1);
}

T_TEST(the_same_view_gives_the_same_names)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *first = NULL;

    fixture_init(&f);
    fixture_pool(&f, 5, "");
    first = xstrdup(plan(&f));
    T_EQ_STR(plan(&f), first);
}

T_TEST(a_name_that_somebody_has_is_passed_over)
{
    AUTO(fixture) Fixture f;
    AUTO(mem) char *taken = NULL;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    plan(&f);
    taken = xasprintf(STR_FMT, STR_ARG(fixture_action(&f, PLAN_CREATE, KUBE_SANDBOX)->name));
    fixture_put(&f, KUBE_SANDBOX, "{'metadata':{'name':'%s'},'spec':{}}", taken);
    plan(&f);
    T_EQ_INT(creates(&f), 1);
    T_CHECK(!str_eq(fixture_action(&f, PLAN_CREATE, KUBE_SANDBOX)->name, str_from(taken)));
}

T_TEST(nothing_is_made_without_template_or_policy)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_delete(&f, KUBE_NETPOL, "t-network-policy");
    plan(&f);
    T_EQ_INT(creates(&f), 0);
    fixture_put(&f, KUBE_TEMPLATE,
                "{'metadata':{'name':'t','generation':2},'spec':{'networkPolicyManagement':"
                "'Unmanaged','podTemplate':{'spec':{'containers':[]}}}}");
    plan(&f);
    T_EQ_INT(creates(&f), 2);
    fixture_delete(&f, KUBE_TEMPLATE, "t");
    plan(&f);
    T_EQ_INT(creates(&f), 0);
    T_EQ_INT(fixture_count(&f, PLAN_PATCH_STATUS, KUBE_WARMPOOL), 1);
}

T_TEST(creates_come_in_batches)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    f.options.pool_batch_max = 7;
    fixture_pool(&f, 1000000, "");
    plan(&f);
    T_EQ_INT(creates(&f), 7);
}

T_TEST(a_full_pool_is_at_rest)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    members(&f, "m", 2, "n1");
    fixture_put(&f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p'},'spec':{'replicas':2,'sandboxTemplateRef':{'name':'t'}},"
                "'status':{'replicas':2,'readyReplicas':2,'observedGeneration':1,'selector':"
                "'agents.x-k8s.io/warm-pool-sandbox=f50c43ef'}}");
    T_EQ_STR(plan(&f), "");
}

T_TEST(status_is_written_at_once_or_after_a_while)
{
    static const struct {
        const char *label;
        int replicas, ready, was_ready;
        const char *since; /* one member more that is not ready since then, NULL = none */
        unsigned wait_s, lean_wait_s;
        const char *want;
    } rows[] = {
        {"one was claimed", 3, 2, 3, NULL, 3, 10, "{'readyReplicas':2,'replicas':3}"},
        {"its successor starts", 3, 2, 3, "2026-11-30T11:59:01Z", 3, 10,
         "{'readyReplicas':2,'replicas':3}"},
        {"one failed", 3, 2, 3, "2026-11-30T11:59:30Z", 0, 0, "{'readyReplicas':2,'replicas':3}"},
        {"one more, not all", 3, 2, 1, NULL, 1, 10, "{'readyReplicas':2,'replicas':3}"},
        {"all", 3, 3, 2, NULL, 0, 0, "{'readyReplicas':3,'replicas':3}"},
        {"none is null", 3, 0, 1, NULL, 3, 10, "{'readyReplicas':null,'replicas':3}"},
    };

    for (size_t n = 0; n < 2 * ARRAY_LEN(rows); n++) {
        AUTO(fixture) Fixture f;
        AUTO(mem) char *got = NULL;
        size_t i = n / 2;
        bool lean = n % 2 == 1;
        AUTO(mem) char *want = xstrdup(rows[i].want);
        const PlanAction *action;

        t_row(rows[i].label);
        fixture_init(&f);
        f.options.disable_claim_events = f.options.disable_claim_observability = lean;
        fixture_pool(&f, rows[i].replicas, "");
        fixture_put(&f, KUBE_WARMPOOL,
                    "{'metadata':{'name':'p'},'spec':{'replicas':%d,'sandboxTemplateRef':"
                    "{'name':'t'}},'status':{'replicas':2,'readyReplicas':%d,"
                    "'observedGeneration':1,'selector':"
                    "'agents.x-k8s.io/warm-pool-sandbox=f50c43ef'}}",
                    rows[i].replicas, rows[i].was_ready);
        members(&f, "m", rows[i].ready, "n1");
        if (rows[i].since) {
            fixture_put(&f, KUBE_SANDBOX,
                        "{'metadata':{'name':'x','ownerReferences':[{'apiVersion':"
                        "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxWarmPool','name':'p',"
                        "'uid':'uid-p','controller':true}]},'spec':{},'status':{'conditions':"
                        "[{'type':'Ready','status':'False','lastTransitionTime':'%s'}]}}",
                        rows[i].since);
        }
        plan(&f);
        got = status_written(&f);
        for (char *c = want; *c; c++) {
            *c = *c == '\'' ? '"' : *c;
        }
        T_EQ_STR(got, want);
        action = fixture_action(&f, PLAN_PATCH_STATUS, KUBE_WARMPOOL);
        T_EQ_INT(action->coalesce_ns,
                 (lean ? rows[i].lean_wait_s : rows[i].wait_s) * 1000000000ull);
    }
}

T_TEST(scale_down_takes_unready_then_newest)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_member(&f, "old", "n1");
    fixture_member(&f, "unready", NULL);
    f.view.now_wall_ns += 10ll * 1000000000ll;
    fixture_member(&f, "newest", "n1");
    f.view.now_wall_ns -= 5ll * 1000000000ll;
    fixture_member(&f, "newer", "n1");
    plan(&f);
    T_EQ_INT(deletes(&f), 2);
    T_CHECK(is_deleted(&f, "unready"));
    T_CHECK(is_deleted(&f, "newest"));
    T_CHECK(fixture_action(&f, PLAN_DELETE, KUBE_SANDBOX)->rv.len > 0);
}

T_TEST(a_member_that_a_claim_is_taking_is_not_deleted)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 0, "");
    fixture_member(&f, "m", "n1");
    T_CHECK(reservations_take(&f.reservations, STR("uid-m"), STR("claim")));
    plan(&f);
    T_EQ_INT(deletes(&f), 0);
}

static void change_template(Fixture *f)
{
    fixture_put(f, KUBE_TEMPLATE,
                "{'metadata':{'name':'t','generation':2},'spec':{'podTemplate':{'metadata':"
                "{'labels':{'app':'demo'}},'spec':{'containers':[{'name':'c','image':'i:2'}]}}}}");
}

T_TEST(recreate_surges_and_retires_one_for_one)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 8, "Recreate");
    members(&f, "old", 8, "n1");
    change_template(&f);
    plan(&f);
    T_EQ_INT(creates(&f), 2);
    T_EQ_INT(deletes(&f), 0);
    members(&f, "new", 2, NULL);
    plan(&f);
    T_EQ_INT(creates(&f) + deletes(&f), 0);
    fixture_delete(&f, KUBE_SANDBOX, "new0");
    fixture_member(&f, "ready0", "n1");
    plan(&f);
    T_EQ_INT(creates(&f), 0);
    T_EQ_INT(deletes(&f), 1);
}

T_TEST(on_replenish_leaves_stale_members_alone)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "OnReplenish");
    members(&f, "old", 2, "n1");
    change_template(&f);
    plan(&f);
    T_EQ_INT(creates(&f) + deletes(&f), 0);
}

T_TEST(metadata_of_the_template_does_not_roll)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "Recreate");
    members(&f, "old", 1, "n1");
    fixture_put(&f, KUBE_TEMPLATE,
                "{'metadata':{'name':'t','generation':2},'spec':{'podTemplate':{'metadata':"
                "{'labels':{'app':'other'}},'spec':{'containers':[{'name':'c','image':'i:1'}]}}}}");
    plan(&f);
    T_EQ_INT(creates(&f) + deletes(&f), 0);
}

T_TEST(another_template_rolls_even_when_it_says_the_same)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "Recreate");
    members(&f, "old", 1, "n1");
    fixture_put(&f, KUBE_TEMPLATE,
                "{'metadata':{'name':'t2'},'spec':{'networkPolicyManagement':'Unmanaged',"
                "'podTemplate':{'spec':{'containers':[{'name':'c','image':'i:1'}]}}}}");
    fixture_put(&f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p','generation':2},'spec':{'replicas':1,"
                "'sandboxTemplateRef':{'name':'t2'},'updateStrategy':{'type':'Recreate'}}}");
    plan(&f);
    T_EQ_INT(creates(&f), 1);
    T_EQ_INT(deletes(&f), 0);
}

#define OWNED_BY_M                                                                                 \
    "'ownerReferences':[{'apiVersion':'agents.x-k8s.io/v1beta1','kind':'Sandbox','name':'m0',"     \
    "'uid':'uid-m0','controller':true}]"

T_TEST(members_that_stay_unready_are_replaced_or_held)
{
    static const struct {
        const char *label, *pod; /* NULL = no Pod */
        bool held;
    } rows[] = {
        {"no pod", NULL, false},
        {"unschedulable",
         "'status':{'conditions':[{'type':'PodScheduled','status':'False','reason':"
         "'Unschedulable'}]}",
         true},
        {"gated",
         "'status':{'conditions':[{'type':'PodScheduled','status':'False','reason':"
         "'SchedulingGated'}]}",
         true},
        {"init container at work",
         "'status':{'initContainerStatuses':[{'name':'i','state':{'running':{}}}]}", true},
        {"image on its way",
         "'status':{'conditions':[{'type':'PodReadyToStartContainers','status':'True'}],"
         "'containerStatuses':[{'state':{'waiting':{'reason':'ContainerCreating'}}}]}",
         true},
        {"image of an init container on its way",
         "'status':{'conditions':[{'type':'PodReadyToStartContainers','status':'True'}],"
         "'initContainerStatuses':[{'state':{'waiting':{'reason':'PodInitializing'}}}]}",
         true},
        {"waits for a volume",
         "'status':{'conditions':[{'type':'PodReadyToStartContainers','status':'False'}],"
         "'containerStatuses':[{'state':{'waiting':{'reason':'ContainerCreating'}}}]}",
         false},
        {"image cannot be pulled",
         "'status':{'containerStatuses':[{'state':{'waiting':{'reason':'ErrImagePull'}}}]}", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;

        t_row(rows[i].label);
        fixture_init(&f);
        fixture_pool(&f, 1, "");
        fixture_member(&f, "m0", NULL);
        if (rows[i].pod) {
            fixture_put(&f, KUBE_POD, "{'metadata':{'name':'m0'," OWNED_BY_M "},%s}", rows[i].pod);
        }
        plan(&f);
        T_EQ_INT(deletes(&f), 0); /* 60 s old: within the grace of 5 min */
        T_EQ_INT(f.plan.requeue_at_wall_ns - FIXTURE_NOW_NS, 240ll * 1000000000ll);
        f.view.now_wall_ns += 240ll * 1000000000ll;
        plan(&f);
        T_EQ_INT(deletes(&f), rows[i].held ? 0 : 1);
        T_EQ_INT(creates(&f), 0);
        if (rows[i].held) {
            T_EQ_INT(f.plan.requeue_at_wall_ns - f.view.now_wall_ns, 60ll * 1000000000ll);
        }
    }
}

static size_t events(Fixture *f, const char *reason)
{
    const PlanAction *event;

    plan(f);
    event = fixture_action(f, PLAN_EVENT, KUBE_WARMPOOL);
    T_CHECK(fixture_count(f, PLAN_EVENT, KUBE_WARMPOOL) <= 1);
    return event && strcmp(event->event_reason, reason) == 0;
}

T_TEST(held_members_are_told_of_when_it_begins_and_ends)
{
    static const char ready[] =
        "{'metadata':{'name':'m0','creationTimestamp':'2026-11-30T11:00:00Z','ownerReferences':"
        "[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxWarmPool','name':'p',"
        "'uid':'uid-p','controller':true}]},'spec':{},'status':{'conditions':[{'type':'Ready',"
        "'status':'True','lastTransitionTime':'2026-11-30T12:00:00Z'}]}}";
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m0", NULL); /* 60 s old; its grace ends in 240 s */
    fixture_put(&f, KUBE_POD,
                "{'metadata':{'name':'m0'," OWNED_BY_M "},'status':{'conditions':[{'type':"
                "'PodScheduled','status':'False','reason':'Unschedulable'}]}}");
    T_EQ_INT(events(&f, "WarmPoolNotProgressing"), 0);
    f.view.now_wall_ns += 240ll * 1000000000ll;
    T_EQ_INT(events(&f, "WarmPoolNotProgressing"), 1);
    T_CHECK(fixture_action(&f, PLAN_EVENT, KUBE_WARMPOOL)->warning);
    f.view.now_wall_ns += 60ll * 1000000000ll;
    T_EQ_INT(events(&f, "WarmPoolNotProgressing"), 0);
    fixture_put(&f, KUBE_SANDBOX, "%s", ready);
    f.view.now_wall_ns = FIXTURE_NOW_NS;
    T_EQ_INT(events(&f, "WarmPoolProgressing"), 1);
    f.view.now_wall_ns += 60ll * 1000000000ll;
    T_EQ_INT(events(&f, "WarmPoolProgressing"), 0);
}

static uint64_t create_delay(const Fixture *f)
{
    return fixture_action(f, PLAN_CREATE, KUBE_SANDBOX)->coalesce_ns;
}

static void observe_pool(Fixture *f, int replicas)
{
    fixture_put(f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p'},'spec':{'replicas':%d,'sandboxTemplateRef':{'name':'t'}},"
                "'status':{'replicas':2,'readyReplicas':2,'observedGeneration':1}}",
                replicas);
}

T_TEST(successors_give_way_to_claims_but_not_for_long)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    plan(&f);
    T_EQ_INT(create_delay(&f), 0); /* new pool */
    observe_pool(&f, 2);
    plan(&f);
    T_EQ_INT(create_delay(&f), 0); /* nothing ready */
    fixture_member(&f, "m", "n1");
    plan(&f);
    T_EQ_INT(create_delay(&f), 100000000);
    f.options.pool_replenish_delay_ns = 5000000000ll;
    plan(&f);
    T_EQ_INT(create_delay(&f), 5000000000ll);
}

T_TEST(refill_keeps_to_its_rate)
{
    static const struct {
        const char *label;
        double rate;
        int recent; /* made within the second */
        size_t want;
        int64_t again_ms; /* 0 = no need */
    } rows[] = {
        {"no limit", 0, 0, 20, 0},
        {"five a second", 5, 0, 5, 1000},
        {"five a second, two just made", 5, 2, 3, 1000},
        {"five a second, all made", 5, 5, 0, 1000},
        {"one in four seconds", 0.25, 0, 1, 4000},
        {"rate beyond need", 100, 0, 20, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;

        t_row(rows[i].label);
        fixture_init(&f);
        f.options.pool_refill_rate_max = rows[i].rate;
        fixture_pool(&f, 20 + rows[i].recent, "");
        f.view.now_wall_ns += 60ll * 1000000000ll; /* members below are as old as now */
        members(&f, "m", rows[i].recent, "n1");
        f.view.now_wall_ns -= 60ll * 1000000000ll;
        plan(&f);
        T_EQ_INT(creates(&f), rows[i].want);
        T_EQ_INT(rows[i].again_ms ? f.plan.requeue_at_wall_ns - FIXTURE_NOW_NS : 0,
                 rows[i].again_ms * 1000000ll);
    }
}

T_TEST(grace_counts_from_the_last_ready_moment)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_put(&f, KUBE_SANDBOX,
                "{'metadata':{'name':'m','creationTimestamp':'2026-11-01T00:00:00Z',"
                "'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"
                "'SandboxWarmPool','name':'p','uid':'uid-p','controller':true}]},'spec':{},"
                "'status':{'conditions':[{'type':'Ready','status':'False','lastTransitionTime':"
                "'2026-11-30T11:59:00Z'}]}}");
    plan(&f);
    T_EQ_INT(deletes(&f), 0);
}

T_TEST(orphans_that_fit_are_taken_in_and_others_left_alone)
{
    AUTO(fixture) Fixture f;
    const PlanAction *action;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_put(&f, KUBE_SANDBOX,
                "{'metadata':{'name':'fits','labels':{'agents.x-k8s.io/warm-pool-sandbox':"
                "'f50c43ef','agents.x-k8s.io/sandbox-template-ref-hash':'f10c3da3'}},'spec':"
                "{'podTemplate':{'spec':{'automountServiceAccountToken':false,'dnsPolicy':'None',"
                "'dnsConfig':{'nameservers':['8.8.8.8','1.1.1.1']},'containers':[{'name':'c',"
                "'image':'i:1'}]}}}}");
    fixture_put(&f, KUBE_SANDBOX,
                "{'metadata':{'name':'differs','labels':{'agents.x-k8s.io/warm-pool-sandbox':"
                "'f50c43ef','agents.x-k8s.io/sandbox-template-ref-hash':'f10c3da3'}},'spec':"
                "{'podTemplate':{'spec':{'containers':[{'name':'c','image':'evil'}]}}}}");
    plan(&f);
    action = fixture_action(&f, PLAN_PATCH, KUBE_SANDBOX);
    T_EQ_STR(action->name, "fits");
    T_CHECK(action->rv.len > 0);
    T_EQ_INT(fixture_count(&f, PLAN_PATCH, KUBE_SANDBOX), 1);
    T_EQ_INT(creates(&f), 1);
    T_EQ_INT(deletes(&f), 0);
}

T_TEST(terminating_members_count_until_they_are_gone)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_put(&f, KUBE_SANDBOX,
                "{'metadata':{'name':'m','deletionTimestamp':'2026-11-30T11:59:00Z',"
                "'ownerReferences':[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':"
                "'SandboxWarmPool','name':'p','uid':'uid-p','controller':true}]},'spec':{}}");
    plan(&f);
    T_EQ_INT(creates(&f), 1);
}

T_TEST(a_refused_create_leaves_the_numbers_to_be_told)
{
    AUTO(fixture) Fixture f;
    PlanAction create = {
        .verb = PLAN_CREATE, .kind = KUBE_SANDBOX, .ns = STR("a"), .name = STR("p-x")};
    KubeError error = {.reason = KUBE_REASON_FORBIDDEN, .msg = "quota"};
    AUTO(mem) char *status = NULL;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_member(&f, "m", "n1");
    facts_add_failure(&f.facts, &create, &error);
    plan(&f);
    T_EQ_INT(creates(&f), 0);
    status = status_written(&f);
    T_CONTAINS(status, "\"replicas\":1");
}

T_TEST(a_deleting_pool_is_left_alone)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_put(&f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p','deletionTimestamp':'2026-11-30T11:59:00Z'},'spec':"
                "{'replicas':2,'sandboxTemplateRef':{'name':'t'}}}");
    T_EQ_STR(plan(&f), "");
    T_EQ_STR(fixture_plan(&f, warmpool_plan, "never"), "");
}
