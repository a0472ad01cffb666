/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the condition tables, byte for byte, from object states to the written status. */
#include <stdio.h>

#include "base/mem.h"
#include "controller/keys.h"
#include "test/harness/t.h"
#include "test/unit/controller/world.h"

#define OWNED                                                                                      \
    "'ownerReferences':[{'apiVersion':'agents.x-k8s.io/"                                           \
    "v1beta1','kind':'Sandbox','name':'s','uid':"                                                  \
    "'uid-s','controller':true}],"
#define FOREIGN                                                                                    \
    "'ownerReferences':[{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'uid-r',"     \
    "'controller':true}],"
#define LABELS "'labels':{'agents.x-k8s.io/sandbox-name-hash':'f60c4582'}"
#define SCHEDULED "{'type':'PodScheduled','status':'True'}"
#define READY "{'type':'Ready','status':'True'}"
#define IPS "'podIPs':[{'ip':'10.0.0.7'}]"

typedef struct Row {
    const char *label;
    const char *spec; /* beside podTemplate */
    const char *pod;  /* metadata beside the name, or NULL */
    const char *pod_status;
    const char *service; /* metadata beside the name, or NULL */
    const char *want[5]; /* "Type=Status Reason Message", sorted by type */
} Row;

#define SUSPENDED_NO "Suspended=False NotSuspended Sandbox is not suspended"
#define SCHEDULED_YES "PodScheduled=True PodScheduled "
#define SCHEDULED_LATER                                                                            \
    "PodScheduled=Unknown PodSchedulingUnknown Pod has not reported a PodScheduled condition yet"
#define SCHEDULED_UNKNOWN                                                                          \
    "PodScheduled=Unknown PodSchedulingUnknown Pod state is unknown. Pod scheduling cannot be "    \
    "determined"

