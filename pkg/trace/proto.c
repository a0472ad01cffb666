/* SPDX-License-Identifier: Apache-2.0 */
/* See proto.h. */
#include "trace/proto.h"

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
};

#define VARINT_MAX 10

static size_t varint_format(uint64_t value, char ret[VARINT_MAX])
{
    size_t n = 0;

    while (value >= 0x80) {
        ret[n++] = (char)(0x80 | (value & 0x7f));
        value >>= 7;
    }
    ret[n++] = (char)value;
    return n;
}

/* A span is a hundred small pieces: the room that is there is taken without a call. */
static inline void put(StrBuf *out, const char *bytes, size_t len)
{
    if (out->error == 0 && out->cap > out->len && out->cap - out->len > len) {
        memcpy(out->ptr + out->len, bytes, len);
        out->len += len;
        out->ptr[out->len] = '\0';
    } else {
        strbuf_append(out, (Str){bytes, len});
    }
}

static size_t tag_format(unsigned field, unsigned wire, char ret[VARINT_MAX])
{
    return varint_format((uint64_t)field << 3 | wire, ret);
}

static void put_little(StrBuf *out, unsigned field, unsigned wire, uint64_t value, size_t len)
{
    char text[VARINT_MAX + 8];
    size_t n = tag_format(field, wire, text);

    for (size_t i = 0; i < len; i++) {
        text[n++] = (char)(value >> (8 * i) & 0xff);
    }
    put(out, text, n);
}

void proto_varint(StrBuf *out, unsigned field, uint64_t value)
{
    char text[2 * VARINT_MAX];
    size_t n = tag_format(field, WIRE_VARINT, text);

    put(out, text, n + varint_format(value, text + n));
}

void proto_fixed32(StrBuf *out, unsigned field, uint32_t value)
{
    put_little(out, field, WIRE_FIXED32, value, 4);
}

void proto_fixed64(StrBuf *out, unsigned field, uint64_t value)
{
    put_little(out, field, WIRE_FIXED64, value, 8);
}

void proto_bytes(StrBuf *out, unsigned field, Str bytes)
{
    char text[2 * VARINT_MAX];
    size_t n = tag_format(field, WIRE_BYTES, text);

    put(out, text, n + varint_format(bytes.len, text + n));
    put(out, bytes.ptr, bytes.len);
}

size_t proto_open(StrBuf *out, unsigned field)
{
    char text[VARINT_MAX];

    put(out, text, tag_format(field, WIRE_BYTES, text));
    return out->len;
}

/* The length is known only now: the content makes room for it. */
void proto_close(StrBuf *out, size_t at)
{
    char text[VARINT_MAX];
    size_t len = out->len - at;
    size_t n = varint_format(len, text);

    put(out, text, n);
    if (out->error < 0) {
        return;
    }
    memmove(out->ptr + at + n, out->ptr + at, len);
    memcpy(out->ptr + at, text, n);
}

/* ---- reading ---- */

static bool take_varint(Str *in, uint64_t *ret)
{
    uint64_t value = 0;

    for (size_t i = 0; i < in->len && i < VARINT_MAX; i++) {
        value |= (uint64_t)((unsigned char)in->ptr[i] & 0x7f) << (7 * i);
        if (!((unsigned char)in->ptr[i] & 0x80)) {
            *in = str_drop(*in, i + 1);
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool take_fixed(Str *in, size_t len, uint64_t *ret)
{
    uint64_t value = 0;

    if (in->len < len) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        value |= (uint64_t)(unsigned char)in->ptr[i] << (8 * i);
    }
    *in = str_drop(*in, len);
    *ret = value;
    return true;
}

bool proto_next(Str *message, ProtoField *ret)
{
    ProtoField field = {0};
    uint64_t tag, len;

    if (!take_varint(message, &tag)) {
        return false;
    }
    field.number = (unsigned)(tag >> 3);
    switch (tag & 7) {
    case WIRE_VARINT:
        if (!take_varint(message, &field.value)) {
            return false;
        }
        break;
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        if (!take_fixed(message, (tag & 7) == WIRE_FIXED64 ? 8 : 4, &field.value)) {
            return false;
        }
        break;
    case WIRE_BYTES:
        if (!take_varint(message, &len) || len > message->len) {
            return false;
        }
        field.bytes = str_take(*message, (size_t)len);
        *message = str_drop(*message, (size_t)len);
        break;
    default:
        return false;
    }
    *ret = field;
    return true;
}
