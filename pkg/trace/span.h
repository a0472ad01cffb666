/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A finished span, as its maker hands it over, and its two encodings: protobuf and JSON as the
 * OpenTelemetry protocol (OTLP 1.x, trace/v1) has them. A span is encoded at once by the thread
 * that made it, so what waits in the queue is bytes, and nothing of the maker's has to live on.
 *
 * Text that is not UTF-8 leaves with U+FFFD, values are cut at TRACE_VALUE_MAX: decoders refuse a
 * whole batch for one bad string.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "trace/context.h"

#define TRACE_VALUE_MAX 1024           /* bytes of a name, message or attribute */
#define TRACE_ATTRS_MAX 16             /* of a span or a resource; more are left out */
#define TRACE_SPAN_MAX (64u << 10)     /* bytes of an encoded span */
#define TRACE_RESOURCE_MAX (64u << 10) /* bytes of the encoded resource */

typedef enum TraceProtocol {
    TRACE_PROTOBUF,
    TRACE_JSON,
} TraceProtocol;

typedef enum TraceKind { /* values of the wire */
                         TRACE_KIND_INTERNAL = 1,
                         TRACE_KIND_SERVER = 2,
                         TRACE_KIND_CLIENT = 3,
} TraceKind;

typedef enum TraceStatus { /* values of the wire */
                           TRACE_STATUS_UNSET = 0,
                           TRACE_STATUS_OK = 1,
                           TRACE_STATUS_ERROR = 2,
} TraceStatus;

typedef struct TraceAttr {
    const char *key;
    enum { TRACE_ATTR_TEXT, TRACE_ATTR_NUMBER, TRACE_ATTR_BOOL } type;
    Str text;
    int64_t number;
} TraceAttr;

#define TRACE_TEXT(k, v) ((TraceAttr){.key = (k), .type = TRACE_ATTR_TEXT, .text = (v)})
#define TRACE_NUMBER(k, v)                                                                         \
    ((TraceAttr){.key = (k), .type = TRACE_ATTR_NUMBER, .number = (int64_t)(v)})
#define TRACE_BOOL(k, v) ((TraceAttr){.key = (k), .type = TRACE_ATTR_BOOL, .number = (v)})

typedef struct TraceSpan { /* everything is borrowed for the call it is given to */
    TraceContext context;
    uint8_t parent_id[TRACE_SPAN_ID_LEN]; /* all zero: a root */
    Str state;                            /* tracestate, may be empty */
    Str name;
    TraceKind kind;
    int64_t start_wall_ns;
    int64_t end_wall_ns;
    TraceStatus status;
    Str message; /* with TRACE_STATUS_ERROR */
    const TraceAttr *attrs;
    size_t n_attrs;
} TraceSpan;

/* Appends one span, as an element of ScopeSpans.spans. 0, or -E2BIG with the text unusable. */
int trace_span_encode(TraceProtocol protocol, const TraceSpan *span, StrBuf *out);
/* What goes around the spans of one request. The resource's encoding is made once. */
int trace_resource_encode(TraceProtocol protocol, const TraceAttr *attrs, size_t n, StrBuf *out);
/* Begins a request, then spans are appended with trace_request_span(), then it is ended. */
typedef struct TraceRequest {
    StrBuf *out;
    size_t resource_at; /* protobuf: where the lengths belong */
    size_t scope_at;
    size_t n;
    TraceProtocol protocol;
} TraceRequest;

void trace_request_begin(TraceRequest *request, TraceProtocol protocol, Str resource, StrBuf *out);
void trace_request_span(TraceRequest *request, Str span);
int trace_request_end(TraceRequest *request); /* 0 or -E2BIG */

/* Rejected spans that an answer of 2xx tells of (partial success); 0 when it tells of none or
 * cannot be read. */
uint64_t trace_answer_rejected(TraceProtocol protocol, Str body);