static const Row table[] = {
    {"pending",
     "",
     OWNED LABELS,
     "'phase':'Pending'",
     NULL,
     {SCHEDULED_LATER, "Ready=False DependenciesNotReady Pod exists with phase: Pending",
      SUSPENDED_NO}},
    {"phase unknown, unschedulable",
     "",
     OWNED LABELS,
     "'phase':'Unknown','conditions':[{'type':'PodScheduled','status':'False','reason':"
     "'Unschedulable','message':'0/3 nodes'}]",
     NULL,
     {"PodScheduled=False Unschedulable 0/3 nodes",
      "Ready=False DependenciesNotReady Pod exists with phase: Unknown", SUSPENDED_NO}},
    {"scheduling false without a reason",
     "",
     OWNED LABELS,
     "'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False'}]",
     NULL,
     {"PodScheduled=False PodSchedulingUnknown ",
      "Ready=False DependenciesNotReady Pod exists with phase: Pending", SUSPENDED_NO}},
    {"running, not ready",
     "",
     OWNED LABELS,
     "'phase':'Running','conditions':[" SCHEDULED "]",
     NULL,
     {SCHEDULED_YES, "Ready=False DependenciesNotReady Pod is Running but not Ready",
      SUSPENDED_NO}},
    {"ready without address",
     "",
     OWNED LABELS,
     "'phase':'Running','conditions':[" SCHEDULED "," READY "]",
     NULL,
     {SCHEDULED_YES, "Ready=False DependenciesNotReady Pod is Ready but has no podIPs yet",
      SUSPENDED_NO}},
    {"ready",
     "",
     OWNED LABELS,
     "'phase':'Running','conditions':[" SCHEDULED "," READY "]," IPS,
     NULL,
     {SCHEDULED_YES, "Ready=True DependenciesReady Pod is Ready", SUSPENDED_NO}},
    {"ready with Service",
     "'service':true,",
     OWNED LABELS,
     "'phase':'Running','conditions':[" SCHEDULED "," READY "]," IPS,
     OWNED LABELS,
     {SCHEDULED_YES, "Ready=True DependenciesReady Pod is Ready; Service Exists", SUSPENDED_NO}},
    {"a Service that was kept counts",
     "",
     OWNED LABELS,
     "'phase':'Pending','conditions':[" SCHEDULED "]",
     OWNED LABELS,
     {SCHEDULED_YES,
      "Ready=False DependenciesNotReady Pod exists with phase: Pending; Service Exists",
      SUSPENDED_NO}},
    {"a foreign Service in the way",
     "'service':true,",
     OWNED LABELS,
     "'phase':'Running','conditions':[" SCHEDULED "," READY "]," IPS,
     FOREIGN LABELS,
     {SCHEDULED_YES,
      "Ready=False ReconcilerError Error seen: Service \"s\" is controlled by ReplicaSet r (uid "
      "uid-r)",
      SUSPENDED_NO}},
    {"succeeded",
     "",
     OWNED LABELS,
     "'phase':'Succeeded','conditions':[" SCHEDULED "]",
     NULL,
     {"Finished=True PodSucceeded Pod completed successfully", SCHEDULED_YES,
      "Ready=False PodSucceeded Pod completed successfully", SUSPENDED_NO}},
    {"failed",
     "",
     OWNED LABELS,
     "'phase':'Failed','conditions':[" SCHEDULED "]",
     NULL,
     {"Finished=True PodFailed Pod failed", SCHEDULED_YES, "Ready=False PodFailed Pod failed",
      SUSPENDED_NO}},
    {"a foreign Pod in the way",
     "",
     FOREIGN LABELS,
     "'phase':'Running'",
     NULL,
     {SCHEDULED_UNKNOWN,
      "Ready=False ReconcilerError Error seen: Pod \"s\" is controlled by ReplicaSet r (uid uid-r)",
      SUSPENDED_NO}},
    {"an unowned Pod without consent",
     "",
     "'labels':{}",
     "'phase':'Running'",
     NULL,
     {SCHEDULED_UNKNOWN,
      "Ready=False ReconcilerError Error seen: Pod \"s\" exists and is not adoptable",
      SUSPENDED_NO}},
    {"an unowned Pod with consent",
     "",
     "'labels':{'agents.x-k8s.io/adoptable':'true'}",
     "'phase':'Running','conditions':[" SCHEDULED "," READY "]," IPS,
     NULL,
     {SCHEDULED_YES, "Ready=True DependenciesReady Pod is Ready", SUSPENDED_NO}},
    {"suspended",
     "'operatingMode':'Suspended',",
     NULL,
     NULL,
     NULL,
     {"Ready=False SandboxSuspended Sandbox is suspended",
      "Suspended=True PodTerminated Pod has been terminated. Sandbox is suspended"}},
    {"suspending",
     "'operatingMode':'Suspended',",
     OWNED "'deletionTimestamp':'2026-11-30T12:00:00Z'," LABELS,
     "'phase':'Running','conditions':[" SCHEDULED "," READY "]," IPS,
     NULL,
     {SCHEDULED_YES, "Ready=False SandboxSuspended Sandbox is suspending",
      "Suspended=False PodTerminating Pod is terminating. Sandbox is suspending"}},
    {"suspended, somebody else's Pod",
     "'operatingMode':'Suspended',",
     FOREIGN LABELS,
     "'phase':'Running'",
     NULL,
     {"Ready=False SandboxSuspended Sandbox is suspending",
      "Suspended=False PodNotOwned Refused to delete pod because it is not owned by this sandbox"}},
    {"suspended, an unowned Pod that the cache does not see",
     "'operatingMode':'Suspended',",
     "'labels':{}",
     "'phase':'Running'",
     NULL,
     {"Ready=False SandboxSuspended Sandbox is suspending",
      "Suspended=False PodNotOwned Refused to delete pod because it is not owned by this sandbox"}},
};

static void put_objects(World *world, const Row *row)
{
    world_put(
        world, KUBE_SANDBOX,
        "{'metadata':{'name':'s','uid':'uid-s'},'spec':{%s'podTemplate':{'spec':{'containers':"
        "[{'name':'m'}]}}}}",
        row->spec);
    if (row->pod) {
        world_put(world, KUBE_POD, "{'metadata':{'name':'s',%s},'status':{%s}}", row->pod,
                  row->pod_status);
    }
    if (row->service) {
        world_put(world, KUBE_SERVICE,
                  "{'metadata':{'name':'s',%s},'spec':{'clusterIP':'None','selector':{"
                  "'agents.x-k8s.io/sandbox-name-hash':'f60c4582'}}}",
                  row->service);
    }
}

