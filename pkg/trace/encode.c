/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See span.h. Field numbers and JSON names are those of opentelemetry/proto/trace/v1/trace.proto,
 * common/v1/common.proto, resource/v1/resource.proto and collector/trace/v1/trace_service.proto. In
 * JSON, ids are hex and 64 bit integers are strings (OTLP 1.x, "JSON Protobuf Encoding").
 */
#include <errno.h>
#include <stdio.h>

#include "base/version.h"
#include "trace/proto.h"
#include "trace/span.h"
#include "json/doc.h"
#include "json/utf8.h"
#include "json/write.h"

#define SCOPE_NAME "cofferdam"
#define ANSWER_MAX (64u << 10)

enum { REQUEST_RESOURCE_SPANS = 1 };
enum { RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2 };
enum { SCOPE_NAME_FIELD = 1, SCOPE_VERSION_FIELD = 2 };
enum {
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_TRACE_STATE = 3,
    SPAN_PARENT_SPAN_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16,
};
enum { STATUS_MESSAGE = 2, STATUS_CODE = 3 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { VALUE_TEXT = 1, VALUE_BOOL = 2, VALUE_NUMBER = 3 };
enum { ANSWER_PARTIAL_SUCCESS = 1, PARTIAL_REJECTED_SPANS = 1 };

static bool has_parent(const TraceSpan *span)
{
    static const uint8_t none[TRACE_SPAN_ID_LEN];

    return memcmp(span->parent_id, none, sizeof(none)) != 0;
}

static size_t attrs_kept(size_t n)
{
    return n < TRACE_ATTRS_MAX ? n : TRACE_ATTRS_MAX;
}

/* At most TRACE_VALUE_MAX bytes, not cut within a character. */
static Str cut(Str text)
{
    size_t len = TRACE_VALUE_MAX;

    if (text.len <= len) {
        return text;
    }
    while (len > TRACE_VALUE_MAX - 4 && utf8_is_cont(text.ptr[len])) {
        len--;
    }
    return str_take(text, len);
}

/* ---- protobuf ---- */

static void put_text(StrBuf *out, unsigned field, Str text)
{
    const char *p, *end;
    size_t at;

    text = cut(text.ptr ? text : STR(""));
    if (str_is_utf8(text)) {
        proto_bytes(out, field, text);
        return;
    }
    at = proto_open(out, field);
    for (p = text.ptr, end = p + text.len; p < end;) {
        unsigned n = (unsigned char)*p < 0x80 ? 1 : utf8_sequence_len(p, end);

        strbuf_append(out, n > 0 ? (Str){p, n} : STR(UTF8_REPLACEMENT));
        p += n > 0 ? n : 1;
    }
    proto_close(out, at);
}

static void put_attr(StrBuf *out, unsigned field, const TraceAttr *attr)
{
    size_t pair = proto_open(out, field);
    size_t value;

    put_text(out, KEY_VALUE_KEY, str_from(attr->key));
    value = proto_open(out, KEY_VALUE_VALUE);
    if (attr->type == TRACE_ATTR_TEXT) {
        put_text(out, VALUE_TEXT, attr->text);
    } else {
        proto_varint(out, attr->type == TRACE_ATTR_BOOL ? VALUE_BOOL : VALUE_NUMBER,
                     (uint64_t)attr->number);
    }
    proto_close(out, value);
    proto_close(out, pair);
}

static void put_status(StrBuf *out, const TraceSpan *span)
{
    size_t at;

    if (span->status == TRACE_STATUS_UNSET) {
        return;
    }
    at = proto_open(out, SPAN_STATUS);
    if (span->message.len > 0) {
        put_text(out, STATUS_MESSAGE, span->message);
    }
    proto_varint(out, STATUS_CODE, (uint64_t)span->status);
    proto_close(out, at);
}

static int proto_span(const TraceSpan *span, StrBuf *out)
{
    size_t at = proto_open(out, SCOPE_SPANS_SPANS);

    proto_bytes(out, SPAN_TRACE_ID, (Str){(const char *)span->context.trace_id, TRACE_ID_LEN});
    proto_bytes(out, SPAN_SPAN_ID, (Str){(const char *)span->context.span_id, TRACE_SPAN_ID_LEN});
    if (span->state.len > 0) {
        put_text(out, SPAN_TRACE_STATE, span->state);
    }
    if (has_parent(span)) {
        proto_bytes(out, SPAN_PARENT_SPAN_ID,
                    (Str){(const char *)span->parent_id, TRACE_SPAN_ID_LEN});
    }
    put_text(out, SPAN_NAME, span->name);
    proto_varint(out, SPAN_KIND, (uint64_t)span->kind);
    proto_fixed64(out, SPAN_START, (uint64_t)span->start_wall_ns);
    proto_fixed64(out, SPAN_END, (uint64_t)span->end_wall_ns);
    for (size_t i = 0; i < attrs_kept(span->n_attrs); i++) {
        put_attr(out, SPAN_ATTRIBUTES, &span->attrs[i]);
    }
    put_status(out, span);
    proto_fixed32(out, SPAN_FLAGS, span->context.flags);
    proto_close(out, at);
    return out->error;
}

/* ---- JSON ---- */

static void write_id(JWriter *w, const char *key, const uint8_t *id, size_t len)
{
    char hex[2 * TRACE_ID_LEN + 1];

    trace_hex(id, len, hex);
    jw_member_cstr(w, key, hex);
}

static void write_number(JWriter *w, const char *key, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    jw_member_cstr(w, key, text);
}

static void write_attrs(JWriter *w, const TraceAttr *attrs, size_t n)
{
    jw_key(w, STR("attributes"));
    jw_array(w);
    for (size_t i = 0; i < attrs_kept(n); i++) {
        jw_object(w);
        jw_member_cstr(w, "key", attrs[i].key);
        jw_key(w, STR("value"));
        jw_object(w);
        if (attrs[i].type == TRACE_ATTR_TEXT) {
            jw_member_str(w, "stringValue", attrs[i].text.ptr ? cut(attrs[i].text) : STR(""));
        } else if (attrs[i].type == TRACE_ATTR_BOOL) {
            jw_member_bool(w, "boolValue", attrs[i].number != 0);
        } else {
            write_number(w, "intValue", attrs[i].number);
        }
        jw_object_end(w);
        jw_object_end(w);
    }
    jw_array_end(w);
}

static int json_span(const TraceSpan *span, StrBuf *out)
{
    JWriter w;

    jw_init(&w, out);
    jw_object(&w);
    write_id(&w, "traceId", span->context.trace_id, TRACE_ID_LEN);
    write_id(&w, "spanId", span->context.span_id, TRACE_SPAN_ID_LEN);
    if (span->state.len > 0) {
        jw_member_str(&w, "traceState", span->state);
    }
    if (has_parent(span)) {
        write_id(&w, "parentSpanId", span->parent_id, TRACE_SPAN_ID_LEN);
    }
    jw_member_i64(&w, "flags", span->context.flags);
    jw_member_str(&w, "name", cut(span->name));
    jw_member_i64(&w, "kind", span->kind);
    write_number(&w, "startTimeUnixNano", span->start_wall_ns);
    write_number(&w, "endTimeUnixNano", span->end_wall_ns);
    write_attrs(&w, span->attrs, span->n_attrs);
    if (span->status != TRACE_STATUS_UNSET) {
        jw_key(&w, STR("status"));
        jw_object(&w);
        if (span->message.len > 0) {
            jw_member_str(&w, "message", cut(span->message));
        }
        jw_member_i64(&w, "code", span->status);
        jw_object_end(&w);
    }
    jw_object_end(&w);
    return out->error;
}

int trace_span_encode(TraceProtocol protocol, const TraceSpan *span, StrBuf *out)
{
    return protocol == TRACE_JSON ? json_span(span, out) : proto_span(span, out);
}

/* ---- what goes around ---- */

int trace_resource_encode(TraceProtocol protocol, const TraceAttr *attrs, size_t n, StrBuf *out)
{
    if (protocol == TRACE_JSON) {
        JWriter w;

        jw_init(&w, out);
        jw_object(&w);
        write_attrs(&w, attrs, n);
        jw_object_end(&w);
    } else {
        size_t at = proto_open(out, RESOURCE_SPANS_RESOURCE);

        for (size_t i = 0; i < attrs_kept(n); i++) {
            put_attr(out, RESOURCE_ATTRIBUTES, &attrs[i]);
        }
        proto_close(out, at);
    }
    return out->error;
}

void trace_request_begin(TraceRequest *request, TraceProtocol protocol, Str resource, StrBuf *out)
{
    size_t scope;

    *request = (TraceRequest){.out = out, .protocol = protocol};
    if (protocol == TRACE_JSON) {
        strbuf_append(out, STR("{\"resourceSpans\":[{\"resource\":"));
        strbuf_append(out, resource);
        strbuf_append(out,
                      STR(",\"scopeSpans\":[{\"scope\":{\"name\":\"" SCOPE_NAME "\",\"version\":"));
        json_quote(out, str_from(version_string()));
        strbuf_append(out, STR("},\"spans\":["));
        return;
    }
    request->resource_at = proto_open(out, REQUEST_RESOURCE_SPANS);
    strbuf_append(out, resource);
    request->scope_at = proto_open(out, RESOURCE_SPANS_SCOPE_SPANS);
    scope = proto_open(out, SCOPE_SPANS_SCOPE);
    proto_bytes(out, SCOPE_NAME_FIELD, STR(SCOPE_NAME));
    proto_bytes(out, SCOPE_VERSION_FIELD, str_from(version_string()));
    proto_close(out, scope);
}

void trace_request_span(TraceRequest *request, Str span)
{
    if (request->protocol == TRACE_JSON && request->n > 0) {
        strbuf_append_char(request->out, ',');
    }
    strbuf_append(request->out, span);
    request->n++;
}

int trace_request_end(TraceRequest *request)
{
    if (request->protocol == TRACE_JSON) {
        return strbuf_append(request->out, STR("]}]}]}"));
    }
    proto_close(request->out, request->scope_at);
    proto_close(request->out, request->resource_at);
    return request->out->error;
}

/* ---- the answer ---- */

static uint64_t proto_rejected(Str body)
{
    ProtoField field, inner;
    uint64_t rejected = 0;

    while (proto_next(&body, &field)) {
        while (field.number == ANSWER_PARTIAL_SUCCESS && proto_next(&field.bytes, &inner)) {
            if (inner.number == PARTIAL_REJECTED_SPANS && (int64_t)inner.value > 0) {
                rejected = inner.value;
            }
        }
    }
    return rejected;
}

/* A 64 bit integer in JSON may be a string or a number. */
static uint64_t json_rejected(Str body)
{
    AUTO(jdoc) JDoc *doc = NULL;
    uint64_t rejected = 0;
    JNode node;
    int64_t number;

    if (jdoc_parse(body, NULL, ANSWER_MAX, &doc, NULL) < 0) {
        return 0;
    }
    node = jnode_at(jdoc_root(doc), "partialSuccess", "rejectedSpans");
    number = jnode_i64(node, 0);
    if (number > 0) {
        return (uint64_t)number;
    }
    return str_to_u64(jnode_str(node), &rejected) == 0 ? rejected : 0;
}

uint64_t trace_answer_rejected(TraceProtocol protocol, Str body)
{
    return protocol == TRACE_JSON ? json_rejected(body) : proto_rejected(body);
}
