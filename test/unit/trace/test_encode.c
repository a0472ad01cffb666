/* SPDX-License-Identifier: Apache-2.0 */
/* Golden bytes: made with opentelemetry-proto 1.45.2 (test/integ/trace decodes what we make). */
#include <errno.h>

#include "base/version.h"
#include "test/harness/t.h"
#include "trace/proto.h"
#include "trace/span.h"

static const TraceAttr attrs[] = {
    {.key = "s", .type = TRACE_ATTR_TEXT, .text = {"v", 1}},
    {.key = "n", .type = TRACE_ATTR_NUMBER, .number = -1},
    {.key = "b", .type = TRACE_ATTR_BOOL, .number = 1},
};

static TraceSpan a_span(void)
{
    TraceSpan span = {
        .state = STR("a=1"),
        .name = STR("HTTP GET"),
        .kind = TRACE_KIND_SERVER,
        .start_wall_ns = 1,
        .end_wall_ns = 0x0102030405060708,
        .status = TRACE_STATUS_ERROR,
        .message = STR("m"),
        .attrs = attrs,
        .n_attrs = ARRAY_LEN(attrs),
    };

    T_OK(trace_parent_parse(STR("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                            &span.context));
    memset(span.parent_id, 0x11, sizeof(span.parent_id));
    return span;
}

T_TEST(a_span_in_protobuf)
{
    static const char golden[] =
        "\x12\x7b"
        "\x0a\x10\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c"
        "\x12\x08\xb7\xad\x6b\x71\x69\x20\x33\x31"
        "\x1a\x03"
        "a=1"
        "\x22\x08\x11\x11\x11\x11\x11\x11\x11\x11"
        "\x2a\x08HTTP GET"
        "\x30\x02"
        "\x39\x01\x00\x00\x00\x00\x00\x00\x00"
        "\x41\x08\x07\x06\x05\x04\x03\x02\x01"
        "\x4a\x08\x0a\x01s\x12\x03\x0a\x01v"
        "\x4a\x10\x0a\x01n\x12\x0b\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
        "\x4a\x07\x0a\x01"
        "b\x12\x02\x10\x01"
        "\x7a\x05\x12\x01m\x18\x02"
        "\x85\x01\x01\x00\x00\x00";
    AUTO(strbuf) StrBuf out = STRBUF_INIT(TRACE_SPAN_MAX);
    TraceSpan span = a_span();

    T_OK(trace_span_encode(TRACE_PROTOBUF, &span, &out));
    T_EQ_INT(out.len, sizeof(golden) - 1);
    T_CHECK(memcmp(out.ptr, golden, out.len) == 0);
}

T_TEST(a_span_in_json)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(TRACE_SPAN_MAX);
    TraceSpan span = a_span();

    T_OK(trace_span_encode(TRACE_JSON, &span, &out));
    T_EQ_STR(strbuf_str(&out),
             "{\"traceId\":\"0af7651916cd43dd8448eb211c80319c\",\"spanId\":\"b7ad6b7169203331\","
             "\"traceState\":\"a=1\",\"parentSpanId\":\"1111111111111111\",\"flags\":1,"
             "\"name\":\"HTTP GET\",\"kind\":2,\"startTimeUnixNano\":\"1\","
             "\"endTimeUnixNano\":\"72623859790382856\",\"attributes\":["
             "{\"key\":\"s\",\"value\":{\"stringValue\":\"v\"}},"
             "{\"key\":\"n\",\"value\":{\"intValue\":\"-1\"}},"
             "{\"key\":\"b\",\"value\":{\"boolValue\":true}}],"
             "\"status\":{\"message\":\"m\",\"code\":2}}");
}

/* What is not there is not written. */
T_TEST(a_root_span_without_anything)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(TRACE_SPAN_MAX);
    TraceSpan span = {.kind = TRACE_KIND_INTERNAL};
    Str message, inner;
    ProtoField field;

    T_OK(trace_span_encode(TRACE_PROTOBUF, &span, &out));
    message = strbuf_str(&out);
    T_CHECK(proto_next(&message, &field));
    for (inner = field.bytes; proto_next(&inner, &field);) {
        T_CHECK(field.number != 3 && field.number != 4 && field.number != 9 && field.number != 15);
    }
    T_EQ_INT(inner.len, 0);
    strbuf_clear(&out);
    T_OK(trace_span_encode(TRACE_JSON, &span, &out));
    T_CONTAINS(strbuf_str(&out), "\"name\":null,\"kind\":1");
}

static Str first_text(TraceProtocol protocol, Str value, StrBuf *out)
{
    const TraceAttr one = TRACE_TEXT("k", value);
    TraceSpan span = {.kind = TRACE_KIND_INTERNAL, .attrs = &one, .n_attrs = 1};

    strbuf_clear(out);
    T_OK(trace_span_encode(protocol, &span, out));
    return strbuf_str(out);
}

T_TEST(text_that_is_no_utf8_is_mended_and_long_text_is_cut_at_a_character)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(TRACE_SPAN_MAX);
    char text[TRACE_VALUE_MAX + 10];

    T_CONTAINS(first_text(TRACE_PROTOBUF, STR("a\xff\xc3\xbc\xc3"), &out),
               "\x0a\x09"
               "a\xef\xbf\xbd\xc3\xbc\xef\xbf\xbd");
    T_CONTAINS(first_text(TRACE_JSON, STR("a\xff\""), &out), "\"a\xef\xbf\xbd\\\"\"");
    memset(text, 'x', sizeof(text));
    memcpy(text + TRACE_VALUE_MAX - 2, "\xe2\x82\xac", 3); /* lies across the limit */
    for (int protocol = TRACE_PROTOBUF; protocol <= TRACE_JSON; protocol++) {
        Str got = first_text((TraceProtocol)protocol, (Str){text, sizeof(text)}, &out);

        T_CHECK(str_find(got, '\xe2') < 0 && got.len > TRACE_VALUE_MAX - 2);
        T_CHECK(got.len < TRACE_VALUE_MAX + 400);
    }
}

