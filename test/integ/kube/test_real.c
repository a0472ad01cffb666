/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libcurl transport against a real API server, by KUBECONFIG: HTTP/2, client certificates, and
 * that what we believe about the API is so. Objects are made in namespace default under names of
 * this process and deleted again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/lease.h"
#include "test/integ/kube/client.h"

#define NS STR("default")

static void real_init(Client *client, const KubeCurlOptions *options)
{
    KubeConfig *config = NULL;
    Err err = ERR_INIT;

    if (kube_config_load(&(KubeConfigSource){.path = NULL}, &config, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
    client_init(client, config, options);
}

static char *own_name(const char *what)
{
    return xasprintf("integ-%s-%d", what, (int)getpid());
}

static char *service_text(const char *name)
{
    return xasprintf("{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
                     "\"labels\":{\"integ\":\"%s\"}},\"spec\":{\"clusterIP\":\"None\","
                     "\"selector\":{\"a\":\"b\"}}}",
                     name, name);
}

static KubeReason wait_ok(Client *client, Answer *answer)
{
    KubeReason reason = client_wait(client, answer);

    if (reason != KUBE_REASON_NONE && answer->error.msg[0]) {
        fprintf(stderr, "%d %s\n", answer->error.http, answer->error.msg);
    }
    return reason;
}

static void patch(Client *client, KubeKey key, const char *text, Answer *answer)
{
    answer_reset(answer);
    kube_api_patch(client->api, kube_kind(KUBE_SERVICE), key, NULL, str_from(text), NULL, on_answer,
                   answer);
    client_wait(client, answer);
}

static void delete_uid(Client *client, KubeKey key, Str uid, Answer *answer)
{
    const KubeDeleteOptions options = {.uid = uid, .grace_s = -1};

    answer_reset(answer);
    kube_api_delete(client->api, kube_kind(KUBE_SERVICE), key, &options, NULL, on_answer, answer);
    client_wait(client, answer);
}

T_TEST(real_create_patch_get_delete)
{
    const KubeKind *kind = kube_kind(KUBE_SERVICE);
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *name = own_name("crud");
    AUTO(mem) char *text = service_text(name);
    AUTO(mem) char *uid = NULL;
    KubeKey key = {NS, str_from(name)};
    KubeCurlStats stats;

    real_init(&client, NULL);
    kube_api_create(client.api, kind, NS, str_from(text), NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    T_CHECK(answer.obj->rv > 0);
    T_CHECK(!jnode_exists(jnode_at(kube_obj_root(answer.obj), "metadata", "managedFields")));
    uid = xstrndup(answer.obj->uid.ptr, answer.obj->uid.len);

    answer_reset(&answer);
    kube_api_create(client.api, kind, NS, str_from(text), NULL, on_answer, &answer);
    T_EQ_INT(client_wait(&client, &answer), KUBE_REASON_ALREADY_EXISTS);
    patch(&client, key, "{\"metadata\":{\"labels\":{\"x\":\"y\"}}}", &answer);
    T_EQ_STR(kube_obj_label(answer.obj, STR("x")), "y");
    patch(&client, key, "{\"metadata\":{\"resourceVersion\":\"1\",\"labels\":{\"x\":\"z\"}}}",
          &answer);
    T_EQ_INT(answer.reason, KUBE_REASON_CONFLICT);
    patch(&client, key, "{\"spec\":{\"selector\":{\"!\":\"\"}}}", &answer);
    T_EQ_INT(answer.reason, KUBE_REASON_INVALID);

    answer_reset(&answer);
    kube_api_get(client.api, kind, key, NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    T_EQ_STR(answer.obj->uid, str_from(uid));
    delete_uid(&client, key, STR("other"), &answer);
    T_EQ_INT(answer.reason, KUBE_REASON_CONFLICT);
    delete_uid(&client, key, str_from(uid), &answer);
    T_EQ_INT(answer.reason, KUBE_REASON_NONE);
    answer_reset(&answer);
    kube_api_get(client.api, kind, key, NULL, on_answer, &answer);
    T_EQ_INT(client_wait(&client, &answer), KUBE_REASON_NOT_FOUND);
    kube_curl_stats(client.curl, &stats);
    T_EQ_INT(stats.connections, 1);
}

T_TEST(real_large_bodies_arrive)
{
    const KubeKind *kind = kube_kind(KUBE_SERVICE);
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *name = own_name("large");
    AUTO(mem) char *text = service_text(name);
    AUTO(strbuf) StrBuf patch = STRBUF_INIT(1u << 20);
    KubeKey key = {NS, str_from(name)};

    real_init(&client, NULL);
    kube_api_create(client.api, kind, NS, str_from(text), NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    strbuf_append_cstr(&patch, "{\"metadata\":{\"annotations\":{\"x\":\"");
    while (patch.len < 200000) {
        strbuf_append_cstr(&patch, "0123456789");
    }
    strbuf_append_cstr(&patch, "\"}}}");
    answer_reset(&answer);
    kube_api_patch(client.api, kind, key, NULL, strbuf_str(&patch), NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    T_CHECK(kube_obj_annotation(answer.obj, STR("x")).len > 199000);
    answer_reset(&answer);
    kube_api_delete(client.api, kind, key, NULL, NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
}

static void count_down(void *ctx, const KubeError *error, KubeObj *obj)
{
    size_t *left = ctx;

    T_CHECK(error && error->reason == KUBE_REASON_NOT_FOUND && !obj);
    (*left)--;
}

T_TEST(real_many_requests_share_one_connection)
{
    AUTO(client) Client client;
    size_t left = 500;
    KubeCurlStats stats;

    real_init(&client, NULL);
    for (int i = 0; i < 500; i++) {
        kube_api_get(client.api, kube_kind(KUBE_POD), (KubeKey){NS, STR("integ-none")}, NULL,
                     count_down, &left);
    }
    while (left > 0) {
        T_OK(loop_step(client.loop, NS_PER_S));
        kube_curl_stats(client.curl, &stats);
        T_CHECK(stats.inflight <= KUBE_CURL_INFLIGHT_MAX);
    }
    T_EQ_INT(stats.connections, 1);
    T_EQ_INT(stats.failures, 0);
}

static bool store_has(KubeInformer *informer, const char *name)
{
    return kube_store_get(kube_informer_store(informer), (KubeKey){NS, str_from(name)}) != NULL;
}

static void wait_store(Client *client, KubeInformer *informer, const char *name, bool wanted)
{
    for (int i = 0; i < 500 && store_has(informer, name) != wanted; i++) {
        T_OK(loop_step(client->loop, 10 * NS_PER_MS));
    }
    T_EQ_INT(store_has(informer, name), wanted);
}

static void wait_synced(Client *client, const KubeInformer *informer)
{
    for (int i = 0; i < 500 && !kube_informer_synced(informer); i++) {
        T_OK(loop_step(client->loop, 10 * NS_PER_MS));
    }
    T_CHECK(kube_informer_synced(informer));
}

static void informer_follows(bool stream)
{
    const KubeKind *kind = kube_kind(KUBE_SERVICE);
    AUTO(client) Client client;
    AUTO(kube_informer) KubeInformer *informer = NULL;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *name = own_name("watch");
    AUTO(mem) char *selector = xasprintf("integ=%s", name);
    AUTO(mem) char *text = service_text(name);
    KubeKey key = {NS, str_from(name)};
    KubeInformerStats stats;

    real_init(&client, NULL);
    informer = kube_informer_new(&(KubeInformerConfig){.api = client.api,
                                                       .kind = kind,
                                                       .label_selector = selector,
                                                       .stream = stream,
                                                       .seed = 1,
                                                       .limit = 1});
    kube_informer_start(informer);
    wait_synced(&client, informer);
    T_EQ_INT(kube_store_len(kube_informer_store(informer)), 0);
    kube_api_create(client.api, kind, NS, str_from(text), NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    wait_store(&client, informer, name, true);
    answer_reset(&answer);
    kube_api_delete(client.api, kind, key, NULL, NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    wait_store(&client, informer, name, false);
    kube_informer_stats(informer, &stats);
    T_EQ_INT(stats.lists, 1);
    T_EQ_INT(stats.streams, stream ? 1 : 0);
    T_EQ_INT(stats.watches, 1);
    T_EQ_INT(stats.failures, 0);
}

T_TEST(real_informer_follows)
{
    informer_follows(false);
}

T_TEST(real_informer_follows_a_stream)
{
    informer_follows(true);
}

T_TEST(real_lists_come_in_pages_or_as_a_stream)
{
    AUTO(client) Client client;
    AUTO(kube_informer) KubeInformer *all = NULL;
    AUTO(kube_informer) KubeInformer *paged = NULL;
    AUTO(kube_informer) KubeInformer *streamed = NULL;
    KubeInformerConfig config;

    real_init(&client, NULL);
    config = (KubeInformerConfig){.api = client.api, .kind = kube_kind(KUBE_SERVICE), .seed = 1};
    all = kube_informer_new(&config);
    config.limit = 1;
    paged = kube_informer_new(&config);
    config.stream = true;
    streamed = kube_informer_new(&config);
    kube_informer_start(all);
    kube_informer_start(paged);
    kube_informer_start(streamed);
    wait_synced(&client, all);
    wait_synced(&client, paged);
    wait_synced(&client, streamed);
    T_CHECK(kube_store_len(kube_informer_store(all)) >= 2);
    T_EQ_INT(kube_store_len(kube_informer_store(paged)), kube_store_len(kube_informer_store(all)));
    T_EQ_INT(kube_store_len(kube_informer_store(streamed)),
             kube_store_len(kube_informer_store(all)));
}

typedef struct Leadership {
    bool leads;
    bool released;
} Leadership;

static void on_started(KubeLease *lease, void *ctx)
{
    UNUSED(lease);
    ((Leadership *)ctx)->leads = true;
}

static void on_lost(KubeLease *lease, const char *why, void *ctx)
{
    UNUSED(lease);
    UNUSED(why);
    ((Leadership *)ctx)->leads = false;
}

static void on_lease_error(KubeLease *lease, const KubeError *error, void *ctx)
{
    UNUSED(lease);
    UNUSED(ctx);
    fprintf(stderr, "lease: %s\n", error->msg);
}

static void on_released(KubeLease *lease, void *ctx)
{
    UNUSED(lease);
    ((Leadership *)ctx)->released = true;
}

static KubeLease *lease_new(Client *client, const char *name, const char *identity,
                            Leadership *leadership)
{
    const KubeLeaseConfig config = {.api = client->api,
                                    .ns = "default",
                                    .name = name,
                                    .identity = identity,
                                    .duration_ns = 3 * NS_PER_S,
                                    .renew_ns = 2 * NS_PER_S,
                                    .retry_ns = NS_PER_S / 2,
                                    .on_started = on_started,
                                    .on_lost = on_lost,
                                    .on_error = on_lease_error,
                                    .ctx = leadership};
    KubeLease *lease = NULL;

    T_OK(kube_lease_new(&config, &lease, NULL));
    return lease;
}

T_TEST(real_lease_is_handed_over)
{
    AUTO(client) Client client;
    AUTO(kube_lease) KubeLease *a = NULL;
    AUTO(kube_lease) KubeLease *b = NULL;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *name = own_name("lease");
    Leadership first = {.leads = false};
    Leadership second = {.leads = false};

    real_init(&client, NULL);
    a = lease_new(&client, name, "a", &first);
    b = lease_new(&client, name, "b", &second);
    kube_lease_start(a);
    T_CHECK(client_run(&client, &first.leads, 5 * NS_PER_S));
    kube_lease_start(b);
    client_sleep(&client, 4 * NS_PER_S);
    T_CHECK(first.leads && kube_lease_is_leader(a) && !second.leads);
    T_EQ_STR(kube_lease_holder(b), "a");
    kube_lease_stop(a, on_released);
    T_CHECK(!first.leads);
    T_CHECK(client_run(&client, &first.released, 2 * NS_PER_S));
    T_CHECK(client_run(&client, &second.leads, 2 * NS_PER_S)); /* long before 3 s */
    kube_lease_stop(b, on_released);
    T_CHECK(client_run(&client, &second.released, 2 * NS_PER_S));
    kube_api_delete(client.api, kube_kind(KUBE_LEASE), (KubeKey){NS, str_from(name)}, NULL, NULL,
                    on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
}

T_TEST(real_events_are_accepted)
{
    const KubeKind *kind = kube_kind(KUBE_SERVICE);
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *name = own_name("event");
    AUTO(mem) char *text = service_text(name);
    AUTO(kube_events) KubeEvents *events = NULL;
    KubeEventsStats stats;

    real_init(&client, NULL);
    events = kube_events_new(client.api, "integ-instance", (uint64_t)getpid());
    kube_api_create(client.api, kind, NS, str_from(text), NULL, on_answer, &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
    kube_events_emit(events, &(KubeEventArgs){.controller = "sandbox-controller",
                                              .regarding = answer.obj,
                                              .reason = "Tested",
                                              .action = "Testing",
                                              .note = STR("a note")});
    client_sleep(&client, NS_PER_S / 2);
    kube_events_stats(events, &stats);
    T_EQ_INT(stats.emitted, 1);
    T_EQ_INT(stats.failed, 0);
    answer_reset(&answer);
    kube_api_delete(client.api, kind, (KubeKey){NS, str_from(name)}, NULL, NULL, on_answer,
                    &answer);
    T_EQ_INT(wait_ok(&client, &answer), KUBE_REASON_NONE);
}
