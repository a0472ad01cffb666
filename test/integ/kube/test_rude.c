/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libcurl transport against a server that misbehaves (rude.py, HTTP/1.1 over TLS on loopback).
 * RUDE_PORT and RUDE_DIR come from the run script.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "kube/cred.h"
#include "kube/informer.h"
#include "test/integ/kube/client.h"

static char *read_env_file(const char *name)
{
    AUTO(mem) char *path = xasprintf("%s/%s", getenv("RUDE_DIR"), name);
    Str text = t_read_file(path);

    return xstrndup(text.ptr, text.len);
}

static KubeConfig *rude_config(const char *ca)
{
    KubeConfig *config = xcalloc(1, sizeof(*config));

    config->server = xasprintf("https://127.0.0.1:%s", getenv("RUDE_PORT"));
    config->ns = xstrdup("default");
    config->context = xstrdup("rude");
    config->ca_pem = read_env_file(ca);
    config->token = xstrdup("secret-token");
    return config;
}

static KubeReason get(Client *client, Answer *answer, const char *behaviour, uint64_t timeout_ns)
{
    const KubeCallOptions options = {.timeout_ns = timeout_ns};

    answer_reset(answer);
    kube_api_get(client->api, kube_kind(KUBE_POD), (KubeKey){str_from(behaviour), STR("x")},
                 &options, on_answer, answer);
    return client_wait(client, answer);
}

static KubeReason patch(Client *client, Answer *answer, const char *behaviour, uint64_t timeout_ns)
{
    const KubeCallOptions options = {.timeout_ns = timeout_ns};

    answer_reset(answer);
    kube_api_patch(client->api, kube_kind(KUBE_POD), (KubeKey){str_from(behaviour), STR("x")}, NULL,
                   STR("{}"), &options, on_answer, answer);
    return client_wait(client, answer);
}

T_TEST(rude_good_answer_carries_the_token)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};

    client_init(&client, rude_config("ca.pem"), NULL);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    T_EQ_STR(kube_obj_annotation(answer.obj, STR("token")), "Bearer secret-token");
}

T_TEST(rude_reads_and_writes_tell_what_went_wrong)
{
    static const struct {
        const char *behaviour;
        KubeReason read;
        KubeReason write;
        uint64_t timeout_ns;
    } ROWS[] = {
        {"truncated", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"cutjson", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"chunkcut", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"reset", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"close", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"hang", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME, 300 * NS_PER_MS},
        {"slow", KUBE_REASON_NONE, KUBE_REASON_NONE, 0},
        {"busy", KUBE_REASON_TOO_MANY, KUBE_REASON_TOO_MANY, 0},
        {"broken", KUBE_REASON_SERVER, KUBE_REASON_SERVER, 0},
        {"proxy", KUBE_REASON_UNAVAILABLE, KUBE_REASON_UNAVAILABLE, 0},
        {"html", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"huge", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"hugehead", KUBE_REASON_NETWORK, KUBE_REASON_UNKNOWN_OUTCOME, 0},
        {"redirect", KUBE_REASON_REJECTED, KUBE_REASON_REJECTED, 0},
        {"empty", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME, 0},
    };
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};

    client_init(&client, rude_config("ca.pem"), NULL);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].behaviour);
        T_EQ_INT(get(&client, &answer, ROWS[i].behaviour, ROWS[i].timeout_ns), ROWS[i].read);
        T_EQ_INT(patch(&client, &answer, ROWS[i].behaviour, ROWS[i].timeout_ns), ROWS[i].write);
        /* and it cost that request only */
        T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    }
}

T_TEST(rude_retry_after_and_message_come_through)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};

    client_init(&client, rude_config("ca.pem"), NULL);
    T_EQ_INT(get(&client, &answer, "busy", 0), KUBE_REASON_TOO_MANY);
    T_EQ_INT(answer.error.retry_after_ns, 3 * NS_PER_S);
    T_EQ_STR(answer.error.msg, "slow down");
}

