/* SPDX-License-Identifier: Apache-2.0 */
/* See context.h. */
#include "trace/context.h"

#include <errno.h>

#define PARENT_TRACE_AT 3
#define PARENT_SPAN_AT 36
#define PARENT_FLAGS_AT 53
#define STATE_KEY_MAX 256
#define STATE_VALUE_MAX 256

static const char digits[] = "0123456789abcdef";

void trace_hex(const uint8_t *bytes, size_t len, char *ret)
{
    for (size_t i = 0; i < len; i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[2 * len] = '\0';
}

/* Upper case is not allowed on the wire. */
static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex_parse(const char *text, uint8_t *ret, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        int high = hex_value(text[2 * i]);
        int low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        ret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    uint8_t any = 0;

    for (size_t i = 0; i < len; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

bool trace_context_is_valid(const TraceContext *context)
{
    return !is_zero(context->trace_id, TRACE_ID_LEN) &&
           !is_zero(context->span_id, TRACE_SPAN_ID_LEN);
}

int trace_parent_parse(Str text, TraceContext *ret)
{
    TraceContext context;
    uint8_t version;

    if (text.len < TRACE_PARENT_LEN || !hex_parse(text.ptr, &version, 1) || version == 0xff) {
        return -EINVAL;
    }
    if (text.len > TRACE_PARENT_LEN && (version == 0 || text.ptr[TRACE_PARENT_LEN] != '-')) {
        return -EINVAL;
    }
    if (text.ptr[PARENT_TRACE_AT - 1] != '-' || text.ptr[PARENT_SPAN_AT - 1] != '-' ||
        text.ptr[PARENT_FLAGS_AT - 1] != '-' ||
        !hex_parse(text.ptr + PARENT_TRACE_AT, context.trace_id, TRACE_ID_LEN) ||
        !hex_parse(text.ptr + PARENT_SPAN_AT, context.span_id, TRACE_SPAN_ID_LEN) ||
        !hex_parse(text.ptr + PARENT_FLAGS_AT, &context.flags, 1)) {
        return -EINVAL;
    }
    if (!trace_context_is_valid(&context)) {
        return -EINVAL;
    }
    context.flags &= TRACE_FLAG_SAMPLED;
    *ret = context;
    return 0;
}

void trace_parent_format(const TraceContext *context, char ret[TRACE_PARENT_LEN + 1])
{
    memcpy(ret, "00-", PARENT_TRACE_AT);
    trace_hex(context->trace_id, TRACE_ID_LEN, ret + PARENT_TRACE_AT);
    ret[PARENT_SPAN_AT - 1] = '-';
    trace_hex(context->span_id, TRACE_SPAN_ID_LEN, ret + PARENT_SPAN_AT);
    ret[PARENT_FLAGS_AT - 1] = '-';
    trace_hex(&context->flags, 1, ret + PARENT_FLAGS_AT);
}

/* ---- tracestate ---- */

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' ||
           c == '/' || c == '@';
}

static bool is_key(Str key)
{
    if (key.len == 0 || key.len > STATE_KEY_MAX ||
        !((key.ptr[0] >= 'a' && key.ptr[0] <= 'z') || (key.ptr[0] >= '0' && key.ptr[0] <= '9'))) {
        return false;
    }
    for (size_t i = 0; i < key.len; i++) {
        if (!is_key_char(key.ptr[i])) {
            return false;
        }
    }
    return true;
}

static bool is_value(Str value)
{
    if (value.len == 0 || value.len > STATE_VALUE_MAX || value.ptr[value.len - 1] == ' ') {
        return false;
    }
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        if (c < 0x20 || c > 0x7e || c == ',' || c == '=') {
            return false;
        }
    }
    return true;
}

static bool is_known(const Str *keys, size_t n, Str key)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(keys[i], key)) {
            return true;
        }
    }
    return false;
}

bool trace_state_is_valid(Str text)
{
    Str keys[TRACE_STATE_MEMBERS_MAX];
    size_t n = 0;

    if (text.len > TRACE_STATE_MAX) {
        return false;
    }
    while (text.len > 0) {
        Str value;
        Str member = str_trim(str_cut(text, ',', &text));
        Str key = str_cut(member, '=', &value);

        if (member.len == 0) {
            continue; /* empty members are allowed */
        }
        if (n == TRACE_STATE_MEMBERS_MAX || !is_key(key) || !is_value(value) ||
            is_known(keys, n, key)) {
            return false;
        }
        keys[n++] = key;
    }
    return n > 0;
}