static const json_t *find_condition(const World *world, const char *text)
{
    const json_t *conditions =
        jx_get(world_get(world, KUBE_SANDBOX, "a", "s"), "status", "conditions");
    Str rest;
    Str type = str_cut(str_from(text), '=', &rest);

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (str_eq(jx_get_str(json_array_get(conditions, i), "type"), type)) {
            return json_array_get(conditions, i);
        }
    }
    return NULL;
}

static void check_conditions(const World *world, const char *const *want, size_t n)
{
    const json_t *conditions =
        jx_get(world_get(world, KUBE_SANDBOX, "a", "s"), "status", "conditions");
    size_t wanted = 0;

    for (size_t i = 0; i < n && want[i]; i++, wanted++) {
        const json_t *condition = find_condition(world, want[i]);
        AUTO(mem) char *text = NULL;

        T_CHECK(condition);
        text = xasprintf("%s=%s %s %s", jx_get_str(condition, "type").ptr,
                         jx_get_str(condition, "status").ptr, jx_get_str(condition, "reason").ptr,
                         jx_get_str(condition, "message").ptr);
        T_EQ_STR(text, want[i]);
        T_EQ_INT(jx_i64(json_object_get(condition, "observedGeneration"), 0), 1);
    }
    T_EQ_INT(json_array_size(conditions), wanted);
}

T_TEST(sandbox_condition_table)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        AUTO(world) World world;

        t_row(table[i].label);
        world_init(&world, 1);
        put_objects(&world, &table[i]);
        (void)world_pass(&world, sandbox_reconciler(), (KubeKey){STR("a"), STR("s")});
        check_conditions(&world, table[i].want, ARRAY_LEN(table[i].want));
        t_row(NULL);
    }
}

static void pass(World *world)
{
    (void)world_pass(world, sandbox_reconciler(), (KubeKey){STR("a"), STR("s")});
}

static Str status_text(const World *world, const char *member)
{
    return jx_get_str(world_get(world, KUBE_SANDBOX, "a", "s"), "status", member);
}

T_TEST(sandbox_many_pods_are_refused)
{
    AUTO(world) World world;
    static const char many[] = "Ready=False MultiplePods multiple Pods (2) are controlled by this "
                               "Sandbox; refusing to choose or create a Pod";
    static const char *const want[] = {SCHEDULED_UNKNOWN, many, SUSPENDED_NO};

    world_init(&world, 1);
    put_objects(&world, &table[5]);
    world_put(&world, KUBE_POD, "{'metadata':{'name':'twin'," OWNED LABELS "}}");
    pass(&world);
    check_conditions(&world, want, ARRAY_LEN(want));
    T_EQ_INT(world.n_events, 1);
    pass(&world);
    T_EQ_INT(world.n_events, 1); /* told once */
    T_EQ_INT(world_count(&world, KUBE_POD), 2);
}

static void check_refused(KubeReason reason, int http, const char *ready)
{
    AUTO(world) World world;
    const char *const want[] = {SCHEDULED_UNKNOWN, ready, SUSPENDED_NO};

    world_init(&world, 1);
    put_objects(&world, &(Row){.spec = ""});
    world.refuse[KUBE_POD].reason = reason;
    world.refuse[KUBE_POD].http = http;
    world.refuse[KUBE_POD].message = "the API server's words";
    pass(&world);
    check_conditions(&world, want, ARRAY_LEN(want));
    T_EQ_INT(world.n_events, 1); /* SandboxPodCreateFailed */
    pass(&world);
    T_EQ_INT(world.n_events, 1);
    check_conditions(&world, want, ARRAY_LEN(want));
}

