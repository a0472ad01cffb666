/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The server span of one request: begins with its head, becomes the parent of whatever the sandbox
 * makes of it, and is recorded when the request is over. Exists only while tracing is on.
 */
#include "router/observe.h"
#include "trace/tracer.h"

typedef struct Span {
    TraceContext context;
    uint8_t parent_id[TRACE_SPAN_ID_LEN];
    int64_t start_wall_ns;
    bool state_bad;                    /* the client's tracestate must not go on */
    char parent[TRACE_PARENT_LEN + 1]; /* traceparent, as the sandbox gets it */
    size_t state_len;
    char state[];
} Span;

Span *span_begin(Tracer *tracer, Rng *rng, const HttpHead *head, int64_t now_wall_ns);
/* Records the request, with the time it says, and frees the span. */
void span_end(Span *span, Tracer *tracer, const ObserveRequest *request);

/* The ids as the log shows them. */
static inline Str span_trace_id(const Span *span)
{
    return (Str){span->parent + 3, (size_t)2 * TRACE_ID_LEN};
}

static inline Str span_span_id(const Span *span)
{
    return (Str){span->parent + 3 + 2 * TRACE_ID_LEN + 1, (size_t)2 * TRACE_SPAN_ID_LEN};
}
