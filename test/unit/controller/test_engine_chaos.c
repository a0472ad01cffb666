/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole controller while the API server misbehaves and a user changes his mind, from one seed a
 * run. All the time: never two Pods for one Sandbox. Afterwards: every Sandbox is what its spec
 * says, and nothing more is written.
 */
#include <stdio.h>

#include "base/rng.h"
#include "controller/manager.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"
#include "json/jx.h"

#define SEEDS 60
#define SANDBOXES 6
#define STEPS 60

typedef struct Chaos {
    FakeWorld world;
    ControllerOptions options;
    Manager *manager;
    Rng rng;
    Rng user;
    bool calm;
} Chaos;

static FakeVerdict misbehave(void *ctx, const FakeCall *call)
{
    static const FakeVerdict faults[] = {
        {.kind = FAKE_LOST_BEFORE},
        {.kind = FAKE_LOST_AFTER},
        {.kind = FAKE_NOT_SENT},
        {.kind = FAKE_TRUNCATED},
        {.kind = FAKE_STATUS, .http = 500, .reason = "InternalError", .message = "boom"},
        {.kind = FAKE_STATUS, .http = 503, .reason = "ServiceUnavailable", .message = "later"},
        {.kind = FAKE_STATUS, .http = 429, .reason = "TooManyRequests", .retry_after_s = 1},
        {.kind = FAKE_STATUS, .http = 409, .reason = "Conflict", .message = "changed"},
        {.kind = FAKE_STATUS, .http = 403, .reason = "Forbidden", .message = "quota"},
        {.kind = FAKE_PASS, .delay_ns = 700 * NS_PER_MS},
    };
    Chaos *chaos = ctx;

    if (chaos->calm || call->watch || rng_below(&chaos->rng, 4) > 0) {
        return (FakeVerdict){.kind = FAKE_PASS};
    }
    return faults[rng_below(&chaos->rng, ARRAY_LEN(faults))];
}

static void on_lost(void *ctx)
{
    UNUSED(ctx);
}

static void manager_begin(Chaos *chaos)
{
    ManagerConfig config = {
        .loop = chaos->world.loop,
        .transport = fakeapi_transport(chaos->world.api),
        .options = &chaos->options,
        .identity = "one",
        .seed = rng_u64(&chaos->rng),
        .on_lost = on_lost,
    };
    Err err = ERR_INIT;

    T_OK(manager_new(&config, &chaos->manager, &err));
    manager_start(chaos->manager);
}

static void chaos_init(Chaos *chaos, uint64_t seed)
{
    *chaos = (Chaos){0};
    rng_init(&chaos->rng, seed);
    chaos->user = rng_fork(&chaos->rng);
    fake_world_init(&chaos->world, seed);
    options_defaults(&chaos->options);
    chaos->options.leader_elect = false;
    fakeapi_set_hook(chaos->world.api, misbehave, chaos);
    fakeapi_set_pod_grace(chaos->world.api, seed % 2 ? 500 * NS_PER_MS : 0);
    manager_begin(chaos);
}

static void chaos_deinit(Chaos *chaos)
{
    manager_free(chaos->manager);
    options_deinit(&chaos->options);
    fake_world_deinit(&chaos->world);
}

DEFINE_AUTO(chaos, Chaos, chaos_deinit)

/* ---- the user, the kubelet and the network ---- */

static void user_acts(Chaos *chaos)
{
    static const char *const patches[] = {
        "{spec: {operatingMode: Suspended}}",
        "{spec: {operatingMode: Running}}",
        "{spec: {operatingMode: Running}}",
        "{spec: {service: true}}",
        "{spec: {service: false}}",
        "{spec: {service: null}}",
        "{spec: {podTemplate: {metadata: {labels: {a: b}}}}}",
        "{spec: {podTemplate: {metadata: {labels: {a: null}}}}}",
    };
    FakeApi *api = chaos->world.api;
    char name[16];
    char text[256];

    (void)snprintf(name, sizeof(name), "s%d", (int)rng_below(&chaos->user, SANDBOXES));
    (void)snprintf(text, sizeof(text),
                   "{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, metadata: {name: %s, "
                   "namespace: a}, spec: {podTemplate: {spec: {containers: [{name: m}]}}}}",
                   name);
    if (!fakeapi_get(api, KUBE_SANDBOX, "a", name)) {
        T_EQ_INT(fakeapi_create(api, text), 0);
    } else if (rng_below(&chaos->user, 12) == 0) {
        T_EQ_INT(fakeapi_delete(api, KUBE_SANDBOX, "a", name), 0);
    } else {
        T_EQ_INT(fakeapi_patch(api, KUBE_SANDBOX, "a", name,
                               patches[rng_below(&chaos->user, ARRAY_LEN(patches))]),
                 0);
    }
}