T_TEST(sandbox_refused_pods_are_told_of)
{
    check_refused(KUBE_REASON_INVALID, 422,
                  "Ready=False InvalidConfiguration the API server's words");
    check_refused(KUBE_REASON_FORBIDDEN, 403,
                  "Ready=False ReconcilerError Error seen: failed to create Pod \"s\": the API "
                  "server's words");
}

T_TEST(sandbox_errors_are_joined_in_order)
{
    AUTO(world) World world;
    static const char all[] = "Ready=False ReconcilerError Error seen: PersistentVolumeClaim "
                              "\"data-s\" is controlled by ReplicaSet r (uid uid-r)\nPod \"s\" is "
                              "controlled by ReplicaSet r (uid uid-r)\nService \"s\" is controlled "
                              "by ReplicaSet r (uid uid-r)";
    static const char *const want[] = {SCHEDULED_UNKNOWN, all, SUSPENDED_NO};

    world_init(&world, 1);
    put_objects(&world,
                &(Row){.spec = "'service':true,'volumeClaimTemplates':[{'metadata':{'name':'data'},"
                               "'spec':{}},{'metadata':{'name':'more'},'spec':{}}],",
                       .pod = FOREIGN LABELS,
                       .pod_status = "'phase':'Running'",
                       .service = FOREIGN LABELS});
    world_put(&world, KUBE_PVC, "{'metadata':{'name':'data-s'," FOREIGN LABELS "},'spec':{}}");
    pass(&world);
    check_conditions(&world, want, ARRAY_LEN(want));
    T_EQ_INT(world_count(&world, KUBE_PVC), 1); /* no further templates after a foreign one */
}

T_TEST(sandbox_does_not_start_on_a_volume_that_is_not_its_own)
{
    static const char *const pvcs[] = {FOREIGN LABELS, "'labels':{}"};

    for (size_t i = 0; i < ARRAY_LEN(pvcs); i++) {
        AUTO(world) World world;

        world_init(&world, 1);
        put_objects(&world, &(Row){.spec = "'volumeClaimTemplates':[{'metadata':{'name':'data'},"
                                           "'spec':{}}],"});
        world_put(&world, KUBE_PVC, "{'metadata':{'name':'data-s',%s},'spec':{}}", pvcs[i]);
        pass(&world);
        T_EQ_INT(world_count(&world, KUBE_POD), 0);
        T_EQ_STR(jx_get_str(find_condition(&world, "Ready="), "reason"), "ReconcilerError");
        world_change(&world, KUBE_PVC, "a", "data-s",
                     "{'metadata':{'ownerReferences':null,'labels':{'agents.x-k8s.io/adoptable':"
                     "'true'}}}");
        pass(&world);
        T_EQ_INT(world_count(&world, KUBE_POD), 1);
    }
}

/* A name that nothing has, and that of a Pod which is somebody else's. */
T_TEST(sandbox_recorded_pod_name_that_is_wrong_is_put_right)
{
    static const char *const recorded[] = {"gone", "victim"};

    for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
        AUTO(world) World world;
        unsigned writes;

        t_row(recorded[i]);
        world_init(&world, 1);
        world_put(&world, KUBE_POD, "{'metadata':{'name':'victim'," FOREIGN LABELS "}}");
        world_put(&world, KUBE_SANDBOX,
                  "{'metadata':{'name':'s','uid':'uid-s','annotations':{'agents.x-k8s.io/pod-name':"
                  "'%s'}},'spec':{'podTemplate':{'spec':{'containers':[{'name':'m'}]}}}}",
                  recorded[i]);
        pass(&world);
        T_EQ_STR(jx_get_str(world_get(&world, KUBE_SANDBOX, "a", "s"), "metadata", "annotations",
                            "agents.x-k8s.io/pod-name"),
                 "s");
        T_EQ_INT(world_count(&world, KUBE_POD), 2);
        writes = world.n_writes;
        pass(&world);
        T_EQ_INT(world.n_writes, writes);
        world_change(&world, KUBE_SANDBOX, "a", "s",
                     "{'metadata':{'annotations':{'agents.x-k8s.io/pod-name':'victim'}},'spec':{"
                     "'operatingMode':'Suspended'}}");
        pass(&world);
        T_EQ_INT(world_count(&world, KUBE_POD), 1);
        T_CHECK(world_get(&world, KUBE_POD, "a", "victim"));
        t_row(NULL);
    }
}

