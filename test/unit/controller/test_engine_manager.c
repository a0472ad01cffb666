/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manager over a fake API server: caches before writes, the Lease, two replicas, and the life
 * of a bare Sandbox with the writes it costs.
 */
#include <stdio.h>

#include "base/mem.h"
#include "controller/manager.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"
#include "json/jx.h"

typedef struct Replica {
    Manager *manager;
    char identity[32];
    bool lost;
    bool stopped;
} Replica;

typedef struct Cluster {
    FakeWorld world;
    ControllerOptions options;
} Cluster;

static void on_lost(void *ctx)
{
    Replica *replica = ctx;

    replica->lost = true;
}

static void on_stopped(void *ctx)
{
    Replica *replica = ctx;

    replica->stopped = true;
}

static void cluster_init(Cluster *cluster)
{
    fake_world_init(&cluster->world, 1);
    options_defaults(&cluster->options);
}

static void cluster_deinit(Cluster *cluster)
{
    options_deinit(&cluster->options);
    fake_world_deinit(&cluster->world);
}

DEFINE_AUTO(cluster, Cluster, cluster_deinit)

static void replica_start(Replica *replica, Cluster *cluster, const char *identity)
{
    ManagerConfig config = {
        .loop = cluster->world.loop,
        .transport = fakeapi_transport(cluster->world.api),
        .options = &cluster->options,
        .lease_ns = "system",
        .identity = replica->identity,
        .on_lost = on_lost,
        .ctx = replica,
    };
    Err err = ERR_INIT;

    *replica = (Replica){0};
    (void)snprintf(replica->identity, sizeof(replica->identity), "%s", identity);
    T_OK(manager_new(&config, &replica->manager, &err));
    manager_start(replica->manager);
}

static void replica_deinit(Replica *replica)
{
    replica->manager = manager_free(replica->manager);
}

DEFINE_AUTO(replica, Replica, replica_deinit)

static void run(Cluster *cluster, uint64_t ns)
{
    fake_world_run(&cluster->world, ns);
}

static void add_sandbox(Cluster *cluster, const char *name, const char *meta, const char *spec)
{
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, metadata: {name: %s, "
                   "namespace: a%s}, spec: {%spodTemplate: {spec: {containers: [{name: m}]}}}}",
                   name, meta, spec);
    T_EQ_INT(fakeapi_create(cluster->world.api, text), 0);
}

static void pod_becomes(Cluster *cluster, const char *name, const char *status)
{
    char text[512];

    (void)snprintf(text, sizeof(text), "{status: %s}", status);
    T_EQ_INT(fakeapi_patch(cluster->world.api, KUBE_POD, "a", name, text), 0);
}

#define POD_READY                                                                                  \
    "{phase: Running, podIPs: [{ip: 10.0.0.7}], conditions: [{type: PodScheduled, status: "        \
    "'True'}, "                                                                                    \
    "{type: Ready, status: 'True'}]}"
#define POD_SCHEDULED "{phase: Pending, conditions: [{type: PodScheduled, status: 'True'}]}"
#define POD_STARTED                                                                                \
    "{phase: Running, podIPs: [{ip: 10.0.0.7}], conditions: [{type: PodScheduled, status: "        \
    "'True'}, "                                                                                    \
    "{type: Ready, status: 'False'}]}"

static const json_t *condition(Cluster *cluster, const char *name, const char *type)
{
    const json_t *conditions =
        jx_get(fakeapi_get(cluster->world.api, KUBE_SANDBOX, "a", name), "status", "conditions");

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        if (str_eq(jx_get_str(json_array_get(conditions, i), "type"), str_from(type))) {
            return json_array_get(conditions, i);
        }
    }
    return NULL;
}

static Str ready_reason(Cluster *cluster, const char *name)
{
    return jx_get_str(condition(cluster, name, "Ready"), "reason");
}

static size_t count_lines(Cluster *cluster, const char *start)
{
    Str trace = fakeapi_trace(cluster->world.api);
    size_t n = 0;

    while (trace.len > 0) {
        n += str_starts(str_cut(trace, '\n', &trace), str_from(start));
    }
    return n;
}

/* ---- caches and the Lease ---- */

