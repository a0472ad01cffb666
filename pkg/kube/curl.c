/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See curl.h. Life of a request: submit() makes a Flight and queues it; a deferred pump starts
 * flights while their shard has room; libcurl works from socket and timer events of the loop; done
 * flights are collected after each such event, outside libcurl's frames, and only then callbacks
 * run. A write callback does run inside libcurl: what it cancels there is taken out afterwards.
 *
 * A Shard is one CURLM, that is one HTTP/2 connection. It is retired, and a new one takes its
 * place, when TLS material changed or when a request on it went unanswered (a dead connection can
 * hide behind HTTP/2 for minutes); a retired shard lives until its last flight has ended.
 */
#include "kube/curl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/version.h"
#include "kube/curl_impl.h"

#define RETRY_AFTER_MAX_S 3600
#define REFRESH_AFTER_401_NS NS_PER_S

/* ---- shards ---- */

static void curl_retire(KubeCurl *curl, Shard *shard)
{
    for (unsigned i = 0; i <= curl->n_shards; i++) {
        if (curl->current[i] == shard) {
            shard->retired = true;
            curl->current[i] = kube_curl_shard_new(curl, shard->watches);
            loop_defer_post(curl->loop, &curl->pump); /* frees it when it is empty */
        }
    }
}

/* ---- flights ---- */

static void flight_unhook(Flight *flight)
{
    KubeCurl *curl = flight->curl;

    if (!flight->shard) {
        return;
    }
    curl_multi_remove_handle(flight->shard->multi, flight->easy);
    flight->shard->flights--;
    if (flight->shard->watches) {
        curl->stats.watches--;
    } else {
        curl->stats.inflight--;
    }
    if (curl->handles.len < KUBE_CURL_HANDLES_KEPT) {
        curl_easy_reset(flight->easy);
        vec_push(&curl->handles, flight->easy);
    } else {
        curl_easy_cleanup(flight->easy);
    }
    flight->easy = NULL;
    flight->shard = NULL;
    loop_defer_post(curl->loop, &curl->pump);
}

static void flight_free(Flight *flight)
{
    flight_unhook(flight);
    flight->curl->stats.queued -= flight->queued;
    curl_slist_free_all(flight->headers);
    strbuf_deinit(&flight->body);
    loop_timer_disarm(&flight->deadline);
    list_remove(&flight->node);
    free(flight);
}

/* Hands the result over; everything of the flight is gone before the callback runs. */
static void flight_end(Flight *flight, KubeResult *result)
{
    KubeCurl *curl = flight->curl;
    KubeRequest *req = flight->req;
    AUTO(strbuf) StrBuf body = flight->body;

    curl->stats.failures += result->err < 0;
    result->body = strbuf_str(&body);
    result->http_status = flight->http_status;
    strbuf_init(&flight->body, 0);
    flight_free(flight);
    if (req) {
        if (curl->options.on_result) {
            curl->options.on_result(curl->options.ctx, req->method, result->http_status);
        }
        req->impl = NULL;
        req->on_done(req, result);
    }
}

static int errno_of(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return -ETIMEDOUT;
    case CURLE_COULDNT_CONNECT:
        return -ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
        return -EHOSTUNREACH;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
        return -EPROTO;
    case CURLE_PARTIAL_FILE:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        return -EBADMSG;
    default:
        return -ECONNRESET;
    }
}

