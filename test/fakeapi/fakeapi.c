/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the server and of requests; what tests ask it. */
#include "test/fakeapi/fakeapi.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "test/fakeapi/impl.h"
#include "json/yaml.h"

#define TRACE_MAX (64u << 20)
#define LINES_MAX (64u << 20)
#define BODY_MAX (4u << 20)

/* ---- one exchange ---- */

static void exchange_free(FakeExchange *x)
{
    loop_timer_disarm(&x->timer);
    loop_timer_disarm(&x->bookmark);
    list_remove(&x->node);
    if (x->watch) {
        fake_filter_deinit(&x->watch->filter);
        free(x->watch);
    }
    fake_url_deinit(&x->url);
    free(x->answer.body);
    free(x);
}

static void exchange_end(FakeExchange *x, KubeResult *result)
{
    KubeRequest *req = x->req;
    AUTO(mem) char *body = TAKE(x->answer.body);

    UNUSED(body); /* result->body may point into it */
    exchange_free(x);
    req->impl = NULL;
    req->on_done(req, result);
}

static void exchange_fail(FakeExchange *x, int err, bool sent)
{
    KubeResult result = {.err = err, .sent = sent};

    snprintf(result.msg, sizeof(result.msg), "%s", strerror(-err));
    exchange_end(x, &result);
}

/* Gives text to on_data; false when the exchange is over. */
static bool exchange_feed(FakeExchange *x, Str text)
{
    FakeApi *api = x->api;
    KubeRequest *req = x->req;
    int r = text.len > 0 ? req->on_data(req, text) : 0;
    bool alive = false;

    list_foreach (&api->exchanges, n) { /* cancelled inside? */
        alive = alive || list_entry(n, FakeExchange, node) == x;
    }
    if (alive && r < 0) {
        exchange_fail(x, r, true);
    }
    return alive && r == 0;
}

static void watch_pump(FakeExchange *x)
{
    AUTO(strbuf) StrBuf lines = STRBUF_INIT(LINES_MAX);
    uint64_t now = loop_now(x->api->loop);
    KubeResult result = {.http_status = 200, .sent = true};

    fake_watch_lines(x->api, x->watch, &lines);
    if (!exchange_feed(x, strbuf_str(&lines))) {
        return;
    }
    if (x->cut < 0) {
        exchange_fail(x, x->cut, true);
    } else if (x->ended || (x->watch->ends_ns > 0 && now >= x->watch->ends_ns)) {
        exchange_end(x, &result);
    } else if (x->watch->ends_ns > 0) {
        loop_timer_arm(x->api->loop, &x->timer, x->watch->ends_ns);
    }
}

static void exchange_deliver(FakeExchange *x)
{
    KubeRequest *req = x->req;
    Str body = str_from(x->answer.body);
    KubeResult result = {
        .http_status = x->answer.http,
        .sent = true,
        .retry_after_ns = x->answer.retry_after_s * NS_PER_S,
    };

    if (x->verdict.kind == FAKE_TRUNCATED) {
        body = str_take(body, body.len / 2);
    }
    if (req->on_data && x->answer.http < 300) {
        if (!exchange_feed(x, body)) {
            return;
        }
        if (x->watch) {
            watch_pump(x);
            return;
        }
    } else {
        result.body = body.ptr ? body : STR("");
    }
    exchange_end(x, &result);
}

/* ---- what a request does ---- */

/* A finalizer that a dying object has not had. */
static bool adds_finalizer(const json_t *live, const json_t *wanted)
{
    size_t i;
    size_t k;
    json_t *one;
    json_t *old;

    json_array_foreach(jx_get(wanted, "metadata", "finalizers"), i, one)
    {
        bool known = false;

        json_array_foreach(jx_get(live, "metadata", "finalizers"), k, old)
        {
            known = known || json_equal(one, old);
        }
        if (!known) {
            return true;
        }
    }
    return false;
}

