/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer against a collector on the same loop, and from several threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/server.h"
#include "test/harness/t.h"
#include "trace/proto.h"
#include "trace/queue.h"
#include "trace/tracer.h"

typedef struct Rig {
    Loop *loop;
    HttpServer *server;
    TraceConfig config;
    Tracer *tracer;
    Rng rng;
    int status;     /* what the collector answers, 0 = nothing at all */
    int fail_first; /* answers of `status` before it turns to 200 */
    const char *retry_after;
    unsigned requests;
    size_t spans;
    unsigned states;
    char why[ERR_MSG_MAX];
} Rig;

/* One element of ScopeSpans.spans a span; enough of a decoder to count them. */
static size_t count_spans(Str message, unsigned depth)
{
    static const unsigned path[] = {1, 2, 2}; /* resource_spans, scope_spans, spans */
    ProtoField field;
    size_t n = 0;

    while (proto_next(&message, &field)) {
        if (field.number == path[depth]) {
            n += depth == 2 ? 1 : count_spans(field.bytes, depth + 1);
        }
    }
    return n;
}

typedef struct Upload {
    Rig *rig;
    StrBuf body;
} Upload;

static void on_data(HttpExchange *x, Str piece, bool end)
{
    Upload *upload = http_exchange_user(x);
    Rig *rig = upload->rig;

    strbuf_append(&upload->body, piece);
    if (!end) {
        return;
    }
    rig->requests++;
    if (rig->fail_first > 0) {
        const HttpField retry = {STR("Retry-After"), str_from(rig->retry_after)};

        rig->fail_first--;
        http_exchange_respond_fields(x, rig->status, &retry, rig->retry_after ? 1 : 0, STR(""));
        return;
    }
    if (rig->status == 0) {
        return; /* hangs */
    }
    if (rig->status == 200) {
        rig->spans += count_spans(strbuf_str(&upload->body), 0);
    }
    http_exchange_respond(x, rig->status, "application/x-protobuf", STR(""));
}

static void on_close(HttpExchange *x, int error)
{
    Upload *upload = http_exchange_user(x);

    UNUSED(error);
    strbuf_deinit(&upload->body);
    free(upload);
}

static void on_request(HttpExchange *x, void *ctx)
{
    static const HttpExchangeOps ops = {.on_data = on_data, .on_close = on_close};
    Upload *upload = calloc(1, sizeof(*upload));

    upload->rig = ctx;
    strbuf_init(&upload->body, 16u << 20);
    http_exchange_set_ops(x, &ops, upload);
}

static void on_state(void *ctx, const char *why)
{
    Rig *rig = ctx;

    rig->states++;
    (void)snprintf(rig->why, sizeof(rig->why), "%s", why ? why : "");
}

static const char *no_env(const char *name)
{
    UNUSED(name);
    return NULL;
}

static void rig_init(Rig *rig)
{
    *rig = (Rig){.status = 200};
    T_OK(loop_new(clock_system(), &rig->loop));
    rig->server =
        http_server_new(&(HttpServerConfig){.loop = rig->loop, .handler = on_request, .ctx = rig});
    T_OK(http_server_listen(rig->server, STR("127.0.0.1:0"), NULL));
    T_OK(trace_config_load("test", no_env, &rig->config, NULL));
    free(rig->config.url);
    T_CHECK(asprintf(&rig->config.url, "http://127.0.0.1:%u/v1/traces",
                     http_server_port(rig->server)) > 0);
    rig->config.delay_ns = 20 * NS_PER_MS;
    rng_init(&rig->rng, 1);
}

static void rig_start(Rig *rig)
{
    const TracerHooks hooks = {on_state, rig};

    T_OK(tracer_new(rig->loop, &rig->config, &hooks, &rig->tracer, NULL));
}

static void rig_free(Rig *rig)
{
    tracer_free(rig->tracer);
    http_server_free(rig->server);
    trace_config_deinit(&rig->config);
    loop_free(rig->loop);
}

static void record(Rig *rig, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TraceSpan span = {.name = STR("x"), .kind = TRACE_KIND_INTERNAL};

        tracer_begin(rig->tracer, &rig->rng, NULL, &span.context);
        tracer_record(rig->tracer, &span);
    }
}

static TracerStats stats_of(Rig *rig)
{
    TracerStats stats;

    tracer_stats(rig->tracer, &stats);
    return stats;
}

#define RUN_UNTIL(rig, condition)                                                                  \
    for (uint64_t end_ = clock_mono_ns(clock_system()) + 20 * NS_PER_S; !(condition);) {           \
        T_CHECK(clock_mono_ns(clock_system()) < end_);                                             \
        T_OK(loop_step((rig)->loop, 100 * NS_PER_MS));                                             \
    }

