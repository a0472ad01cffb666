/* SPDX-License-Identifier: Apache-2.0 */
/* Percent decoding, query pairs, authorities. Pure functions over slices. */
#include "http/url.h"

#include <errno.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int decode(Str in, bool plus, char *out, size_t *ret_len)
{
    size_t n = 0;

    for (size_t i = 0; i < in.len; i++) {
        char c = in.ptr[i];

        if (c == '%') {
            int hi = i + 2 < in.len ? hex_digit(in.ptr[i + 1]) : -1;
            int lo = hi >= 0 ? hex_digit(in.ptr[i + 2]) : -1;

            if (lo < 0) {
                return -EBADMSG;
            }
            c = (char)(hi << 4 | lo);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c == '\0') {
            return -EINVAL;
        }
        out[n++] = c;
    }
    *ret_len = n;
    return 0;
}

int http_url_decode(Str in, char *out, size_t *ret_len)
{
    return decode(in, false, out, ret_len);
}

int http_url_decode_query(Str in, char *out, size_t *ret_len)
{
    return decode(in, true, out, ret_len);
}

bool http_query_next(Str *query, Str *ret_key, Str *ret_value)
{
    Str rest = *query;

    while (rest.len > 0) {
        Str next, value;
        Str pair = str_cut(rest, '&', &next);
        Str key = str_cut(pair, '=', &value);

        rest = next;
        if (pair.len > 0) {
            *query = rest;
            *ret_key = key;
            *ret_value = value.ptr ? value : STR("");
            return true;
        }
    }
    *query = STR_NULL;
    return false;
}

Str http_query_get(Str query, Str key)
{
    Str k, v;

    while (http_query_next(&query, &k, &v)) {
        if (str_eq(k, key)) {
            return v;
        }
    }
    return STR_NULL;
}

int http_authority_split(Str authority, Str *ret_host, uint16_t *ret_port)
{
    Str host, port;
    uint64_t number;

    if (authority.len > 0 && authority.ptr[0] == '[') {
        ptrdiff_t close = str_find(authority, ']');

        if (close < 0 || (size_t)close + 1 >= authority.len || authority.ptr[close + 1] != ':') {
            return -EINVAL;
        }
        host = (Str){authority.ptr + 1, (size_t)close - 1};
        port = str_drop(authority, (size_t)close + 2);
    } else {
        host = str_cut(authority, ':', &port);
        if (!port.ptr || str_find(port, ':') >= 0) {
            return -EINVAL;
        }
    }
    if (port.len == 0 || port.len > 5 || str_to_u64(port, &number) < 0 || number > UINT16_MAX) {
        return -EINVAL;
    }
    *ret_host = host;
    *ret_port = (uint16_t)number;
    return 0;
}