/* What may not be changed. */
static bool refuses_patch(const json_t *live, const json_t *wanted, FakeAnswer *answer)
{
    static const struct {
        const char *member;
        int http;
        const char *reason;
    } fixed[] = {{"name", 400, "BadRequest"},
                 {"namespace", 400, "BadRequest"},
                 {"uid", 422, "Invalid"},
                 {"deletionTimestamp", 422, "Invalid"}};

    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        Str value = fake_meta(wanted, fixed[i].member);

        if (!str_eq(value, fake_meta(live, fixed[i].member))) {
            fake_answer_status(answer, fixed[i].http, fixed[i].reason,
                               "metadata.%s: Invalid value: \"" STR_FMT "\": field is immutable",
                               fixed[i].member, STR_ARG(value));
            return true;
        }
    }
    if (fake_meta(live, "deletionTimestamp").len > 0 && adds_finalizer(live, wanted)) {
        fake_answer_status(answer, 422, "Invalid",
                           "metadata.finalizers: Forbidden: no new finalizers can be added if the "
                           "object is being deleted");
        return true;
    }
    return false;
}

static void do_write(FakeApi *api, const KubeRequest *req, const FakeUrl *url, const json_t *live,
                     const json_t *body, FakeAnswer *answer)
{
    AUTO(json)
    json_t *wanted = req->method == KUBE_PATCH ? jx_merge_patch_apply(live, body) : jx_dup(body);

    if (req->method == KUBE_PUT && fake_meta(body, "resourceVersion").len == 0) {
        fake_answer_status(answer, 422, "Invalid",
                           "metadata.resourceVersion: must be specified for an update");
        return;
    }
    if (req->method == KUBE_PATCH && url->subresource.len == 0 &&
        refuses_patch(live, wanted, answer)) {
        return;
    }
    fake_object_write(api, live, url->kind, wanted, url->subresource, false, answer);
}

static void do_request(FakeExchange *x, const json_t *body)
{
    FakeApi *api = x->api;
    const KubeRequest *req = x->req;
    const FakeUrl *url = &x->url;
    const json_t *live = url->name.ptr ? fake_find(api, url->kind, url->ns, url->name) : NULL;

    if (url->watch) {
        fake_watch_start(x, x->verdict.kind == FAKE_STALE ? x->verdict.lag : 0, &x->answer);
    } else if (!url->name.ptr && req->method == KUBE_GET) {
        fake_list(api, url, x->verdict.kind == FAKE_STALE ? x->verdict.lag : 0, &x->answer);
    } else if (!url->name.ptr && req->method == KUBE_POST) {
        fake_object_create(api, url->kind, url->ns, body, &x->answer);
    } else if (!url->name.ptr || req->method == KUBE_POST) {
        fake_answer_status(&x->answer, 405, "MethodNotAllowed", "not for this URL");
    } else if (!live) {
        fake_answer_status(&x->answer, 404, "NotFound", "%s \"" STR_FMT "\" not found",
                           url->kind->plural, STR_ARG(url->name));
    } else if (req->method == KUBE_GET) {
        fake_answer_object(&x->answer, 200, live);
    } else if (req->method == KUBE_DELETE) {
        fake_object_delete(api, live, url->kind, body, &x->answer);
    } else {
        do_write(api, req, url, live, body, &x->answer);
    }
}

/* Judged when it arrives, so that hooks see requests in the order in which they take effect. */
static void exchange_commit(FakeExchange *x)
{
    AUTO(json) json_t *body = NULL;
    const FakeVerdict *verdict = &x->verdict;
    bool readable = x->req->body.len == 0 || jx_parse(x->req->body, BODY_MAX, &body, NULL) == 0;

    x->committed = true;
    if (verdict->kind == FAKE_STATUS) {
        fake_answer_status(&x->answer, verdict->http, verdict->reason, "%s",
                           verdict->message ? verdict->message : "injected");
        x->answer.retry_after_s = verdict->retry_after_s;
    } else if (verdict->kind == FAKE_BODY) {
        x->answer.http = verdict->http;
        x->answer.body = xstrdup(verdict->body);
    } else if (verdict->kind == FAKE_LOST_BEFORE || verdict->kind == FAKE_NOT_SENT) {
        x->answer.http = 0;
    } else if (!readable || !x->url.kind) {
        fake_answer_status(&x->answer, readable ? 404 : 400, readable ? "NotFound" : "BadRequest",
                           "the server could not find the requested resource");
    } else {
        x->api->author = x->req;
        do_request(x, body);
        x->api->author = NULL;
    }
}