T_TEST(spans_arrive_after_the_delay_in_one_request)
{
    Rig rig;

    rig_init(&rig);
    rig_start(&rig);
    record(&rig, 3);
    T_EQ_INT(stats_of(&rig).queued, 3);
    RUN_UNTIL(&rig, stats_of(&rig).exported == 3);
    T_EQ_INT(rig.requests, 1);
    T_EQ_INT(rig.spans, 3);
    T_EQ_INT(rig.states, 0);
    rig_free(&rig);
}

T_TEST(a_full_batch_does_not_wait)
{
    Rig rig;

    rig_init(&rig);
    rig.config.delay_ns = 3600 * NS_PER_S;
    rig.config.batch_max = 4;
    rig_start(&rig);
    record(&rig, 11);
    RUN_UNTIL(&rig, stats_of(&rig).exported == 8);
    T_EQ_INT(rig.requests, 2);
    T_EQ_INT(stats_of(&rig).queued, 3);
    tracer_flush(rig.tracer, 10 * NS_PER_S);
    T_EQ_INT(rig.spans, 11);
    rig_free(&rig);
}

T_TEST(the_queue_ends_at_its_maximum_and_drops_are_counted)
{
    Rig rig;

    rig_init(&rig);
    rig.config.queue_max = 5;
    rig_start(&rig);
    record(&rig, 12);
    T_EQ_INT(stats_of(&rig).queued, 5);
    T_EQ_INT(stats_of(&rig).dropped, 7);
    RUN_UNTIL(&rig, stats_of(&rig).exported == 5);
    rig_free(&rig);
}

T_TEST(a_span_that_is_too_large_is_dropped)
{
    Rig rig;
    TraceAttr attrs[TRACE_ATTRS_MAX];
    static char key[TRACE_VALUE_MAX * 8];
    TraceSpan span = {.kind = TRACE_KIND_INTERNAL, .attrs = attrs, .n_attrs = TRACE_ATTRS_MAX};

    memset(key, 'k', sizeof(key) - 1);
    for (size_t i = 0; i < TRACE_ATTRS_MAX; i++) {
        attrs[i] = TRACE_NUMBER(key, 1);
    }
    rig_init(&rig);
    rig.config.protocol = TRACE_JSON; /* which does not cut keys */
    rig_start(&rig);
    tracer_begin(rig.tracer, &rig.rng, NULL, &span.context);
    tracer_record(rig.tracer, &span);
    T_EQ_INT(stats_of(&rig).dropped, 1);
    T_EQ_INT(stats_of(&rig).queued, 0);
    rig_free(&rig);
}

T_TEST(statuses_that_are_tried_again_and_that_are_not)
{
    static const struct {
        int status;
        bool again;
    } rows[] = {{429, true},  {502, true},  {503, true},  {504, true}, {500, false},
                {400, false}, {404, false}, {301, false}, {413, false}};

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        Rig rig;

        t_row(rows[i].again ? "again" : "once");
        rig_init(&rig);
        rig.status = rows[i].status;
        rig.fail_first = 1;
        rig.retry_after = "1";
        rig_start(&rig);
        record(&rig, 2);
        RUN_UNTIL(&rig, rig.states > 0);
        T_CONTAINS(rig.why, "the collector answers");
        rig.status = 200;
        if (rows[i].again) {
            RUN_UNTIL(&rig, stats_of(&rig).exported == 2);
            T_EQ_INT(rig.states, 2);
            T_EQ_STR(rig.why, "");
        } else {
            T_EQ_INT(stats_of(&rig).failed, 2);
        }
        T_EQ_INT(rig.requests, rows[i].again ? 2 : 1);
        rig_free(&rig);
    }
}

T_TEST(a_collector_that_hangs_is_given_up_after_the_timeout)
{
    Rig rig;

    rig_init(&rig);
    rig.status = 0;
    rig.config.timeout_ns = 100 * NS_PER_MS;
    rig_start(&rig);
    record(&rig, 1);
    RUN_UNTIL(&rig, rig.states > 0);
    T_CHECK(strlen(rig.why) > 0);
    rig.status = 200;
    RUN_UNTIL(&rig, stats_of(&rig).exported == 1);
    rig_free(&rig);
}

T_TEST(nobody_listens)
{
    Rig rig;

    rig_init(&rig);
    free(rig.config.url);
    rig.config.url = strdup("http://127.0.0.1:1/v1/traces");
    rig_start(&rig);
    record(&rig, 2);
    tracer_flush(rig.tracer, 10 * NS_PER_S);
    T_EQ_INT(stats_of(&rig).failed, 2);
    T_EQ_INT(rig.states, 1);
    rig_free(&rig);
}