static void kubelet_acts(Chaos *chaos)
{
    FakeApi *api = chaos->world.api;
    char name[16];

    for (int i = 0; i < SANDBOXES; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        if (fakeapi_get(api, KUBE_POD, "a", name) && rng_below(&chaos->user, 2)) {
            (void)fakeapi_patch(api, KUBE_POD, "a", name,
                                "{status: {phase: Running, podIPs: [{ip: 10.0.0.7}], conditions: "
                                "[{type: Ready, status: 'True'}]}}");
        }
    }
    if (rng_below(&chaos->user, 10) == 0) {
        fakeapi_cut_watches(api, rng_below(&chaos->user, 2) ? 0 : -1);
    }
    if (rng_below(&chaos->user, 20) == 0) {
        fakeapi_compact(api);
    }
    if (rng_below(&chaos->user, 25) == 0) { /* a new process, with empty memory */
        chaos->manager = manager_free(chaos->manager);
        manager_begin(chaos);
    }
}

/* ---- what must hold ---- */

typedef struct PodCount {
    const char *uid;
    size_t n;
} PodCount;

static void count_pod(void *ctx, const json_t *pod)
{
    PodCount *count = ctx;
    const json_t *owner = json_array_get(jx_get(pod, "metadata", "ownerReferences"), 0);

    count->n += str_eq(jx_get_str(owner, "uid"), str_from(count->uid));
}

static void check_one_pod(void *ctx, const json_t *sandbox)
{
    PodCount count = {jx_get_str(sandbox, "metadata", "uid").ptr, 0};

    fakeapi_each(ctx, KUBE_POD, count_pod, &count);
    T_CHECK(count.n <= 1);
}

static void check_settled(void *ctx, const json_t *sandbox)
{
    const FakeApi *api = ctx;
    const char *name = jx_get_str(sandbox, "metadata", "name").ptr;
    bool suspended = str_eq(jx_get_str(sandbox, "spec", "operatingMode"), STR("Suspended"));
    const json_t *service = jx_get(sandbox, "spec", "service");
    const json_t *conditions = jx_get(sandbox, "status", "conditions");
    bool ready = false;

    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const json_t *condition = json_array_get(conditions, i);

        T_EQ_INT(jx_i64(json_object_get(condition, "observedGeneration"), 0),
                 jx_i64(jx_get(sandbox, "metadata", "generation"), 0));
        if (str_eq(jx_get_str(condition, "type"), STR("Ready"))) {
            ready = str_eq(jx_get_str(condition, "status"), STR("True"));
        }
    }
    T_EQ_INT(fakeapi_get(api, KUBE_POD, "a", name) != NULL, !suspended);
    T_EQ_INT(ready, !suspended);
    if (json_is_boolean(service)) {
        T_EQ_INT(fakeapi_get(api, KUBE_SERVICE, "a", name) != NULL, json_is_true(service));
    }
}

static void run_seed(uint64_t seed)
{
    AUTO(chaos) Chaos chaos;
    char label[32];

    (void)snprintf(label, sizeof(label), "seed %llu", (unsigned long long)seed);
    t_row(label);
    chaos_init(&chaos, seed);
    for (int i = 0; i < STEPS; i++) {
        user_acts(&chaos);
        kubelet_acts(&chaos);
        fake_world_run(&chaos.world, rng_below(&chaos.user, 800) * NS_PER_MS);
        fakeapi_each(chaos.world.api, KUBE_SANDBOX, check_one_pod, chaos.world.api);
    }
    chaos.calm = true;
    for (int i = 0; i < 20; i++) { /* back-off and pod starts come to an end */
        fake_world_run(&chaos.world, 10 * NS_PER_S);
        for (int k = 0; k < SANDBOXES; k++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "s%d", k);
            (void)fakeapi_patch(chaos.world.api, KUBE_POD, "a", name,
                                "{status: {phase: Running, podIPs: [{ip: 10.0.0.7}], conditions: "
                                "[{type: Ready, status: 'True'}]}}");
        }
    }
    fakeapi_each(chaos.world.api, KUBE_SANDBOX, check_settled, chaos.world.api);
    fakeapi_trace_reset(chaos.world.api);
    fake_world_run(&chaos.world, 600 * NS_PER_S);
    T_EQ_INT(fakeapi_writes(chaos.world.api), 0);
    t_row(NULL);
}

T_TEST(controller_converges_after_any_storm_and_then_rests)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run_seed(seed);
    }
}
