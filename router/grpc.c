/* SPDX-License-Identifier: Apache-2.0 */
/* See grpc.h. */
#include "router/grpc.h"

#include <errno.h>

#include "base/attr.h"
#include "base/clock.h"

#define TIMEOUT_DIGITS_MAX 8

bool grpc_is_content_type(Str value)
{
    const Str type = STR("application/grpc");
    Str rest = str_drop(value, type.len);

    if (!str_eq_nocase(str_take(value, type.len), type)) {
        return false;
    }
    return rest.len == 0 || rest.ptr[0] == '+' || rest.ptr[0] == ';' || rest.ptr[0] == ' ';
}

/* 8 digits of hours are 3.6e20 ns: more than fits, and as good as no limit. */
static uint64_t scaled(uint64_t count, uint64_t unit_ns)
{
    return count > INT64_MAX / unit_ns ? INT64_MAX : count * unit_ns;
}

int grpc_timeout_parse(Str value, uint64_t *ret_ns)
{
    static const struct {
        char letter;
        uint64_t ns;
    } units[] = {
        {'H', 3600 * NS_PER_S}, {'M', 60 * NS_PER_S}, {'S', NS_PER_S},
        {'m', NS_PER_MS},       {'u', NS_PER_US},     {'n', 1},
    };
    uint64_t count;

    if (value.len < 2 || value.len > TIMEOUT_DIGITS_MAX + 1 ||
        str_to_u64(str_take(value, value.len - 1), &count) < 0) {
        return -EINVAL;
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (units[i].letter == value.ptr[value.len - 1]) {
            *ret_ns = scaled(count, units[i].ns);
            return 0;
        }
    }
    return -EINVAL;
}

int grpc_status_from_http(int status)
{
    static const struct {
        int http;
        int grpc;
    } codes[] = {
        {400, 3},                                 /* INVALID_ARGUMENT */
        {401, 16},                                /* UNAUTHENTICATED */
        {403, 7},                                 /* PERMISSION_DENIED */
        {404, 5},                                 /* NOT_FOUND: the sandbox, not the method */
        {408, 4},                                 /* DEADLINE_EXCEEDED */
        {413, 8},                                 /* RESOURCE_EXHAUSTED */
        {414, 8},  {429, 8}, {431, 8}, {500, 13}, /* INTERNAL */
        {501, 12},                                /* UNIMPLEMENTED */
        {502, 14},                                /* UNAVAILABLE */
        {503, 14}, {504, 4},
    };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        if (codes[i].http == status) {
            return codes[i].grpc;
        }
    }
    return 2; /* UNKNOWN */
}

size_t grpc_message_encode(Str text, char *out, size_t max)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.ptr[i];
        bool plain = byte >= 0x20 && byte <= 0x7e && byte != '%';

        if (n + (plain ? 1 : 3) > max) {
            break;
        }
        out[n++] = plain ? (char)byte : '%';
        if (!plain) {
            out[n++] = hex[byte >> 4];
            out[n++] = hex[byte & 15];
        }
    }
    return n;
}
