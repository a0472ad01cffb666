/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See tracer.h. The exporter is in one of three states: at rest (maybe with the timer set for the
 * oldest span's delay), sending, or waiting to send the same batch again. Which answers are tried
 * again is OTLP/HTTP's list: 429, 502, 503, 504, and no answer at all.
 */
#include "trace/tracer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "trace/post.h"
#include "trace/queue.h"

#define BODY_MAX (4u << 20) /* bytes of spans in one request */
#define BODY_FRAME_MAX (2 * TRACE_RESOURCE_MAX)
#define SPAN_USUAL 768 /* bytes that most encoded spans do not exceed */
#define ATTEMPTS_MAX 5 /* of one batch */
#define RETRY_BASE_NS NS_PER_S
#define RETRY_CAP_NS (30 * NS_PER_S)

struct Tracer {
    Loop *loop;
    TracerHooks hooks;
    /* of the configuration, read by any thread */
    TraceProtocol protocol;
    TraceSampler sampler;
    bool parent_based;
    uint64_t threshold;
    size_t batch_max;
    uint64_t delay_ns;
    StrBuf resource; /* encoded */
    TraceQueue queue;
    LoopWake wake;
    /* of the loop's thread */
    TracePost *post;
    LoopTimer timer; /* the delay of a span, or the pause before another attempt */
    StrBuf body;     /* the batch that is being sent, empty = none */
    size_t batch_len;
    unsigned attempts;
    bool sending;
    bool due;      /* what is queued has waited long enough */
    bool flushing; /* nothing is tried twice */
    bool failing;
    Rng rng;
    TracerStats stats;
};

/* ---- making spans, any thread ---- */

static bool is_sampled(const Tracer *tracer, const TraceContext *context)
{
    uint64_t low = 0;

    if (tracer->sampler != TRACE_RATIO) {
        return tracer->sampler == TRACE_ALWAYS_ON;
    }
    for (size_t i = TRACE_ID_LEN / 2; i < TRACE_ID_LEN; i++) {
        low = low << 8 | context->trace_id[i];
    }
    return low >> 1 < tracer->threshold;
}

static void draw_id(Rng *rng, uint8_t *id, size_t len)
{
    for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
        uint64_t bits = rng_u64(rng) | 1; /* never all zero */

        memcpy(id + i, &bits, sizeof(bits));
    }
}

void tracer_begin(const Tracer *tracer, Rng *rng, const TraceContext *parent, TraceContext *ret)
{
    bool has_parent = parent && trace_context_is_valid(parent);
    bool sampled;

    if (has_parent) {
        memcpy(ret->trace_id, parent->trace_id, TRACE_ID_LEN);
    } else {
        draw_id(rng, ret->trace_id, TRACE_ID_LEN);
    }
    draw_id(rng, ret->span_id, TRACE_SPAN_ID_LEN);
    sampled = has_parent && tracer->parent_based ? trace_context_sampled(parent)
                                                 : is_sampled(tracer, ret);
    ret->flags = sampled ? TRACE_FLAG_SAMPLED : 0;
}

void tracer_record(Tracer *tracer, const TraceSpan *span)
{
    AUTO(strbuf) StrBuf bytes = STRBUF_INIT(TRACE_SPAN_MAX);
    size_t len;

    if (!trace_context_sampled(&span->context)) {
        return;
    }
    (void)strbuf_reserve(&bytes, SPAN_USUAL); /* failing, it grows as it goes */
    if (trace_span_encode(tracer->protocol, span, &bytes) < 0) {
        trace_queue_drop(&tracer->queue);
        return;
    }
    len = trace_queue_push(&tracer->queue, strbuf_str(&bytes));
    if (len == 1 || len == tracer->batch_max) {
        loop_wake_signal(&tracer->wake);
    }
}

/* ---- sending, the loop's thread ---- */

static void take_batch(Tracer *tracer)
{
    TraceRequest request;
    List batch;
    ListNode *node;

    list_init(&batch);
    tracer->batch_len = trace_queue_take(&tracer->queue, tracer->batch_max, BODY_MAX, &batch);
    tracer->attempts = 0;
    trace_request_begin(&request, tracer->protocol, strbuf_str(&tracer->resource), &tracer->body);
    while ((node = list_pop_front(&batch))) {
        TraceItem *item = list_entry(node, TraceItem, node);

        trace_request_span(&request, (Str){item->bytes, item->len});
        free(item);
    }
    CHECK(trace_request_end(&request) == 0); /* BODY_MAX and BODY_FRAME_MAX see to it */
}