T_TEST(sandbox_whose_name_cannot_be_a_service_is_invalid)
{
    AUTO(world) World world;
    const json_t *ready;

    world_init(&world, 1);
    world_put(&world, KUBE_SANDBOX,
              "{'metadata':{'name':'s.dotted','uid':'uid-s'},'spec':{'service':true,'podTemplate':{"
              "'spec':{'containers':[{'name':'m'}]}}}}");
    (void)world_pass(&world, sandbox_reconciler(), (KubeKey){STR("a"), STR("s.dotted")});
    ready = jx_get(world_get(&world, KUBE_SANDBOX, "a", "s.dotted"), "status", "conditions");
    T_EQ_STR(jx_get_str(json_array_get(ready, 1), "reason"), "InvalidConfiguration");
    T_EQ_INT(world_count(&world, KUBE_POD), 0);
    T_EQ_INT(world_count(&world, KUBE_SERVICE), 0);
}

T_TEST(sandbox_status_fields_come_and_go)
{
    AUTO(world) World world;

    world_init(&world, 1);
    put_objects(&world, &table[6]);
    world_change(&world, KUBE_POD, "a", "s", "{'spec':{'nodeName':'n1'}}");
    pass(&world);
    T_EQ_STR(status_text(&world, "nodeName"), "n1");
    T_EQ_STR(status_text(&world, "service"), "s");
    T_EQ_STR(status_text(&world, "serviceFQDN"), "s.a.svc.cluster.local");
    T_EQ_STR(status_text(&world, "selector"), "agents.x-k8s.io/sandbox-name-hash=f60c4582");
    world_change(&world, KUBE_SANDBOX, "a", "s",
                 "{'spec':{'operatingMode':'Suspended','service':false}}");
    pass(&world);
    T_EQ_INT(status_text(&world, "nodeName").len, 0);
    T_EQ_INT(status_text(&world, "service").len, 0);
    T_EQ_STR(status_text(&world, "selector"), "agents.x-k8s.io/sandbox-name-hash=f60c4582");
    T_CHECK(!jx_get(world_get(&world, KUBE_SANDBOX, "a", "s"), "status", "podIPs"));
    T_EQ_INT(world_count(&world, KUBE_POD), 0);
    T_EQ_INT(world_count(&world, KUBE_SERVICE), 0);
}

T_TEST(sandbox_a_node_name_alone_is_not_worth_a_write_before_ready)
{
    AUTO(world) World world;
    unsigned before;

    world_init(&world, 1);
    put_objects(&world, &table[0]);
    pass(&world);
    world_change(&world, KUBE_POD, "a", "s", "{'spec':{'nodeName':'n1'}}");
    before = world.n_writes;
    pass(&world);
    T_EQ_INT(world.n_writes, before);
}

T_TEST(sandbox_finished_survives_expiry_and_goes_with_a_new_pod)
{
    AUTO(world) World world;
    static const char *const expired[] = {
        "Finished=True PodFailed Pod failed",
        "Ready=False SandboxExpired Sandbox has expired",
        SUSPENDED_NO,
    };

    world_init(&world, 1);
    put_objects(&world, &(Row){.spec = "'shutdownTime':'2026-11-30T12:00:10Z',",
                               .pod = OWNED LABELS,
                               .pod_status = "'phase':'Failed'"});
    pass(&world);
    world.now_wall_ns += 10 * 1000000000ll; /* exactly at the time counts as expired */
    pass(&world);
    check_conditions(&world, expired, ARRAY_LEN(expired));
    T_EQ_INT(world_count(&world, KUBE_POD), 0);
    world_change(&world, KUBE_SANDBOX, "a", "s", "{'spec':{'shutdownTime':null}}");
    pass(&world);
    T_EQ_INT(world_count(&world, KUBE_POD), 1);
    T_CHECK(!find_condition(&world, "Finished="));
}