T_TEST(rude_unknown_authority_is_refused_and_nothing_is_sent)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};

    client_init(&client, rude_config("other-ca.pem"), NULL);
    T_EQ_INT(patch(&client, &answer, "ok", 0), KUBE_REASON_NETWORK);
    T_CONTAINS(answer.error.msg, "certificate");
}

T_TEST(rude_wrong_host_name_is_refused_unless_named)
{
    AUTO(client) Client client;
    AUTO(client) Client named;
    AUTO(answer) Answer answer = {.done = false};
    KubeConfig *config = rude_config("ca.pem");

    config->tls_server_name = xstrdup("wrong.example");
    client_init(&client, config, NULL);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NETWORK);
    config = rude_config("ca.pem");
    config->tls_server_name = xstrdup("rude.test"); /* in the certificate, in no DNS */
    client_init(&named, config, NULL);
    T_EQ_INT(get(&named, &answer, "ok", 0), KUBE_REASON_NONE);
}

T_TEST(rude_nobody_listens)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    KubeConfig *config = rude_config("ca.pem");

    free(config->server);
    config->server = xstrdup("https://127.0.0.1:1");
    client_init(&client, config, NULL);
    T_EQ_INT(patch(&client, &answer, "ok", 0), KUBE_REASON_NETWORK);
}

static void write_token(const char *path, const char *token)
{
    AUTO(mem) char *fresh = xasprintf("%s.new", path);
    FILE *f = fopen(fresh, "we");

    T_CHECK(f && fputs(token, f) >= 0 && fclose(f) == 0 && rename(fresh, path) == 0);
}

T_TEST(rude_token_file_is_read_again)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *path = xasprintf("%s/token", t_tmpdir());
    KubeConfig *config = rude_config("ca.pem");

    config->token_file = xstrdup(path);
    write_token(path, "first\n");
    client_init(&client, config, NULL);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    T_EQ_STR(kube_obj_annotation(answer.obj, STR("token")), "Bearer first");
    write_token(path, "second\n");
    client_sleep(&client, KUBE_CRED_CHECK_NS + 100 * NS_PER_MS);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    T_EQ_STR(kube_obj_annotation(answer.obj, STR("token")), "Bearer second");
}

T_TEST(rude_401_makes_it_look_for_a_new_token_at_once)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *path = xasprintf("%s/token", t_tmpdir());
    KubeConfig *config = rude_config("ca.pem");

    config->token_file = xstrdup(path);
    write_token(path, "first");
    client_init(&client, config, NULL);
    write_token(path, "second");
    T_EQ_INT(get(&client, &answer, "auth", 0), KUBE_REASON_UNAUTHORIZED);
    T_EQ_INT(get(&client, &answer, "auth", 0), KUBE_REASON_NONE);
}

static void copy_file(const char *from, const char *to)
{
    AUTO(mem) char *text = read_env_file(from);

    write_token(to, text);
}

T_TEST(rude_new_authority_is_taken_up)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    AUTO(mem) char *path = xasprintf("%s/ca", t_tmpdir());
    KubeConfig *config = rude_config("ca.pem");
    KubeCurlStats stats;

    free(TAKE(config->ca_pem));
    config->ca_file = xstrdup(path);
    copy_file("ca.pem", path);
    client_init(&client, config, NULL);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    copy_file("other-ca.pem", path);
    client_sleep(&client, KUBE_CRED_CHECK_NS + 100 * NS_PER_MS);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NETWORK); /* a new connection, refused */
    copy_file("ca.pem", path);
    client_sleep(&client, KUBE_CRED_CHECK_NS + 100 * NS_PER_MS);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    kube_curl_stats(client.curl, &stats);
    T_EQ_INT(stats.connections, 3);
}

T_TEST(rude_connections_are_reused)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    KubeCurlStats stats;

    client_init(&client, rude_config("ca.pem"), NULL);
    for (int i = 0; i < 20; i++) {
        T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    }
    kube_curl_stats(client.curl, &stats);
    T_EQ_INT(stats.requests, 20);
    T_EQ_INT(stats.connections, 1);
    T_EQ_INT(stats.inflight, 0);
}