static void exchange_on_timer(LoopTimer *timer)
{
    FakeExchange *x = container_of(timer, FakeExchange, timer);
    uint64_t wait = x->api->latency_ns - x->api->latency_ns / 2 + x->verdict.delay_ns;

    if (!x->committed) {
        exchange_commit(x);
        loop_timer_arm(x->api->loop, timer, loop_now(x->api->loop) + wait);
    } else if (x->watch && !x->answer.body) {
        watch_pump(x);
    } else if (x->verdict.kind == FAKE_LOST_BEFORE || x->verdict.kind == FAKE_LOST_AFTER) {
        exchange_fail(x, -ECONNRESET, true);
    } else if (x->verdict.kind == FAKE_NOT_SENT) {
        exchange_fail(x, -ECONNREFUSED, false);
    } else if (x->watch) {
        AUTO(mem) char *first = TAKE(x->answer.body);

        loop_timer_arm(x->api->loop, &x->bookmark, loop_now(x->api->loop) + FAKE_BOOKMARK_NS);
        if (exchange_feed(x, str_from(first))) {
            watch_pump(x);
        }
    } else {
        exchange_deliver(x);
    }
}

static void exchange_on_bookmark(LoopTimer *timer)
{
    FakeExchange *x = container_of(timer, FakeExchange, bookmark);
    AUTO(strbuf) StrBuf line = STRBUF_INIT(LINES_MAX);

    loop_timer_arm(x->api->loop, timer, loop_now(x->api->loop) + FAKE_BOOKMARK_NS);
    fake_watch_lines(x->api, x->watch, &line);
    fake_watch_bookmark(x->api, x->watch, &line);
    exchange_feed(x, strbuf_str(&line));
}

static void trace_add(FakeApi *api, const FakeCall *call)
{
    bool write = call->method != KUBE_GET;

    api->writes += write;
    api->requests += write || call->name.ptr != NULL;
    if (api->trace_off) {
        return;
    }
    strbuf_printf(&api->trace, "%s %s%s" STR_FMT " " STR_FMT "%s" STR_FMT "\n",
                  call->streams ? "STREAM"
                  : call->watch ? "WATCH"
                                : kube_method_name(call->method),
                  call->kind ? call->kind->plural : "?", call->subresource.len > 0 ? "/" : "",
                  STR_ARG(call->subresource), STR_ARG(call->ns.ptr ? call->ns : STR("*")),
                  call->name.ptr ? "/" : "", STR_ARG(call->name.ptr ? call->name : STR("")));
}

static void fake_submit(KubeTransport *transport, KubeRequest *req)
{
    FakeApi *api = container_of(transport, FakeApi, transport);
    FakeExchange *x = xcalloc(1, sizeof(*x));
    AUTO(json) json_t *body = NULL;
    FakeCall call = {.seq = ++api->seq, .method = req->method, .body = req->body};

    x->api = api;
    x->req = req;
    req->impl = x;
    loop_timer_init(&x->timer, exchange_on_timer);
    loop_timer_init(&x->bookmark, exchange_on_bookmark);
    list_push_back(&api->exchanges, &x->node);
    if (fake_url_parse(req->path, &x->url) == 0) {
        call.kind = x->url.kind;
        call.ns = x->url.ns;
        call.name = x->url.name;
        call.subresource = x->url.subresource;
        call.watch = x->url.watch;
        call.cont = x->url.cont.len > 0;
        call.streams = x->url.watch && str_eq(x->url.initial, STR("true"));
    }
    if (req->method == KUBE_POST && jx_parse(req->body, BODY_MAX, &body, NULL) == 0 &&
        fake_meta(body, "name").len > 0) {
        call.name = fake_meta(body, "name");
    }
    trace_add(api, &call);
    if (api->hook) {
        x->verdict = api->hook(api->hook_ctx, &call);
    }
    loop_timer_arm(api->loop, &x->timer, loop_now(api->loop) + api->latency_ns / 2);
}