static void pump(Tracer *tracer)
{
    size_t queued = trace_queue_len(&tracer->queue);

    if (tracer->sending || loop_timer_is_armed(&tracer->timer)) {
        if (tracer->sending || tracer->body.len > 0 || queued < tracer->batch_max) {
            return;
        }
        loop_timer_disarm(&tracer->timer); /* a full batch waits no longer */
    }
    if (tracer->body.len == 0) {
        if (queued == 0) {
            tracer->due = false;
            return;
        }
        if (!tracer->due && !tracer->flushing && queued < tracer->batch_max) {
            loop_timer_arm(tracer->loop, &tracer->timer, loop_now(tracer->loop) + tracer->delay_ns);
            return;
        }
        tracer->due = false;
        take_batch(tracer);
    }
    tracer->sending = true;
    tracer->attempts++;
    trace_post_send(tracer->post, strbuf_str(&tracer->body));
}

static void on_timer(LoopTimer *timer)
{
    Tracer *tracer = container_of(timer, Tracer, timer);

    tracer->due = tracer->body.len == 0;
    pump(tracer);
}

static void on_wake(LoopWake *wake)
{
    pump(container_of(wake, Tracer, wake));
}

static void tell_state(Tracer *tracer, const char *why)
{
    bool failing = why != NULL;

    if (failing != tracer->failing) {
        tracer->failing = failing;
        if (tracer->hooks.on_state) {
            tracer->hooks.on_state(tracer->hooks.ctx, why);
        }
    }
}

static bool is_worth_another(const Tracer *tracer, int status)
{
    return (status == 0 || status == 429 || (status >= 502 && status <= 504)) &&
           tracer->attempts < ATTEMPTS_MAX && !tracer->flushing;
}

static uint64_t pause_ns(Tracer *tracer, const TracePostResult *result)
{
    uint64_t pause = RETRY_BASE_NS << (tracer->attempts - 1);

    pause = pause < RETRY_CAP_NS ? pause : RETRY_CAP_NS;
    pause -= rng_below(&tracer->rng, pause / 5);
    return result->retry_after_ns > 0 ? result->retry_after_ns : pause;
}

static void on_answer(void *ctx, const TracePostResult *result)
{
    Tracer *tracer = ctx;
    char why[ERR_MSG_MAX];

    tracer->sending = false;
    if (result->status >= 200 && result->status < 300) {
        uint64_t rejected = trace_answer_rejected(tracer->protocol, result->body);

        rejected = rejected < tracer->batch_len ? rejected : tracer->batch_len;
        tracer->stats.rejected += rejected;
        tracer->stats.exported += tracer->batch_len - rejected;
        strbuf_clear(&tracer->body);
        tell_state(tracer, NULL);
        pump(tracer);
        return;
    }
    if (result->status > 0) {
        (void)snprintf(why, sizeof(why), "the collector answers %d", result->status);
    } else {
        (void)snprintf(why, sizeof(why), "%s", result->error);
    }
    tell_state(tracer, why);
    if (is_worth_another(tracer, result->status)) {
        loop_timer_arm(tracer->loop, &tracer->timer,
                       loop_now(tracer->loop) + pause_ns(tracer, result));
        return;
    }
    tracer->stats.failed += tracer->batch_len;
    strbuf_clear(&tracer->body);
    pump(tracer);
}

static bool has_work(Tracer *tracer)
{
    return tracer->sending || tracer->body.len > 0 || trace_queue_len(&tracer->queue) > 0;
}

void tracer_flush(Tracer *tracer, uint64_t limit_ns)
{
    uint64_t end = clock_mono_ns(clock_system()) + limit_ns;
    uint64_t now;

    tracer->flushing = true;
    loop_timer_disarm(&tracer->timer);
    pump(tracer);
    while (has_work(tracer) && (now = clock_mono_ns(clock_system())) < end) {
        if (loop_step(tracer->loop, end - now) < 0) {
            return;
        }
    }
}

/* ---- life ---- */