static void count_answer(void *ctx, const KubeError *error, KubeObj *obj)
{
    size_t *left = ctx;

    T_CHECK(!error && obj);
    (*left)--;
}

T_TEST(rude_flood_is_queued_by_priority)
{
    AUTO(client) Client client;
    const KubeCurlOptions options = {.inflight_max = 2, .shards = 2};
    size_t left = 60;
    KubeCurlStats stats;

    client_init(&client, rude_config("ca.pem"), &options);
    for (int i = 0; i < 60; i++) {
        kube_api_get(client.api, kube_kind(KUBE_POD), (KubeKey){STR("ok"), STR("x")},
                     &(KubeCallOptions){.priority = (KubePriority)(i % 3)}, count_answer, &left);
    }
    while (left > 0) {
        T_OK(loop_step(client.loop, NS_PER_S));
        kube_curl_stats(client.curl, &stats);
        T_CHECK(stats.inflight <= 4);
    }
    T_EQ_INT(stats.queued, 0);
}

T_TEST(rude_cancel_in_every_state)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};

    client_init(&client, rude_config("ca.pem"), NULL);
    for (uint64_t ms = 0; ms < 12; ms += 1) {
        KubeCall *call = kube_api_get(client.api, kube_kind(KUBE_POD),
                                      (KubeKey){STR("slow"), STR("x")}, NULL, on_answer, &answer);

        client_sleep(&client, ms * NS_PER_MS);
        if (!answer.done) {
            kube_call_cancel(call);
        }
        answer_reset(&answer);
    }
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
}

typedef struct Page {
    bool done;
    KubeReason reason;
    size_t items;
    KubeCall *cancel_me;
} Page;

static void on_item(void *ctx, KubeObj *obj)
{
    Page *page = ctx;

    T_EQ_STR(str_take(obj->name, 1), "p");
    page->items++;
    if (page->cancel_me && page->items == 2) {
        kube_call_cancel(TAKE(page->cancel_me));
        page->done = true;
    }
}

static void on_page(void *ctx, const KubeError *error, const KubeListMeta *meta)
{
    Page *page = ctx;

    page->done = true;
    page->reason = error ? error->reason : KUBE_REASON_NONE;
    T_CHECK(error || str_eq(meta->rv, STR("9")));
}

T_TEST(rude_lists_must_be_complete)
{
    AUTO(client) Client client;
    Page page = {.done = false};

    client_init(&client, rude_config("ca.pem"), NULL);
    kube_api_list_page(client.api, kube_kind(KUBE_POD), &(KubeListOptions){.ns = STR("list")}, NULL,
                       on_item, on_page, &page);
    T_CHECK(client_run(&client, &page.done, 5 * NS_PER_S));
    T_EQ_INT(page.reason, KUBE_REASON_NONE);
    T_EQ_INT(page.items, 3);
    page = (Page){.done = false};
    kube_api_list_page(client.api, kube_kind(KUBE_POD), &(KubeListOptions){.ns = STR("listcut")},
                       NULL, on_item, on_page, &page);
    T_CHECK(client_run(&client, &page.done, 5 * NS_PER_S));
    T_EQ_INT(page.reason, KUBE_REASON_BAD_ANSWER);
    page = (Page){.done = false};
    page.cancel_me =
        kube_api_list_page(client.api, kube_kind(KUBE_POD), &(KubeListOptions){.ns = STR("list")},
                           NULL, on_item, on_page, &page);
    T_CHECK(client_run(&client, &page.done, 5 * NS_PER_S));
    T_EQ_INT(page.items, 2);
}

typedef struct Seen {
    bool synced;
    bool failed;
} Seen;

static void on_state(KubeInformer *informer, const KubeError *error, void *ctx)
{
    Seen *seen = ctx;

    UNUSED(informer);
    seen->synced = seen->synced || !error;
    seen->failed = seen->failed || error;
}