static FakeVerdict refuse_pod_lists(void *ctx, const FakeCall *call)
{
    const bool *refuse = ctx;

    if (*refuse && call->method == KUBE_GET && call->kind->id == KUBE_POD && call->name.len == 0) {
        return (FakeVerdict){.kind = FAKE_STATUS, .http = 403, .reason = "Forbidden"};
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

T_TEST(manager_with_a_cold_cache_writes_nothing)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;
    bool refuse = true;

    cluster_init(&cluster);
    fakeapi_set_hook(cluster.world.api, refuse_pod_lists, &refuse);
    add_sandbox(&cluster, "s", "", "");
    replica_start(&replica, &cluster, "one");
    run(&cluster, 60 * NS_PER_S);
    T_CHECK(!manager_is_synced(replica.manager) && !manager_is_leading(replica.manager));
    T_EQ_INT(fakeapi_writes(cluster.world.api), 0);
    refuse = false;
    run(&cluster, 60 * NS_PER_S);
    T_CHECK(manager_is_leading(replica.manager));
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 1);
}

T_TEST(manager_standby_is_warm_and_takes_over_a_released_lease)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica first;
    AUTO(replica) Replica second;

    cluster_init(&cluster);
    replica_start(&first, &cluster, "one");
    run(&cluster, 5 * NS_PER_S);
    replica_start(&second, &cluster, "two");
    run(&cluster, 5 * NS_PER_S);
    T_CHECK(manager_is_leading(first.manager) && !manager_is_leading(second.manager));
    T_CHECK(manager_is_synced(second.manager));
    manager_stop(first.manager, on_stopped, &first);
    run(&cluster, NS_PER_S);
    T_CHECK(first.stopped && !first.lost);
    add_sandbox(&cluster, "s", "", "");
    run(&cluster, 3 * NS_PER_S);
    T_CHECK(manager_is_leading(second.manager));
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 1);
}

static FakeVerdict refuse_leases(void *ctx, const FakeCall *call)
{
    const bool *refuse = ctx;

    if (*refuse && call->kind->id == KUBE_LEASE) {
        return (FakeVerdict){.kind = FAKE_NOT_SENT};
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

T_TEST(manager_that_cannot_renew_stops_and_says_so)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;
    bool refuse = false;

    cluster_init(&cluster);
    fakeapi_set_hook(cluster.world.api, refuse_leases, &refuse);
    replica_start(&replica, &cluster, "one");
    run(&cluster, 5 * NS_PER_S);
    T_CHECK(manager_is_leading(replica.manager));
    refuse = true;
    run(&cluster, 15 * NS_PER_S);
    T_CHECK(replica.lost && !manager_is_leading(replica.manager));
    add_sandbox(&cluster, "s", "", "");
    run(&cluster, 10 * NS_PER_S);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 0);
}

T_TEST(manager_without_election_leads_as_soon_as_it_is_synced)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    cluster_init(&cluster);
    cluster.options.leader_elect = false;
    replica_start(&replica, &cluster, "one");
    run(&cluster, NS_PER_S);
    T_CHECK(manager_is_leading(replica.manager));
    T_EQ_INT(fakeapi_writes(cluster.world.api), 0);
}

T_TEST(manager_without_extensions_watches_and_runs_sandboxes_only)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    cluster_init(&cluster);
    replica_start(&replica, &cluster, "one");
    run(&cluster, NS_PER_S);
    T_EQ_INT(count_lines(&cluster, "GET sandboxclaims"), 0);
    T_EQ_INT(count_lines(&cluster, "GET networkpolicies"), 0);
    T_EQ_INT(fakeapi_watches(cluster.world.api), 4);
}

T_TEST(manager_with_extensions_watches_all_kinds)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    cluster_init(&cluster);
    cluster.options.extensions = true;
    replica_start(&replica, &cluster, "one");
    run(&cluster, NS_PER_S);
    T_EQ_INT(fakeapi_watches(cluster.world.api), 8);
}

/* ---- the life of a Sandbox ---- */

static void start_leading(Cluster *cluster, Replica *replica)
{
    cluster_init(cluster);
    cluster->options.leader_elect = false;
    replica_start(replica, cluster, "one");
    run(cluster, NS_PER_S);
    fakeapi_trace_reset(cluster->world.api);
}