T_TEST(a_flush_ends_in_time)
{
    Rig rig;
    uint64_t start;

    rig_init(&rig);
    rig.status = 0;
    rig_start(&rig);
    record(&rig, 2);
    start = clock_mono_ns(clock_system());
    tracer_flush(rig.tracer, 200 * NS_PER_MS);
    T_CHECK(clock_mono_ns(clock_system()) - start < 5 * NS_PER_S);
    T_EQ_INT(stats_of(&rig).exported, 0);
    rig_free(&rig);
}

/* ---- contexts ---- */

T_TEST(a_child_keeps_the_trace_and_gets_an_id_of_its_own)
{
    Rig rig;
    TraceContext parent, child, root;

    rig_init(&rig);
    rig_start(&rig);
    tracer_begin(rig.tracer, &rig.rng, NULL, &parent);
    tracer_begin(rig.tracer, &rig.rng, &parent, &child);
    T_CHECK(memcmp(parent.trace_id, child.trace_id, TRACE_ID_LEN) == 0);
    T_CHECK(memcmp(parent.span_id, child.span_id, TRACE_SPAN_ID_LEN) != 0);
    tracer_begin(rig.tracer, &rig.rng, &(TraceContext){.flags = 1}, &root); /* no valid parent */
    T_CHECK(trace_context_is_valid(&root));
    T_CHECK(memcmp(parent.trace_id, root.trace_id, TRACE_ID_LEN) != 0);
    rig_free(&rig);
}

T_TEST(a_ratio_is_kept_and_decided_by_the_trace_id)
{
    Rig rig;
    size_t sampled = 0;

    rig_init(&rig);
    rig.config.sampler = TRACE_RATIO;
    rig.config.parent_based = false;
    rig.config.threshold = 1ull << 61; /* a quarter */
    rig_start(&rig);
    for (int i = 0; i < 4000; i++) {
        TraceContext context, child;

        tracer_begin(rig.tracer, &rig.rng, NULL, &context);
        tracer_begin(rig.tracer, &rig.rng, &context, &child);
        T_EQ_INT(context.flags, child.flags);
        sampled += trace_context_sampled(&context);
    }
    T_CHECK(sampled > 850 && sampled < 1150);
    rig_free(&rig);
}

/* ---- threads ---- */

#define THREADS 4
#define SPANS_EACH 2000

static void *make_spans(void *ctx)
{
    Rig *rig = ctx;
    Rng rng;

    rng_init_os(&rng);
    for (int i = 0; i < SPANS_EACH; i++) {
        TraceSpan span = {.name = STR("x"), .kind = TRACE_KIND_SERVER};

        tracer_begin(rig->tracer, &rng, NULL, &span.context);
        tracer_record(rig->tracer, &span);
    }
    return NULL;
}

T_TEST(threads_hand_over_spans_and_none_is_lost_uncounted)
{
    Rig rig;
    pthread_t threads[THREADS];
    TracerStats stats;

    rig_init(&rig);
    rig_start(&rig);
    for (int i = 0; i < THREADS; i++) {
        T_OK(pthread_create(&threads[i], NULL, make_spans, &rig));
    }
    RUN_UNTIL(&rig, stats_of(&rig).exported > 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tracer_flush(rig.tracer, 20 * NS_PER_S);
    stats = stats_of(&rig);
    T_EQ_INT(stats.exported + stats.dropped, THREADS * SPANS_EACH);
    T_EQ_INT(rig.spans, stats.exported);
    rig_free(&rig);
}

T_TEST(a_batch_ends_at_its_bytes_but_takes_one_at_least)
{
    TraceQueue queue;
    List taken;

    list_init(&taken);
    trace_queue_init(&queue, 10);
    for (int i = 0; i < 4; i++) {
        T_EQ_INT(trace_queue_push(&queue, STR("0123456789")), i + 1);
    }
    T_EQ_INT(trace_queue_take(&queue, 10, 25, &taken), 2);
    T_EQ_INT(trace_queue_take(&queue, 10, 5, &taken), 1);
    T_EQ_INT(trace_queue_len(&queue), 1);
    for (ListNode *node; (node = list_pop_front(&taken));) {
        free(list_entry(node, TraceItem, node));
    }
    trace_queue_deinit(&queue);
}

T_TEST(numbers_for_the_scrape)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf text = STRBUF_INIT(65536);
    Rig rig;

    rig_init(&rig);
    rig.config.queue_max = 1;
    rig_start(&rig);
    tracer_metrics_register(rig.tracer, metrics);
    record(&rig, 3);
    T_OK(metrics_write(metrics, &text));
    T_CONTAINS(strbuf_str(&text), "cofferdam_trace_spans_total{result=\"dropped\"} 2");
    T_CONTAINS(strbuf_str(&text), "cofferdam_trace_queue_length 1");
    rig_free(&rig);
}