T_TEST(attributes_beyond_the_limit_are_left_out)
{
    TraceAttr many[TRACE_ATTRS_MAX + 4];
    TraceSpan span = {.kind = TRACE_KIND_INTERNAL, .attrs = many, .n_attrs = ARRAY_LEN(many)};
    AUTO(strbuf) StrBuf out = STRBUF_INIT(TRACE_SPAN_MAX);
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = TRACE_NUMBER("key", i);
    }
    T_OK(trace_span_encode(TRACE_JSON, &span, &out));
    for (const char *p = out.ptr; (p = strstr(p, "intValue")); p++) {
        n++;
    }
    T_EQ_INT(n, TRACE_ATTRS_MAX);
}

T_TEST(a_buffer_that_is_too_small_is_an_error)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(40);
    AUTO(strbuf) StrBuf text = STRBUF_INIT(40);
    TraceSpan span = a_span();

    T_EQ_INT(trace_span_encode(TRACE_PROTOBUF, &span, &out), -E2BIG);
    T_EQ_INT(trace_span_encode(TRACE_JSON, &span, &text), -E2BIG);
}

T_TEST(a_request_around_spans)
{
    AUTO(strbuf) StrBuf resource = STRBUF_INIT(TRACE_RESOURCE_MAX);
    AUTO(strbuf) StrBuf out = STRBUF_INIT(4096);
    AUTO(strbuf) StrBuf want = STRBUF_INIT(4096);
    TraceRequest request;

    T_OK(trace_resource_encode(TRACE_JSON, attrs, 1, &resource));
    trace_request_begin(&request, TRACE_JSON, strbuf_str(&resource), &out);
    trace_request_span(&request, STR("{1}"));
    trace_request_span(&request, STR("{2}"));
    T_OK(trace_request_end(&request));
    strbuf_printf(&want,
                  "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"s\",\"value\":"
                  "{\"stringValue\":\"v\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"cofferdam\","
                  "\"version\":\"%s\"},\"spans\":[{1},{2}]}]}]}",
                  version_string());
    T_EQ_STR(strbuf_str(&out), strbuf_str(&want));
    strbuf_clear(&resource);
    strbuf_clear(&out);
    T_OK(trace_resource_encode(TRACE_PROTOBUF, attrs, 1, &resource));
    trace_request_begin(&request, TRACE_PROTOBUF, strbuf_str(&resource), &out);
    trace_request_span(&request, STR("\x12\x00"));
    T_OK(trace_request_end(&request));
    Str message = strbuf_str(&out);
    ProtoField field;
    T_CHECK(proto_next(&message, &field) && message.len == 0);
    T_EQ_INT(field.number, 1);
    message = field.bytes;
    T_CHECK(proto_next(&message, &field));
    T_EQ_STR(field.bytes, "\x0a\x08\x0a\x01s\x12\x03\x0a\x01v");
    T_CHECK(proto_next(&message, &field) && message.len == 0);
    T_EQ_INT(field.number, 2);
    T_CONTAINS(field.bytes, "\x0a\x09"
                            "cofferdam");
    T_CHECK(str_ends(field.bytes, STR("\x12")) || field.bytes.ptr[field.bytes.len - 1] == 0);
}

T_TEST(answers_with_partial_success)
{
    static const struct {
        TraceProtocol protocol;
        Str body;
        uint64_t rejected;
    } rows[] = {
        {TRACE_PROTOBUF, {"", 0}, 0},
        {TRACE_PROTOBUF, {"\x0a\x02\x08\x05", 4}, 5},
        {TRACE_PROTOBUF, {"\x0a\x06\x08\xac\x02\x12\x01x", 8}, 300},
        {TRACE_PROTOBUF, {"\x0a\x09\x08\x01", 4}, 0}, /* shorter than it says */
        {TRACE_PROTOBUF, {"\x0a\x02\x08\xff", 4}, 0}, /* a number without an end */
        {TRACE_PROTOBUF, {"\x13\x08\x01", 3}, 0},     /* a group: not spoken */
        {TRACE_PROTOBUF, {"\x15\x01\x02\x03\x04\x0a\x02\x08\x07", 9}, 7}, /* an unknown field */
        {TRACE_PROTOBUF, {"\x11\x01\x02", 3}, 0},
        {TRACE_JSON, {"", 0}, 0},
        {TRACE_JSON, {"{}", 2}, 0},
        {TRACE_JSON, {"{\"partialSuccess\":{\"rejectedSpans\":\"5\"}}", 40}, 5},
        {TRACE_JSON, {"{\"partialSuccess\":{\"rejectedSpans\":5}}", 38}, 5},
        {TRACE_JSON, {"{\"partialSuccess\":{\"rejectedSpans\":-5}}", 39}, 0},
        {TRACE_JSON, {"{\"partialSuccess\":[]}", 21}, 0},
        {TRACE_JSON, {"<html>", 6}, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        t_row(rows[i].body.ptr);
        T_EQ_INT(trace_answer_rejected(rows[i].protocol, rows[i].body), rows[i].rejected);
    }
}