/* The way to Ready within the time that a Pod takes here. */
static void launch(Cluster *cluster, const char *name)
{
    run(cluster, 100 * NS_PER_MS);
    pod_becomes(cluster, name, POD_SCHEDULED);
    run(cluster, 200 * NS_PER_MS);
    pod_becomes(cluster, name, POD_STARTED);
    run(cluster, 300 * NS_PER_MS);
    pod_becomes(cluster, name, POD_READY);
    run(cluster, 100 * NS_PER_MS);
}

/* A member of a pool, as the pool would make it. */
static void add_member(Cluster *cluster, const char *name)
{
    char meta[512];
    Str uid;

    T_OK(fakeapi_create(cluster->world.api,
                        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxWarmPool, "
                        "metadata: {name: p, namespace: a}, spec: {}}"));
    uid = jx_get_str(fakeapi_get(cluster->world.api, KUBE_WARMPOOL, "a", "p"), "metadata", "uid");
    (void)snprintf(meta, sizeof(meta),
                   ", ownerReferences: [{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: "
                   "SandboxWarmPool, name: p, uid: '" STR_FMT "', controller: true}]",
                   STR_ARG(uid));
    add_sandbox(cluster, name, meta, "");
}

T_TEST(sandbox_of_a_pool_costs_a_pod_and_one_status)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_member(&cluster, "s");
    launch(&cluster, "s");
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
    T_EQ_INT(count_lines(&cluster, "POST pods a/"), 1);
    T_EQ_INT(count_lines(&cluster, "PATCH sandboxes/status a/s"), 1);
    T_EQ_INT(fakeapi_writes(cluster.world.api), 2);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_EVENT), 0);
    run(&cluster, 30 * NS_PER_S);
    T_EQ_INT(fakeapi_writes(cluster.world.api), 2);
}

T_TEST(sandbox_of_a_pool_that_hangs_says_so_after_a_while)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_member(&cluster, "s");
    run(&cluster, 9 * NS_PER_S);
    T_CHECK(!condition(&cluster, "s", "Ready"));
    run(&cluster, 2 * NS_PER_S);
    T_EQ_STR(jx_get_str(condition(&cluster, "s", "Ready"), "message"),
             "Pod exists with phase: Pending");
}

T_TEST(sandbox_of_nobody_tells_at_once_and_then_coalesces)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_sandbox(&cluster, "s", "", "");
    run(&cluster, 50 * NS_PER_MS);
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesNotReady");
    launch(&cluster, "s");
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
    T_EQ_INT(count_lines(&cluster, "PATCH sandboxes/status a/s"), 2);
    run(&cluster, 5 * NS_PER_S);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_EVENT), 2); /* SandboxPodCreated, SandboxReady */
}

T_TEST(sandbox_readiness_is_written_both_ways_at_once)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_member(&cluster, "s");
    launch(&cluster, "s");
    pod_becomes(&cluster, "s", POD_STARTED);
    run(&cluster, 50 * NS_PER_MS);
    T_EQ_STR(jx_get_str(condition(&cluster, "s", "Ready"), "message"),
             "Pod is Running but not Ready");
    pod_becomes(&cluster, "s", POD_READY);
    run(&cluster, 50 * NS_PER_MS);
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
}

T_TEST(sandbox_suspends_and_resumes)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    fakeapi_set_pod_grace(cluster.world.api, 2 * NS_PER_S);
    add_sandbox(&cluster, "s", "", "service: true, ");
    launch(&cluster, "s");
    T_OK(fakeapi_patch(cluster.world.api, KUBE_SANDBOX, "a", "s",
                       "{spec: {operatingMode: Suspended}}"));
    run(&cluster, NS_PER_S);
    T_EQ_STR(jx_get_str(condition(&cluster, "s", "Suspended"), "reason"), "PodTerminating");
    run(&cluster, 3 * NS_PER_S);
    T_EQ_STR(jx_get_str(condition(&cluster, "s", "Suspended"), "reason"), "PodTerminated");
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 0);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_SERVICE), 1);
    T_OK(fakeapi_patch(cluster.world.api, KUBE_SANDBOX, "a", "s",
                       "{spec: {operatingMode: Running}}"));
    launch(&cluster, "s");
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
    T_EQ_STR(jx_get_str(condition(&cluster, "s", "Suspended"), "status"), "False");
}

