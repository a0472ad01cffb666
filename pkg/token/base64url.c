/* SPDX-License-Identifier: Apache-2.0 */
/* See base64url.h. OpenSSL's decoder wants padding and takes white space: not strict enough. */
#include "token/base64url.h"

#include <errno.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int base64url_encode(Str bytes, StrBuf *out)
{
    uint32_t bits = 0;
    unsigned n = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | (unsigned char)bytes.ptr[i];
        for (n += 8; n >= 6; n -= 6) {
            strbuf_append_char(out, alphabet[bits >> (n - 6) & 63]);
        }
    }
    if (n > 0) {
        strbuf_append_char(out, alphabet[bits << (6 - n) & 63]);
    }
    return out->error;
}

static int value_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '-'             ? 62
           : c == '_'             ? 63
                                  : -1;
}

int base64url_decode(Str text, void *ret, size_t max)
{
    unsigned char *to = ret;
    uint32_t bits = 0;
    unsigned n = 0;
    size_t len = 0;

    if (text.len % 4 == 1) {
        return -EINVAL;
    }
    for (size_t i = 0; i < text.len; i++) {
        int value = value_of(text.ptr[i]);

        if (value < 0) {
            return -EINVAL;
        }
        bits = bits << 6 | (uint32_t)value;
        n += 6;
        if (n >= 8) {
            n -= 8;
            if (len == max) {
                return -E2BIG;
            }
            to[len++] = (unsigned char)(bits >> n);
        }
    }
    return (bits & ((1u << n) - 1)) ? -EINVAL : (int)len;
}
