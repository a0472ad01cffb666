/* SPDX-License-Identifier: Apache-2.0 */
/* See rig.h. */
#include "test/unit/controller/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "controller/keys.h"
#include "test/harness/t.h"

#define KUBELET_TICK_NS (50ull * 1000000ull)
#define NAMES_MAX 2048

static const KubeKindId watched[] = {KUBE_SANDBOX, KUBE_CLAIM,   KUBE_TEMPLATE, KUBE_WARMPOOL,
                                     KUBE_POD,     KUBE_SERVICE, KUBE_PVC,      KUBE_NETPOL};

/* ---- kubelet ---- */

typedef struct Kubelet {
    Rig *rig;
    const char *names[NAMES_MAX];
    size_t n;
} Kubelet;

static void find_starting(void *ctx, const json_t *pod)
{
    Kubelet *kubelet = ctx;
    int64_t created = 0;
    Str phase = jx_get_str(pod, "status", "phase");

    (void)timefmt_parse(jx_get_str(pod, "metadata", "creationTimestamp"), &created);
    if ((phase.len == 0 || str_eq(phase, STR("Pending"))) && kubelet->n < NAMES_MAX &&
        created + (int64_t)kubelet->rig->pod_start_ns <= kubelet->rig->fake.clock.now_wall_ns) {
        kubelet->names[kubelet->n++] = jx_get_str(pod, "metadata", "name").ptr;
    }
}

static void on_kubelet(LoopTimer *timer)
{
    Rig *rig = container_of(timer, Rig, kubelet);
    Kubelet kubelet = {.rig = rig};

    if (!rig->kubelet_off) {
        fakeapi_each(rig->fake.api, KUBE_POD, find_starting, &kubelet);
    }
    for (size_t i = 0; i < kubelet.n; i++) {
        unsigned ip = ++rig->pod_ip;
        AUTO(mem) char *name = xstrdup(kubelet.names[i]);
        AUTO(mem)
        char *patch = xasprintf(
            "{\"spec\":{\"nodeName\":\"n%u\"},\"status\":{\"phase\":\"Running\",\"podIP\":"
            "\"10.0.%u.%u\",\"podIPs\":[{\"ip\":\"10.0.%u.%u\"}],\"conditions\":[{\"type\":"
            "\"PodScheduled\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}]}}",
            ip % 3, ip / 250, ip % 250, ip / 250, ip % 250);

        T_OK(fakeapi_patch(rig->fake.api, KUBE_POD, "a", name, patch));
    }
    loop_timer_arm(rig->fake.loop, timer, loop_now(rig->fake.loop) + KUBELET_TICK_NS);
}

/* ---- life ---- */

static FakeVerdict on_request(void *ctx, const FakeCall *call)
{
    Rig *rig = ctx;
    bool write = call->method != KUBE_GET;

    if (rig->crashed) {
        return (FakeVerdict){.kind = FAKE_NOT_SENT};
    }
    rig->n_writes += write;
    if (write && rig->crash_at != 0 && rig->n_writes == rig->crash_at) {
        rig->crashed = true; /* this one still happens, its answer is never seen */
        return (FakeVerdict){.kind = FAKE_LOST_AFTER};
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

void rig_init(Rig *rig, uint64_t seed)
{
    *rig = (Rig){.pod_start_ns = RIG_POD_START_NS};
    fake_world_init(&rig->fake, seed);
    options_defaults(&rig->options);
    rig->options.label_domains[0] = OPTIONS_LABEL_DOMAIN_DEFAULT;
    rig->options.n_label_domains = 1;
    rig->metrics = metrics_new();
    rig->meters = meters_new(rig->metrics);
    loop_timer_init(&rig->kubelet, on_kubelet);
    loop_timer_arm(rig->fake.loop, &rig->kubelet, loop_now(rig->fake.loop));
    fakeapi_set_hook(rig->fake.api, on_request, rig);
}

void rig_deinit(Rig *rig)
{
    rig_crash(rig);
    loop_timer_disarm(&rig->kubelet);
    options_deinit(&rig->options);
    meters_free(rig->meters);
    metrics_free(rig->metrics);
    fake_world_deinit(&rig->fake);
}

static bool is_synced(const Rig *rig)
{
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        if (!kube_informer_synced(rig->informers[watched[i]])) {
            return false;
        }
    }
    return true;
}

void rig_start(Rig *rig)
{
    ExecConfig config = {.loop = rig->fake.loop, .options = &rig->options, .seed = 5};

    rig->crashed = false;
    rig->client = kube_api_new(rig->fake.loop, fakeapi_transport(rig->fake.api), "test");
    rig->pools = pools_new(5);
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        size_t n;
        const KubeIndex *indexes = view_store_indexes(watched[i], &n);

        rig->informers[watched[i]] = kube_informer_new(&(KubeInformerConfig){
            .api = rig->client,
            .kind = kube_kind(watched[i]),
            .label_selector = view_store_selector(watched[i]),
            .indexes = indexes,
            .n_indexes = n,
            .seed = 5,
        });
        config.stores[watched[i]] = kube_informer_store(rig->informers[watched[i]]);
    }
    pools_attach(rig->pools, config.stores[KUBE_SANDBOX], config.stores[KUBE_WARMPOOL]);
    rig->events = kube_events_new(rig->client, "rig", 5);
    config.api = rig->client;
    config.events = rig->events;
    config.pools = rig->pools;
    config.meters = rig->meters;
    rig->exec = exec_new(&config);
    exec_add(rig->exec, sandbox_reconciler());
    exec_add(rig->exec, template_reconciler());
    exec_add(rig->exec, warmpool_reconciler());
    exec_add(rig->exec, claim_reconciler());
    for (size_t i = 0; i < ARRAY_LEN(watched); i++) {
        kube_informer_start(rig->informers[watched[i]]);
    }
    for (int i = 0; i < 1000 && !is_synced(rig); i++) {
        fake_world_run(&rig->fake, NS_PER_MS);
    }
    T_CHECK(is_synced(rig));
    exec_start(rig->exec);
}