T_TEST(sandbox_write_behind_puts_metadata_off_for_a_second_at_most)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    cluster.options.sandbox_write_behind_ns = 10 * (int64_t)NS_PER_S;
    add_sandbox(&cluster, "s", "", "");
    launch(&cluster, "s");
    for (int i = 0; i < 9; i++) {
        char text[128];

        (void)snprintf(text, sizeof(text),
                       "{spec: {podTemplate: {metadata: {labels: {step: '%d'}}}}}", i);
        T_OK(fakeapi_patch(cluster.world.api, KUBE_SANDBOX, "a", "s", text));
        run(&cluster, 100 * NS_PER_MS);
    }
    T_EQ_INT(count_lines(&cluster, "PATCH pods a/s"), 0);
    run(&cluster, 200 * NS_PER_MS);
    T_EQ_INT(count_lines(&cluster, "PATCH pods a/s"), 1);
    T_EQ_STR(jx_get_str(fakeapi_get(cluster.world.api, KUBE_POD, "a", "s"), "metadata", "labels",
                        "step"),
             "8");
}

T_TEST(sandbox_with_a_volume_that_nothing_mounts_is_warned_of)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_sandbox(&cluster, "s", "", "volumeClaimTemplates: [{metadata: {name: d}, spec: {}}], ");
    launch(&cluster, "s");
    run(&cluster, 5 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_EVENT), 3); /* made, ready, and the warning */
}

T_TEST(sandbox_events_can_be_turned_off)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    cluster.options.disable_sandbox_events = true;
    add_sandbox(&cluster, "s", "", "");
    launch(&cluster, "s");
    run(&cluster, 10 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_EVENT), 0);
}

static FakeVerdict refuse_pods(void *ctx, const FakeCall *call)
{
    const FakeVerdict *verdict = ctx;

    if (call->method == KUBE_POST && call->kind->id == KUBE_POD) {
        return *verdict;
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

T_TEST(sandbox_with_an_impossible_pod_is_invalid_until_it_changes)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;
    FakeVerdict verdict = {
        .kind = FAKE_STATUS, .http = 422, .reason = "Invalid", .message = "spec is bad"};

    start_leading(&cluster, &replica);
    fakeapi_set_hook(cluster.world.api, refuse_pods, &verdict);
    add_sandbox(&cluster, "s", "", "");
    run(&cluster, 600 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "InvalidConfiguration");
    T_CONTAINS(jx_get_str(condition(&cluster, "s", "Ready"), "message"), "spec is bad");
    T_EQ_INT(count_lines(&cluster, "POST pods a/"), 1);
    T_EQ_INT(count_lines(&cluster, "PATCH sandboxes/status a/s"), 1);
    verdict.kind = FAKE_PASS;
    T_OK(fakeapi_patch(cluster.world.api, KUBE_SANDBOX, "a", "s",
                       "{spec: {podTemplate: {spec: {containers: [{name: good}]}}}}"));
    launch(&cluster, "s");
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
}

T_TEST(sandbox_over_quota_is_an_error_and_tried_at_least_once_a_minute)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;
    FakeVerdict verdict = {
        .kind = FAKE_STATUS, .http = 403, .reason = "Forbidden", .message = "exceeded quota"};
    size_t posts;

    start_leading(&cluster, &replica);
    fakeapi_set_hook(cluster.world.api, refuse_pods, &verdict);
    add_sandbox(&cluster, "s", "", "");
    run(&cluster, 600 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "ReconcilerError");
    T_CONTAINS(jx_get_str(condition(&cluster, "s", "Ready"), "message"), "exceeded quota");
    T_EQ_INT(count_lines(&cluster, "PATCH sandboxes/status a/s"), 1);
    posts = count_lines(&cluster, "POST pods a/");
    run(&cluster, 600 * NS_PER_S);
    T_CHECK(count_lines(&cluster, "POST pods a/") >= posts + 10);
    T_CHECK(count_lines(&cluster, "POST pods a/") <= posts + 14);
    verdict.kind = FAKE_PASS;
    run(&cluster, 60 * NS_PER_S);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 1);
}

