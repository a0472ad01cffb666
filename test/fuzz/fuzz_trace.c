/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What strangers say to the tracing layer. A traceparent that is read is written again as version
 * 00 with the same ids; a tracestate that is carried stays one without its empty members; a span
 * whose texts are these bytes is valid UTF-8 in JSON and well-formed in protobuf, as long as it
 * says; an answer of a collector never makes more of itself than a number.
 */
#include "test/fuzz/fuzz.h"
#include "trace/proto.h"
#include "trace/span.h"
#include "json/doc.h"

#define BODY_MAX (1u << 20)

static void check_parent(Str text)
{
    TraceContext context, again;
    char written[TRACE_PARENT_LEN + 1];

    if (trace_parent_parse(text, &context) < 0) {
        return;
    }
    CHECK(trace_context_is_valid(&context));
    trace_parent_format(&context, written);
    CHECK(memcmp(written + 2, text.ptr + 2, TRACE_PARENT_LEN - 4) == 0);
    CHECK(trace_parent_parse(str_from(written), &again) == 0);
    CHECK(memcmp(&context, &again, sizeof(context)) == 0);
}

static void check_state(Str text)
{
    AUTO(strbuf) StrBuf dense = STRBUF_INIT(2 * TRACE_STATE_MAX);
    Str rest = text;

    if (!trace_state_is_valid(text)) {
        return;
    }
    CHECK(text.len <= TRACE_STATE_MAX && str_is_utf8(text));
    while (rest.len > 0) {
        Str member = str_trim(str_cut(rest, ',', &rest));

        if (member.len > 0) {
            strbuf_append(&dense, dense.len > 0 ? STR(",") : STR(""));
            strbuf_append(&dense, member);
        }
    }
    CHECK(trace_state_is_valid(strbuf_str(&dense)));
}

/* Every field of the message, nested ones where a span has them, ends where it says. */
static void check_message(Str message, unsigned depth)
{
    ProtoField field;

    while (proto_next(&message, &field)) {
        if (depth == 0 || (depth == 1 && (field.number == 9 || field.number == 15))) {
            check_message(field.bytes, depth + 1);
        } else if (depth == 1 && (field.number == 3 || field.number == 5)) {
            CHECK(str_is_utf8(field.bytes) && field.bytes.len <= 3 * TRACE_VALUE_MAX);
        }
    }
    CHECK(message.len == 0);
}

static void check_span(Str text)
{
    const TraceAttr attrs[] = {TRACE_TEXT("k", text), TRACE_NUMBER("n", text.len)};
    const TraceSpan span = {
        .name = text,
        .kind = TRACE_KIND_SERVER,
        .status = TRACE_STATUS_ERROR,
        .message = text,
        .attrs = attrs,
        .n_attrs = ARRAY_LEN(attrs),
    };
    AUTO(strbuf) StrBuf out = STRBUF_INIT(TRACE_SPAN_MAX);
    AUTO(jdoc) JDoc *doc = NULL;

    CHECK(trace_span_encode(TRACE_PROTOBUF, &span, &out) == 0);
    check_message(strbuf_str(&out), 0);
    strbuf_clear(&out);
    CHECK(trace_span_encode(TRACE_JSON, &span, &out) == 0);
    CHECK(jdoc_parse(strbuf_str(&out), NULL, BODY_MAX, &doc, NULL) == 0);
    CHECK(jnode_len(jnode_at(jdoc_root(doc), "attributes")) == 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = fuzz_str(data, size);

    check_parent(text);
    check_state(text);
    check_span(text);
    (void)trace_answer_rejected(TRACE_PROTOBUF, text);
    (void)trace_answer_rejected(TRACE_JSON, text);
    return 0;
}