void rig_crash(Rig *rig)
{
    rig->exec = exec_free(rig->exec);
    rig->events = kube_events_free(rig->events);
    rig->pools = pools_free(rig->pools);
    for (size_t i = 0; i < KUBE_KIND_MAX_; i++) {
        rig->informers[i] = kube_informer_free(rig->informers[i]);
    }
    rig->client = kube_api_free(rig->client);
}

void rig_run(Rig *rig, uint64_t ns)
{
    fake_world_run(&rig->fake, ns);
}

/* ---- objects ---- */

void rig_pool(Rig *rig, int replicas, const char *strategy)
{
    AUTO(mem)
    char *pool = xasprintf(
        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxWarmPool, metadata: "
        "{name: p, namespace: a}, spec: {replicas: %d, sandboxTemplateRef: {name: t}, "
        "updateStrategy: {type: %s}}}",
        replicas, strategy);

    T_OK(fakeapi_create(
        rig->fake.api,
        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxTemplate, metadata: {name: "
        "t, namespace: a}, spec: {podTemplate: {metadata: {labels: {app: demo}}, spec: "
        "{containers: [{name: c, image: i}]}}}}"));
    T_OK(fakeapi_create(rig->fake.api, pool));
}

void rig_claim(Rig *rig, const char *name, const char *spec)
{
    AUTO(mem)
    char *claim = xasprintf(
        "{apiVersion: extensions.agents.x-k8s.io/v1beta1, kind: SandboxClaim, metadata: {name: %s, "
        "namespace: a}, spec: {warmPoolRef: {name: p}%s}}",
        name, spec);

    T_OK(fakeapi_create(rig->fake.api, claim));
}

static const json_t *ready_of(const json_t *object)
{
    const json_t *list = jx_get(object, "status", "conditions");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(jx_get_str(json_array_get(list, i), "type"), STR("Ready"))) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

static void count_ready(void *ctx, const json_t *claim)
{
    size_t *n = ctx;

    *n += str_eq(jx_get_str(ready_of(claim), "status"), STR("True"));
}

size_t rig_ready_claims(const Rig *rig)
{
    size_t n = 0;

    fakeapi_each(rig->fake.api, KUBE_CLAIM, count_ready, &n);
    return n;
}

typedef struct Bindings {
    const Rig *rig;
    Str names[NAMES_MAX]; /* that claims were told */
    Str owners[NAMES_MAX];
    size_t n, n_owners;
} Bindings;

static void check_new(Str *list, size_t *n, Str value, const char *what)
{
    for (size_t i = 0; i < *n; i++) {
        if (str_eq(list[i], value)) {
            T_FAIL("%s " STR_FMT " twice", what, STR_ARG(value));
        }
    }
    T_CHECK(*n < NAMES_MAX);
    list[(*n)++] = value;
}

static void check_claim(void *ctx, const json_t *claim)
{
    Bindings *bindings = ctx;
    Str name = jx_get_str(claim, "status", "sandbox", "name");
    const json_t *sandbox;

    if (name.len == 0) {
        T_CHECK(!str_eq(jx_get_str(ready_of(claim), "status"), STR("True")));
        return;
    }
    check_new(bindings->names, &bindings->n, name, "bound");
    sandbox = fakeapi_get(bindings->rig->fake.api, KUBE_SANDBOX, "a", name.ptr);
    if (sandbox) {
        const json_t *owner = json_array_get(jx_get(sandbox, "metadata", "ownerReferences"), 0);

        T_EQ_STR(jx_get_str(owner, "uid"), jx_get_str(claim, "metadata", "uid"));
    }
}

static void check_sandbox(void *ctx, const json_t *sandbox)
{
    Bindings *bindings = ctx;
    const json_t *owner = json_array_get(jx_get(sandbox, "metadata", "ownerReferences"), 0);

    if (str_eq(jx_get_str(owner, "kind"), STR(KIND_SANDBOX_CLAIM))) {
        check_new(bindings->owners, &bindings->n_owners, jx_get_str(owner, "uid"), "owner");
    }
}

void rig_check_bindings(const Rig *rig)
{
    Bindings *bindings = xcalloc(1, sizeof(*bindings));

    bindings->rig = rig;
    fakeapi_each(rig->fake.api, KUBE_CLAIM, check_claim, bindings);
    fakeapi_each(rig->fake.api, KUBE_SANDBOX, check_sandbox, bindings);
    free(bindings);
}