/* Deleted Pods of a namespace that goes away wake their Sandboxes; nothing can be made there. */
T_TEST(sandbox_in_a_namespace_that_is_being_deleted_is_left_alone)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;
    FakeVerdict verdict = {
        .kind = FAKE_BODY,
        .http = 403,
        .body = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"being "
                "terminated\",\"code\":"
                "403,\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\"}]}}"};

    start_leading(&cluster, &replica);
    add_sandbox(&cluster, "s", "", "");
    launch(&cluster, "s");
    fakeapi_set_hook(cluster.world.api, refuse_pods, &verdict);
    fakeapi_trace_reset(cluster.world.api);
    T_EQ_INT(fakeapi_delete(cluster.world.api, KUBE_POD, "a", "s"), 0);
    run(&cluster, 300 * NS_PER_S);
    T_EQ_INT(count_lines(&cluster, "PATCH"), 0);
    T_CHECK(count_lines(&cluster, "POST pods a/") >= 2);
    T_CHECK(count_lines(&cluster, "POST pods a/") <= 12);
    verdict.kind = FAKE_PASS; /* a namespace of the same name, made anew */
    run(&cluster, 40 * NS_PER_S);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 1);
}

T_TEST(sandbox_expires_in_two_steps)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_sandbox(&cluster, "s", "",
                "service: true, shutdownTime: '2026-12-01T00:00:30Z', shutdownPolicy: Retain, ");
    launch(&cluster, "s");
    run(&cluster, 20 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "DependenciesReady");
    fakeapi_trace_reset(cluster.world.api);
    run(&cluster, 20 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "SandboxExpired");
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 0);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_SERVICE), 0);
    T_CHECK(!jx_get(fakeapi_get(cluster.world.api, KUBE_SANDBOX, "a", "s"), "status", "service"));
    T_CHECK(!condition(&cluster, "s", "PodScheduled"));
    T_EQ_INT(count_lines(&cluster, "PATCH sandboxes/status a/s"), 2);
    T_EQ_INT(count_lines(&cluster, "DELETE "), 2);
}

T_TEST(sandbox_that_is_retained_goes_when_the_retention_is_over)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    cluster.options.expired_retention_ns = 3600 * (int64_t)NS_PER_S;
    add_sandbox(&cluster, "s", "", "shutdownTime: '2026-12-01T00:00:30Z', ");
    run(&cluster, 3500 * NS_PER_S);
    T_EQ_STR(ready_reason(&cluster, "s"), "SandboxExpired");
    run(&cluster, 200 * NS_PER_S);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_SANDBOX), 0);
}

T_TEST(sandbox_that_deletes_itself_says_expired_first)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;

    start_leading(&cluster, &replica);
    add_sandbox(&cluster, "s", "",
                "shutdownTime: '2026-12-01T00:00:30Z', shutdownPolicy: Delete, ");
    launch(&cluster, "s");
    fakeapi_trace_reset(cluster.world.api);
    run(&cluster, 60 * NS_PER_S);
    T_EQ_INT(count_lines(&cluster, "PATCH sandboxes/status a/s"), 1);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_SANDBOX), 0);
    T_EQ_INT(fakeapi_count(cluster.world.api, KUBE_POD), 0);
}

T_TEST(sandbox_restart_of_the_controller_writes_nothing)
{
    AUTO(cluster) Cluster cluster;
    AUTO(replica) Replica replica;
    AUTO(replica) Replica again;

    start_leading(&cluster, &replica);
    add_sandbox(&cluster, "s", "", "service: true, ");
    launch(&cluster, "s");
    add_sandbox(&cluster, "z", "", "operatingMode: Suspended, ");
    run(&cluster, 10 * NS_PER_S);
    replica.manager = manager_free(replica.manager);
    fakeapi_trace_reset(cluster.world.api);
    replica_start(&again, &cluster, "two");
    run(&cluster, 60 * NS_PER_S);
    T_EQ_INT(fakeapi_writes(cluster.world.api), 0);
    T_EQ_INT(count_lines(&cluster, "GET pods a/"), 0);
    T_EQ_INT(count_lines(&cluster, "GET services a/"), 0);
}