static void fake_cancel(KubeTransport *transport, KubeRequest *req)
{
    FakeExchange *x = req->impl;

    UNUSED(transport);
    if (x) {
        req->impl = NULL;
        exchange_free(x);
    }
}

/* ---- events ---- */

static bool watch_is_live(const FakeExchange *x)
{
    return x->watch && x->committed && !x->answer.body;
}

void fake_event(FakeApi *api, const KubeKind *kind, const json_t *before, const json_t *after,
                const json_t *last)
{
    FakeEvent event = {
        .rv = api->rv,
        .kind = kind,
        .before = json_incref((json_t *)before),
        .after = json_incref((json_t *)after),
        .last = json_incref((json_t *)last),
    };

    vec_push(&api->events, event);
    list_foreach (&api->exchanges, n) {
        FakeExchange *x = list_entry(n, FakeExchange, node);

        if (watch_is_live(x) && x->watch->filter.kind == kind) {
            loop_timer_arm(api->loop, &x->timer, loop_now(api->loop) + api->latency_ns / 2);
        }
    }
}

void fake_history_clear(FakeApi *api)
{
    list_foreach (&api->exchanges, n) {
        FakeExchange *x = list_entry(n, FakeExchange, node);

        if (x->watch) {
            x->watch->next = 0;
        }
    }
    vec_foreach (&api->events, it) {
        json_decref(it->before);
        json_decref(it->after);
        json_decref(it->last);
    }
    vec_free(&api->events);
    vec_foreach (&api->snapshots, it) {
        json_decref(it->items);
    }
    vec_free(&api->snapshots);
}

void fakeapi_compact(FakeApi *api)
{
    list_foreach (&api->exchanges, n) {
        FakeExchange *x = list_entry(n, FakeExchange, node);

        if (x->watch) { /* open watches lose nothing: they are fed before */
            if (watch_is_live(x) && x->watch->next < api->events.len) {
                watch_pump(x);
            } else {
                x->watch->next = api->events.len;
            }
        }
    }
    fake_history_clear(api);
    api->compacted_rv = api->rv;
}

void fakeapi_cut_watches(FakeApi *api, int err)
{
    list_foreach (&api->exchanges, n) {
        FakeExchange *x = list_entry(n, FakeExchange, node);

        if (watch_is_live(x)) {
            x->ended = true;
            x->cut = err > 0 ? -err : err;
            loop_timer_arm(api->loop, &x->timer, loop_now(api->loop));
        }
    }
}

void fakeapi_bookmark(FakeApi *api)
{
    list_foreach (&api->exchanges, n) {
        FakeExchange *x = list_entry(n, FakeExchange, node);

        if (watch_is_live(x)) {
            loop_timer_arm(api->loop, &x->bookmark, loop_now(api->loop));
        }
    }
}

/* ---- the world's own hands ---- */

int fakeapi_create_json(FakeApi *api, json_t *object)
{
    Str version = jx_get_str(object, "apiVersion");
    Str rest;
    Str group = str_cut(version, '/', &rest);
    const KubeKind *kind =
        kube_kind_find(rest.ptr ? group : STR(""), STR_NULL, jx_get_str(object, "kind"));
    Str ns = fake_meta(object, "namespace");

    CHECK(kind && ns.len > 0);
    return fake_object_create(api, kind, ns, object, NULL);
}

int fakeapi_create(FakeApi *api, const char *text)
{
    AUTO(json) json_t *object = NULL;

    CHECK(yaml_load(str_from(text), &object, NULL) == 0);
    return fakeapi_create_json(api, object);
}