int tracer_new(Loop *loop, const TraceConfig *config, const TracerHooks *hooks, Tracer **ret,
               Err *reterr)
{
    AUTO(tracer) Tracer *tracer = xcalloc(1, sizeof(*tracer));
    int r;

    tracer->loop = loop;
    tracer->hooks = hooks ? *hooks : (TracerHooks){0};
    tracer->protocol = config->protocol;
    tracer->sampler = config->sampler;
    tracer->parent_based = config->parent_based;
    tracer->threshold = config->threshold;
    tracer->batch_max = config->batch_max;
    tracer->delay_ns = config->delay_ns;
    rng_init_os(&tracer->rng);
    trace_queue_init(&tracer->queue, config->queue_max);
    loop_timer_init(&tracer->timer, on_timer);
    strbuf_init(&tracer->body, BODY_MAX + BODY_FRAME_MAX + TRACE_BATCH_MAX);
    strbuf_init(&tracer->resource, TRACE_RESOURCE_MAX);
    r = trace_resource_encode(config->protocol, config->resource, config->n_resource,
                              &tracer->resource);
    if (r < 0) {
        return err_set(reterr, -r, "OTEL_RESOURCE_ATTRIBUTES is too long");
    }
    r = loop_wake_init(loop, &tracer->wake, on_wake);
    if (r < 0) {
        return err_set_errno(reterr, -r, "wake-up of the exporter");
    }
    r = trace_post_new(loop, config, on_answer, tracer, &tracer->post, reterr);
    if (r < 0) {
        return r;
    }
    *ret = TAKE(tracer);
    return 0;
}

static const char *process_env(const char *name)
{
    return getenv(name);
}

int tracer_new_env(Loop *loop, const char *service, TraceEnvFn env, const TracerHooks *hooks,
                   Tracer **ret, Err *ret_note)
{
    AUTO(trace_config) TraceConfig config = {0};
    int r = trace_config_load(service, env ? env : process_env, &config, ret_note);

    if (r == 0) {
        r = tracer_new(loop, &config, hooks, ret, ret_note);
    }
    if (r == 0) {
        memcpy(ret_note->msg, config.note, sizeof(config.note));
    }
    return r;
}

Tracer *tracer_free(Tracer *tracer)
{
    if (!tracer) {
        return NULL;
    }
    trace_post_free(tracer->post);
    loop_timer_disarm(&tracer->timer);
    loop_wake_deinit(&tracer->wake);
    trace_queue_deinit(&tracer->queue);
    strbuf_deinit(&tracer->body);
    strbuf_deinit(&tracer->resource);
    free(tracer);
    return NULL;
}

/* ---- numbers ---- */

void tracer_stats(Tracer *tracer, TracerStats *ret)
{
    *ret = tracer->stats;
    ret->dropped = trace_queue_dropped(&tracer->queue);
    ret->queued = trace_queue_len(&tracer->queue);
}

static void collect_spans(MetricSink *sink, void *ctx)
{
    TracerStats stats;

    tracer_stats(ctx, &stats);
    metric_emit(sink, (const Str[]){STR("exported")}, (double)stats.exported);
    metric_emit(sink, (const Str[]){STR("dropped")}, (double)stats.dropped);
    metric_emit(sink, (const Str[]){STR("failed")}, (double)stats.failed);
    metric_emit(sink, (const Str[]){STR("rejected")}, (double)stats.rejected);
}

static void collect_queue(MetricSink *sink, void *ctx)
{
    TracerStats stats;

    tracer_stats(ctx, &stats);
    metric_emit(sink, NULL, (double)stats.queued);
}

void tracer_metrics_register(Tracer *tracer, Metrics *metrics)
{
    static const char *const by_result[] = {"result", NULL};
    static const MetricSpec spans = {
        .name = "cofferdam_trace_spans_total",
        .help = "Spans by what became of them: exported, dropped before they were sent, failed "
                "with the collector, rejected by it",
        .labels = by_result,
    };
    static const MetricSpec queue = {
        .name = "cofferdam_trace_queue_length",
        .help = "Spans that wait to be sent",
    };

    metrics_collect(metrics, METRIC_COUNTER, &spans, collect_spans, tracer);
    metrics_collect(metrics, METRIC_GAUGE, &queue, collect_queue, tracer);
}