/* Whether the server may have seen the request. When in doubt, yes. */
static bool flight_was_sent(const Flight *flight, CURLcode code)
{
    long request_bytes = 0;
    curl_off_t pretransfer = 0;

    if (code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_CONNECT ||
        code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
        code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE || !flight->easy) {
        return false;
    }
    curl_easy_getinfo(flight->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
    curl_easy_getinfo(flight->easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer);
    return request_bytes > 0 || pretransfer > 0;
}

static void result_set(KubeResult *result, int err, const char *text)
{
    result->err = err;
    snprintf(result->msg, sizeof(result->msg), "%.*s", (int)sizeof(result->msg) - 1, text);
}

/* A reset stream may look like success in this libcurl: the announced length must have come. */
static void flight_result(Flight *flight, CURLcode code, KubeResult *result)
{
    curl_off_t announced = -1;
    curl_off_t retry_after_s = 0;
    long connects = 0;

    curl_easy_getinfo(flight->easy, CURLINFO_NUM_CONNECTS, &connects);
    curl_easy_getinfo(flight->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    curl_easy_getinfo(flight->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
    flight->curl->stats.connections += connects > 0 ? (uint64_t)connects : 0;
    result->sent = flight_was_sent(flight, code);
    if (retry_after_s > 0) {
        retry_after_s = retry_after_s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : retry_after_s;
        result->retry_after_ns = (uint64_t)retry_after_s * NS_PER_S;
    }
    if (flight->abort < 0) {
        result_set(result, flight->abort, strerror(-flight->abort));
    } else if (code != CURLE_OK) {
        result_set(result, errno_of(code),
                   flight->text[0] ? flight->text : curl_easy_strerror(code));
    } else if (announced >= 0 && (uint64_t)announced != flight->received) {
        result_set(result, -EBADMSG, "the answer is shorter than announced");
    } else if (flight->http_status == 0) {
        result_set(result, -EBADMSG, "an answer without a status");
    }
}

static void flight_finish(Flight *flight, CURLcode code)
{
    KubeCurl *curl = flight->curl;
    Shard *shard = flight->shard;
    KubeResult result = {.err = 0};

    flight_result(flight, code, &result);
    if (result.err == -ETIMEDOUT && flight->req) {
        curl_retire(curl, shard);
    }
    if (flight->http_status == 401 &&
        loop_now(curl->loop) - curl->token_read_ns >= REFRESH_AFTER_401_NS) {
        curl->token_read_ns = loop_now(curl->loop);
        kube_cred_refresh_now(&curl->cred, loop_now(curl->loop), NULL);
    }
    flight_end(flight, &result);
}

/* Takes out what was cancelled while libcurl was on the stack. */
static void curl_sweep(KubeCurl *curl)
{
    ListNode *node;

    while (!curl->in_curl && (node = list_first(&curl->dropped))) {
        flight_free(list_entry(node, Flight, node));
    }
}

void kube_curl_collect(Shard *shard)
{
    KubeCurl *curl = shard->curl;
    int left;
    CURLMsg *msg;

    curl_sweep(curl);
    /* A callback may retire this shard; it is freed from the pump only. */
    while ((msg = curl_multi_info_read(shard->multi, &left))) {
        Flight *flight = NULL;
        CURLcode code = msg->data.result;

        if (msg->msg == CURLMSG_DONE) {
            curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&flight);
            flight_finish(flight, code);
        }
    }
}

static void flight_on_deadline(LoopTimer *timer)
{
    Flight *flight = container_of(timer, Flight, deadline);
    KubeRequest *req = flight->req;
    uint64_t now = loop_now(flight->curl->loop);
    KubeResult result = {.err = 0};

    if (req->stream && flight->http_status != 0) {
        uint64_t due = flight->last_byte_ns + req->idle_ns;

        if (req->idle_ns == 0 || now < due) {
            if (req->idle_ns > 0) {
                loop_timer_arm(flight->curl->loop, timer, due);
            }
            return;
        }
    }
    if (flight->shard) {
        flight->abort = -ETIMEDOUT;
        flight_finish(flight, CURLE_OPERATION_TIMEDOUT);
        return;
    }
    result_set(&result, -ETIMEDOUT, "no free connection in time");
    flight_end(flight, &result);
}

/* ---- callbacks of libcurl ---- */

static int flight_data(Flight *flight, Str chunk)
{
    KubeRequest *req = flight->req;
    size_t max;

    if (req->on_data && flight->http_status >= 200 && flight->http_status < 300) {
        return req->on_data(req, chunk);
    }
    max = req->on_data ? KUBE_ERROR_BODY_MAX : req->body_max;
    flight->body.max = max ? max : KUBE_BODY_MAX_DEFAULT;
    return strbuf_append(&flight->body, chunk);
}

static size_t flight_on_write(char *ptr, size_t size, size_t n, void *ctx)
{
    Flight *flight = ctx;
    long status = 0;
    int r;

    if (!flight->req) {
        return 0;
    }
    curl_easy_getinfo(flight->easy, CURLINFO_RESPONSE_CODE, &status);
    flight->http_status = (int)status;
    flight->last_byte_ns = loop_now(flight->curl->loop);
    flight->received += size * n;
    r = flight_data(flight, (Str){ptr, size * n});
    if (r < 0 && flight->req) {
        flight->abort = r;
    }
    return r < 0 || !flight->req ? 0 : size * n;
}

static size_t flight_on_header(char *ptr, size_t size, size_t n, void *ctx)
{
    Flight *flight = ctx;
    Str line = str_trim((Str){ptr, size * n});
    long status = 0;

    if (line.len == 0 && flight->req) { /* end of the head */
        curl_easy_getinfo(flight->easy, CURLINFO_RESPONSE_CODE, &status);
        flight->http_status = status >= 200 ? (int)status : 0;
        flight->last_byte_ns = loop_now(flight->curl->loop);
    }
    return size * n;
}

/* ---- starting ---- */

static void flight_start(Flight *flight, Shard *shard)
{
    KubeCurl *curl = flight->curl;

    curl->stats.queued--;
    flight->queued = false;
    flight->easy = curl->handles.len > 0 ? vec_pop(&curl->handles) : curl_easy_init();
    CHECK(flight->easy);
    flight->shard = shard;
    kube_curl_easy_setup(flight);
    curl_easy_setopt(flight->easy, CURLOPT_WRITEFUNCTION, flight_on_write);
    curl_easy_setopt(flight->easy, CURLOPT_WRITEDATA, flight);
    curl_easy_setopt(flight->easy, CURLOPT_HEADERFUNCTION, flight_on_header);
    curl_easy_setopt(flight->easy, CURLOPT_HEADERDATA, flight);
    shard->flights++;
    if (shard->watches) {
        curl->stats.watches++;
    } else {
        curl->stats.inflight++;
    }
    curl->stats.requests++;
    list_push_back(&curl->flying, &flight->node);
    CHECK(curl_multi_add_handle(shard->multi, flight->easy) == CURLM_OK);
}

/* The current shard with the fewest requests, NULL when all are full. */
static Shard *curl_pick(const KubeCurl *curl)
{
    Shard *best = NULL;

    for (unsigned i = 0; i < curl->n_shards; i++) {
        Shard *shard = curl->current[i];

        if (shard->flights < curl->options.inflight_max &&
            (!best || shard->flights < best->flights)) {
            best = shard;
        }
    }
    return best;
}

static void curl_start_queued(KubeCurl *curl)
{
    Shard *watches = curl->current[curl->n_shards];
    Shard *shard;
    ListNode *node;

    while (curl->stats.watches < KUBE_CURL_WATCHES_MAX &&
           (node = list_pop_front(&curl->watch_queue))) {
        flight_start(list_entry(node, Flight, node), watches);
    }
    for (size_t p = 0; p < KUBE_PRIO_MAX_; p++) {
        while (!list_is_empty(&curl->queue[p]) && (shard = curl_pick(curl))) {
            uint64_t wait = kube_bucket_take(&curl->bucket, loop_now(curl->loop));

            if (wait > 0) {
                loop_timer_arm(curl->loop, &curl->throttled, loop_now(curl->loop) + wait);
                return;
            }
            flight_start(list_entry(list_pop_front(&curl->queue[p]), Flight, node), shard);
        }
    }
}

static void curl_on_token(LoopTimer *timer)
{
    KubeCurl *curl = container_of(timer, KubeCurl, throttled);

    loop_defer_post(curl->loop, &curl->pump);
}

static void curl_on_pump(LoopDefer *defer)
{
    KubeCurl *curl = container_of(defer, KubeCurl, pump);
    Err err = ERR_INIT;
    ListNode *node;

    if (kube_cred_refresh(&curl->cred, loop_now(curl->loop), &err) < 0) {
        LOG_WARN(curl->options.log, "a credential could not be read again, keeping the last one",
                 F_ERR(&err));
    }
    if (curl->cred.tls_gen != curl->tls_gen) {
        curl->tls_gen = curl->cred.tls_gen;
        for (unsigned i = 0; i <= curl->n_shards; i++) {
            curl_retire(curl, curl->current[i]);
        }
    }
    list_foreach (&curl->shards, it) {
        Shard *shard = list_entry(it, Shard, node);

        if (shard->retired && shard->flights == 0) {
            kube_curl_shard_free(shard);
        }
    }
    while ((node = list_first(&curl->refused))) {
        KubeResult result = {.err = 0};

        result_set(&result, -ENOBUFS, "too many requests are waiting");
        flight_end(list_entry(node, Flight, node), &result);
    }
    curl_start_queued(curl);
}

/* ---- the transport ---- */

static void curl_submit(KubeTransport *transport, KubeRequest *req)
{
    KubeCurl *curl = container_of(transport, KubeCurl, transport);
    Flight *flight = xcalloc(1, sizeof(*flight));
    uint64_t timeout = req->timeout_ns ? req->timeout_ns : KUBE_TIMEOUT_DEFAULT_NS;

    CHECK((unsigned)req->priority < KUBE_PRIO_MAX_);
    flight->curl = curl;
    flight->req = req;
    strbuf_init(&flight->body, KUBE_BODY_MAX_DEFAULT);
    loop_timer_init(&flight->deadline, flight_on_deadline);
    req->impl = flight;
    loop_defer_post(curl->loop, &curl->pump);
    if (curl->stats.queued >= KUBE_CURL_QUEUE_MAX) {
        list_push_back(&curl->refused, &flight->node);
        return;
    }
    curl->stats.queued++;
    flight->queued = true;
    list_push_back(req->stream ? &curl->watch_queue : &curl->queue[req->priority], &flight->node);
    loop_timer_arm(curl->loop, &flight->deadline, loop_now(curl->loop) + timeout);
}

static void curl_cancel(KubeTransport *transport, KubeRequest *req)
{
    KubeCurl *curl = container_of(transport, KubeCurl, transport);
    Flight *flight = req->impl;

    if (!flight) {
        return;
    }
    req->impl = NULL;
    flight->req = NULL;
    if (curl->in_curl && flight->shard) {
        loop_timer_disarm(&flight->deadline);
        list_remove(&flight->node);
        list_push_back(&curl->dropped, &flight->node);
        return;
    }
    flight_free(flight);
}

/* tls-server-name: URLs carry that name, connections go to the real address. */
static void curl_set_base(KubeCurl *curl, const KubeConfig *config)
{
    Str rest;
    Str scheme = str_cut(str_from(config->server), ':', &rest);
    Str path;
    Str authority = str_cut(str_drop(rest, 2), '/', &path);
    AUTO(mem) char *to = NULL;

    if (!config->tls_server_name) {
        curl->base = xstrdup(config->server);
        return;
    }
    curl->base = xasprintf(STR_FMT "://%s%s" STR_FMT, STR_ARG(scheme), config->tls_server_name,
                           path.ptr ? "/" : "", STR_ARG(path.ptr ? path : STR("")));
    to = xasprintf("::" STR_FMT "%s", STR_ARG(authority),
                   authority.ptr[authority.len - 1] == ']' || str_find(authority, ':') < 0 ? ":443"
                                                                                           : "");
    curl->connect_to = curl_slist_append(NULL, to);
}

int kube_curl_new(Loop *loop, const KubeConfig *config, const KubeCurlOptions *options,
                  KubeCurl **ret_curl, Err *reterr)
{
    KubeCurl *curl = xcalloc(1, sizeof(*curl));
    int r = kube_cred_init(&curl->cred, config, loop_now(loop), reterr);

    if (r < 0) {
        free(curl);
        return r;
    }
    curl->transport = (KubeTransport){curl_submit, curl_cancel};
    curl->loop = loop;
    curl->options = options ? *options : (KubeCurlOptions){.shards = 0};
    if (curl->options.inflight_max == 0) {
        curl->options.inflight_max = KUBE_CURL_INFLIGHT_MAX;
    }
    curl->n_shards = curl->options.shards ? curl->options.shards : 1;
    if (curl->n_shards > KUBE_CURL_SHARDS_MAX) {
        curl->n_shards = KUBE_CURL_SHARDS_MAX;
    }
    curl->tls_gen = curl->cred.tls_gen;
    curl->agent = curl->options.user_agent ? xstrdup(curl->options.user_agent)
                                           : xasprintf("cofferdam/%s", version_string());
    curl_set_base(curl, config);
    list_init(&curl->shards);
    for (size_t p = 0; p < KUBE_PRIO_MAX_; p++) {
        list_init(&curl->queue[p]);
    }
    list_init(&curl->watch_queue);
    list_init(&curl->refused);
    list_init(&curl->flying);
    list_init(&curl->dropped);
    loop_defer_init(&curl->pump, curl_on_pump);
    loop_timer_init(&curl->throttled, curl_on_token);
    kube_bucket_init(&curl->bucket, curl->options.qps, curl->options.burst, loop_now(loop));
    for (unsigned i = 0; i <= curl->n_shards; i++) {
        curl->current[i] = kube_curl_shard_new(curl, i == curl->n_shards);
    }
    *ret_curl = curl;
    return 0;
}

KubeCurl *kube_curl_free(KubeCurl *curl)
{
    if (!curl) {
        return NULL;
    }
    CHECK(!curl->in_curl && list_is_empty(&curl->flying) && curl->stats.queued == 0);
    list_foreach (&curl->shards, n) {
        kube_curl_shard_free(list_entry(n, Shard, node));
    }
    vec_foreach (&curl->handles, easy) {
        curl_easy_cleanup(*easy);
    }
    vec_free(&curl->handles);
    loop_defer_cancel(&curl->pump);
    loop_timer_disarm(&curl->throttled);
    curl_slist_free_all(curl->connect_to);
    kube_cred_deinit(&curl->cred);
    free(curl->agent);
    free(curl->base);
    free(curl);
    return NULL;
}

KubeTransport *kube_curl_transport(KubeCurl *curl)
{
    return &curl->transport;
}

void kube_curl_stats(const KubeCurl *curl, KubeCurlStats *ret_stats)
{
    *ret_stats = curl->stats;
}

int kube_curl_global_init(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -EIO;
}

void kube_curl_global_deinit(void)
{
    curl_global_cleanup();
}