int fakeapi_patch(FakeApi *api, KubeKindId kind, const char *ns, const char *name,
                  const char *patch)
{
    const json_t *live = fakeapi_get(api, kind, ns, name);
    AUTO(json) json_t *tree = NULL;
    AUTO(json) json_t *wanted = NULL;

    CHECK(yaml_load(str_from(patch), &tree, NULL) == 0);
    if (!live) {
        return 404;
    }
    wanted = jx_merge_patch_apply(live, tree);
    return fake_object_write(api, live, kube_kind(kind), wanted, STR(""), true, NULL);
}

int fakeapi_delete(FakeApi *api, KubeKindId kind, const char *ns, const char *name)
{
    const json_t *live = fakeapi_get(api, kind, ns, name);

    return live ? fake_object_delete(api, live, kube_kind(kind), NULL, NULL) : 404;
}

const json_t *fakeapi_get(const FakeApi *api, KubeKindId kind, const char *ns, const char *name)
{
    return fake_find(api, kube_kind(kind), str_from(ns), str_from(name));
}

size_t fakeapi_count(const FakeApi *api, KubeKindId kind)
{
    return api->objects[kind].len;
}

void fakeapi_each(const FakeApi *api, KubeKindId kind, void (*fn)(void *ctx, const json_t *object),
                  void *ctx)
{
    for (size_t i = 0; i < api->objects[kind].len; i++) {
        fn(ctx, api->objects[kind].ptr[i]);
    }
}

uint64_t fakeapi_rv(const FakeApi *api)
{
    return api->rv;
}

Str fakeapi_trace(const FakeApi *api)
{
    return strbuf_str(&api->trace);
}

void fakeapi_trace_reset(FakeApi *api)
{
    strbuf_clear(&api->trace);
    api->requests = 0;
    api->writes = 0;
}

size_t fakeapi_requests(const FakeApi *api)
{
    return api->requests;
}

size_t fakeapi_writes(const FakeApi *api)
{
    return api->writes;
}

size_t fakeapi_watches(const FakeApi *api)
{
    size_t n = 0;

    list_foreach (&api->exchanges, it) {
        n += list_entry(it, FakeExchange, node)->watch != NULL;
    }
    return n;
}

/* ---- life ---- */

void fakeapi_set_hook(FakeApi *api, FakeHook hook, void *ctx)
{
    api->hook = hook;
    api->hook_ctx = ctx;
}

void fakeapi_set_observer(FakeApi *api, FakeObserver fn, void *ctx)
{
    api->observer = fn;
    api->observer_ctx = ctx;
}

void fakeapi_set_trace(FakeApi *api, bool on)
{
    api->trace_off = !on;
}

void fakeapi_set_latency(FakeApi *api, uint64_t ns)
{
    api->latency_ns = ns;
}

void fakeapi_set_streams(FakeApi *api, bool on)
{
    api->streams_off = !on;
}

void fakeapi_set_page_max(FakeApi *api, size_t items)
{
    api->page_max = items;
}

void fakeapi_set_pod_grace(FakeApi *api, uint64_t ns)
{
    api->pod_grace_ns = ns;
}

FakeApi *fakeapi_new(Loop *loop, uint64_t seed)
{
    FakeApi *api = xcalloc(1, sizeof(*api));

    api->transport = (KubeTransport){fake_submit, fake_cancel};
    api->loop = loop;
    api->latency_ns = FAKE_LATENCY_NS;
    api->rv = 100;
    rng_init(&api->rng, seed);
    strbuf_init(&api->trace, TRACE_MAX);
    list_init(&api->exchanges);
    list_init(&api->late_pods);
    loop_timer_init(&api->gc, fake_gc);
    return api;
}

FakeApi *fakeapi_free(FakeApi *api)
{
    if (!api) {
        return NULL;
    }
    CHECK(list_is_empty(&api->exchanges));
    fake_late_clear(api);
    loop_timer_disarm(&api->gc);
    fake_history_clear(api);
    for (size_t k = 0; k < KUBE_KIND_MAX_; k++) {
        vec_foreach (&api->objects[k], it) {
            json_decref(*it);
        }
        vec_free(&api->objects[k]);
    }
    strbuf_deinit(&api->trace);
    free(api);
    return NULL;
}

KubeTransport *fakeapi_transport(FakeApi *api)
{
    return &api->transport;
}