T_TEST(rude_watch_that_breaks_is_resumed)
{
    AUTO(client) Client client;
    AUTO(kube_informer) KubeInformer *informer = NULL;
    Seen seen = {.synced = false};
    KubeInformerStats stats;

    client_init(&client, rude_config("ca.pem"), NULL);
    informer = kube_informer_new(&(KubeInformerConfig){.api = client.api,
                                                       .kind = kube_kind(KUBE_POD),
                                                       .ns = "watch",
                                                       .seed = 1,
                                                       .on_state = on_state,
                                                       .ctx = &seen});
    kube_informer_start(informer);
    T_CHECK(client_run(&client, &seen.synced, 5 * NS_PER_S));
    T_EQ_INT(kube_store_len(kube_informer_store(informer)), 3);
    T_CHECK(client_run(&client, &seen.failed, 5 * NS_PER_S));
    client_sleep(&client, 2 * NS_PER_S);
    kube_informer_stats(informer, &stats);
    T_CHECK(stats.watches >= 2);
    T_EQ_INT(stats.lists, 1);
    T_EQ_INT(kube_store_len(kube_informer_store(informer)), 3);
}

T_TEST(rude_second_address_is_tried)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    KubeConfig *config = rude_config("ca.pem");

    /* ::1 first where the host has it, and nobody listens there. */
    free(config->server);
    config->server = xasprintf("https://localhost:%s", getenv("RUDE_PORT"));
    config->tls_server_name = xstrdup("rude.test");
    client_init(&client, config, NULL);
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
    T_CHECK(answer.took_ns < NS_PER_S);
}

T_TEST(rude_traces_have_no_credentials_in_them)
{
    AUTO(mem) char *path = xasprintf("%s/log", t_tmpdir());
    const char *const ports[] = {getenv("RUDE_PORT"), getenv("H2_PORT")};

    for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
        AUTO(client) Client client;
        AUTO(answer) Answer answer = {.done = false};
        FILE *f = fopen(path, "we");
        Logger *log = logger_new(fileno(f), NULL, clock_system());
        const KubeCurlOptions options = {.log = log};
        KubeConfig *config = rude_config("ca.pem");
        Str text;

        logger_set_level(log, LOG_LEVEL_DEBUG);
        free(config->server);
        config->server = xasprintf("https://127.0.0.1:%s", ports[i]);
        client_init(&client, config, &options);
        get(&client, &answer, "ok", NS_PER_S / 2);
        logger_free(log);
        fclose(f);
        text = t_read_file(path);
        T_CONTAINS(text, "authorization: [removed]");
        T_CHECK(!memmem(text.ptr, text.len, "secret-token", 12));
    }
}

/* ---- the transport without KubeApi ---- */

typedef struct Raw {
    KubeRequest req;
    bool done;
    int err;
    size_t bytes;
} Raw;

static int raw_on_data(KubeRequest *req, Str chunk)
{
    container_of(req, Raw, req)->bytes += chunk.len;
    return 0;
}

static void raw_on_done(KubeRequest *req, const KubeResult *result)
{
    Raw *raw = container_of(req, Raw, req);

    raw->done = true;
    raw->err = result->err;
}

T_TEST(rude_silent_stream_ends_after_its_idle_time)
{
    AUTO(client) Client client;
    KubeTransport *transport;
    Raw raw = {.req = {.path = "/api/v1/namespaces/silent/pods",
                       .stream = true,
                       .timeout_ns = 200 * NS_PER_MS,
                       .idle_ns = 600 * NS_PER_MS,
                       .on_data = raw_on_data,
                       .on_done = raw_on_done}};
    uint64_t began = clock_mono_ns(clock_system());

    client_init(&client, rude_config("ca.pem"), NULL);
    transport = kube_curl_transport(client.curl);
    kube_submit(transport, &raw.req);
    T_CHECK(client_run(&client, &raw.done, 3 * NS_PER_S));
    T_EQ_INT(raw.err, -ETIMEDOUT);
    T_EQ_INT(raw.bytes, 1);
    T_CHECK(clock_mono_ns(clock_system()) - began >= 500 * NS_PER_MS);
    /* Before the answer's head the ordinary time-out holds. */
    raw = (Raw){.req = {.path = "/api/v1/namespaces/hang/pods",
                        .stream = true,
                        .timeout_ns = 200 * NS_PER_MS,
                        .on_data = raw_on_data,
                        .on_done = raw_on_done}};
    kube_submit(transport, &raw.req);
    T_CHECK(client_run(&client, &raw.done, 2 * NS_PER_S));
    T_EQ_INT(raw.err, -ETIMEDOUT);
}

