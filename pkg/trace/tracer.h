/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Spans from any thread to one collector.
 *
 *   any thread   tracer_begin() draws ids and decides whether the span is sampled; tracer_record()
 *                encodes a finished span and appends it to the queue: a copy and one short lock
 *   the loop's   takes batches off the queue and posts them (export.h)
 *
 * The queue holds at most OTEL_BSP_MAX_QUEUE_SIZE spans. A collector that is slow or gone costs
 * spans, which are counted, and never time or memory of the program.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/rng.h"
#include "metrics/metrics.h"
#include "trace/config.h"
#include "trace/span.h"

typedef struct Tracer Tracer;

typedef struct TracerStats {
    uint64_t exported; /* taken by the collector */
    uint64_t dropped;  /* the queue was full, or the span too large */
    uint64_t failed;   /* given up after the collector did not take them */
    uint64_t rejected; /* the collector took the request and refused them */
    size_t queued;     /* waiting, what is on its way not counted */
} TracerStats;

typedef struct TracerHooks {
    /* The collector began to fail (why), or works again (NULL): once each, from the loop. */
    void (*on_state)(void *ctx, const char *why);
    void *ctx;
} TracerHooks;

/* The config is copied; loop must live longer. hooks may be NULL. */
int tracer_new(Loop *loop, const TraceConfig *config, const TracerHooks *hooks, Tracer **ret,
               Err *reterr);
/*
 * The same with the configuration of the environment (NULL = getenv). 0, and then *ret_note says
 * what was ignored (config.h), "" = nothing; TRACE_E_OFF when the environment forbids it; negative
 * with the reason in ret_note.
 */
int tracer_new_env(Loop *loop, const char *service, TraceEnvFn env, const TracerHooks *hooks,
                   Tracer **ret, Err *ret_note);
/* What is queued is lost: tracer_flush() first. No thread may use it any more. NULL is fine. */
Tracer *tracer_free(Tracer *tracer);

/*
 * A context for a new span: the parent's trace, or one of its own when parent is NULL or not valid.
 * Its sampled flag says whether tracer_record() would keep the span; pass it on in any case.
 */
void tracer_begin(const Tracer *tracer, Rng *rng, const TraceContext *parent, TraceContext *ret);
/* Does nothing when the context is not sampled. */
void tracer_record(Tracer *tracer, const TraceSpan *span);

/* Runs the loop until everything is exported or given up, or until limit_ns has passed; for the end
 * of a program. Nothing is tried twice. From the loop's thread, outside of it. */
void tracer_flush(Tracer *tracer, uint64_t limit_ns);

void tracer_stats(Tracer *tracer, TracerStats *ret);
/* cofferdam_trace_spans_total{result} and cofferdam_trace_queue_length. */
void tracer_metrics_register(Tracer *tracer, Metrics *metrics);

DEFINE_AUTO_PTR(tracer, Tracer, tracer_free)
