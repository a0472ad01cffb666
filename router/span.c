/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See span.h. Name and attributes are those of the Go router. http.target is the path alone: a
 * query may carry a token.
 */
#include "router/span.h"

#include <stdlib.h>

#include "base/mem.h"

/* All tracestate fields as one list. False when they are too long to be carried. */
static bool join_state(const HttpHead *head, StrBuf *out)
{
    for (size_t i = 0; i < head->n_headers; i++) {
        if (head->headers[i].id == HTTP_TOKEN_TRACESTATE) {
            if (out->len > 0) {
                strbuf_append_char(out, ',');
            }
            strbuf_append(out, head->headers[i].value);
        }
    }
    return out->error == 0;
}

Span *span_begin(Tracer *tracer, Rng *rng, const HttpHead *head, int64_t now_wall_ns)
{
    AUTO(strbuf) StrBuf state = STRBUF_INIT(TRACE_STATE_MAX);
    bool good_state = join_state(head, &state) && trace_state_is_valid(strbuf_str(&state));
    TraceContext parent;
    bool has_parent = http_head_count(head, HTTP_TOKEN_TRACEPARENT) == 1 &&
                      trace_parent_parse(http_head_get(head, HTTP_TOKEN_TRACEPARENT), &parent) == 0;
    size_t state_len = has_parent && good_state ? state.len : 0;
    Span *span = xcalloc(1, sizeof(*span) + state_len);

    tracer_begin(tracer, rng, has_parent ? &parent : NULL, &span->context);
    if (has_parent) {
        memcpy(span->parent_id, parent.span_id, TRACE_SPAN_ID_LEN);
    }
    trace_parent_format(&span->context, span->parent);
    span->start_wall_ns = now_wall_ns;
    span->state_bad = state_len == 0;
    span->state_len = state_len;
    memcpy(span->state, state_len > 0 ? state.ptr : "", state_len);
    return span;
}

void span_end(Span *span, Tracer *tracer, const ObserveRequest *request)
{
    AUTO(strbuf) StrBuf name = STRBUF_INIT(5 + HTTP_METHOD_MAX);
    const TraceAttr attrs[] = {
        TRACE_TEXT("http.method", request->method),
        TRACE_TEXT("http.target", request->path),
        TRACE_NUMBER("http.status_code", request->status),
        TRACE_TEXT("sandbox.id", request->sandbox_id),
        TRACE_TEXT("sandbox.namespace", request->sandbox_namespace),
    };
    TraceSpan record = {
        .context = span->context,
        .state = {span->state, span->state_len},
        .kind = TRACE_KIND_SERVER,
        .start_wall_ns = span->start_wall_ns,
        .end_wall_ns = span->start_wall_ns + (int64_t)request->duration_ns,
        .status = request->status >= 500 ? TRACE_STATUS_ERROR : TRACE_STATUS_UNSET,
        .attrs = attrs,
        .n_attrs = ARRAY_LEN(attrs),
    };

    strbuf_append(&name, STR("HTTP "));
    strbuf_append(&name, request->method);
    record.name = strbuf_str(&name);
    memcpy(record.parent_id, span->parent_id, TRACE_SPAN_ID_LEN);
    if (!request->quiet) {
        tracer_record(tracer, &record);
    }
    free(span);
}