typedef struct Crossed {
    Raw list;
    Raw victims[8];
    KubeTransport *transport;
} Crossed;

static int crossed_on_data(KubeRequest *req, Str chunk)
{
    Crossed *crossed = container_of(req, Crossed, list.req);

    UNUSED(chunk);
    for (size_t i = 0; i < ARRAY_LEN(crossed->victims); i++) {
        kube_cancel(crossed->transport, &crossed->victims[i].req);
    }
    return -ECANCELED;
}

T_TEST(rude_cancel_of_others_from_inside_a_body)
{
    AUTO(client) Client client;
    AUTO(answer) Answer answer = {.done = false};
    Crossed crossed = {.list.req = {.path = "/api/v1/namespaces/list/pods",
                                    .on_data = crossed_on_data,
                                    .on_done = raw_on_done}};

    client_init(&client, rude_config("ca.pem"), NULL);
    crossed.transport = kube_curl_transport(client.curl);
    for (size_t i = 0; i < ARRAY_LEN(crossed.victims); i++) {
        crossed.victims[i].req = (KubeRequest){.path = "/api/v1/namespaces/silent/pods/x",
                                               .stream = i >= 6,
                                               .on_data = raw_on_data,
                                               .on_done = raw_on_done};
        kube_submit(crossed.transport, &crossed.victims[i].req);
    }
    kube_submit(crossed.transport, &crossed.list.req);
    T_CHECK(client_run(&client, &crossed.list.done, 3 * NS_PER_S));
    T_EQ_INT(crossed.list.err, -ECANCELED);
    client_sleep(&client, 200 * NS_PER_MS);
    for (size_t i = 0; i < ARRAY_LEN(crossed.victims); i++) {
        T_CHECK(!crossed.victims[i].done);
    }
    T_EQ_INT(get(&client, &answer, "ok", 0), KUBE_REASON_NONE);
}

T_TEST(rude_queue_is_bounded)
{
    AUTO(client) Client client;
    AUTO(mem) Raw *raw = xcalloc(KUBE_CURL_QUEUE_MAX + 2, sizeof(*raw));
    KubeConfig *config = rude_config("ca.pem");
    KubeTransport *transport;
    KubeCurlStats stats;

    client_init(&client, config, NULL);
    transport = kube_curl_transport(client.curl);
    for (size_t i = 0; i < KUBE_CURL_QUEUE_MAX + 2; i++) {
        raw[i].req =
            (KubeRequest){.path = "/api/v1/namespaces/hang/pods/x", .on_done = raw_on_done};
        kube_submit(transport, &raw[i].req);
    }
    T_CHECK(client_run(&client, &raw[KUBE_CURL_QUEUE_MAX + 1].done, NS_PER_S));
    T_EQ_INT(raw[KUBE_CURL_QUEUE_MAX + 1].err, -ENOBUFS);
    T_EQ_INT(raw[KUBE_CURL_QUEUE_MAX].err, -ENOBUFS);
    T_CHECK(!raw[KUBE_CURL_QUEUE_MAX - 1].done);
    for (size_t i = 0; i < KUBE_CURL_QUEUE_MAX; i++) {
        kube_cancel(transport, &raw[i].req);
    }
    kube_curl_stats(client.curl, &stats);
    T_EQ_INT(stats.queued + stats.inflight, 0);
}
