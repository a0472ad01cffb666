/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunked decoder. Accepts exactly what RFC 9112 7.1 writes, less the optional white space: a size
 * line is 1*HEXDIG, then maybe ";extension" (skipped), then CRLF. Nothing that another parser could
 * take for a line end is let through.
 */
#include "http/chunk.h"

#include <errno.h>
#include <string.h>

#include "http/chars.h"

enum {
    STATE_SIZE,
    STATE_EXT,
    STATE_SIZE_LF,
    STATE_DATA,
    STATE_DATA_CR,
    STATE_DATA_LF,
    STATE_LAST,
};

void http_chunk_init(HttpChunkDecoder *dec)
{
    *dec = (HttpChunkDecoder){.state = STATE_SIZE};
}

static int size_byte(HttpChunkDecoder *dec, char c)
{
    unsigned digit;

    if (c >= '0' && c <= '9') {
        digit = (unsigned)(c - '0');
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
        digit = (unsigned)((c | 0x20) - 'a' + 10);
    } else if (dec->digits == 0) {
        return -EBADMSG;
    } else if (c == ';') {
        dec->state = STATE_EXT;
        dec->ext = 0;
        return 0;
    } else if (c == '\r') {
        dec->state = STATE_SIZE_LF;
        return 0;
    } else {
        return -EBADMSG;
    }
    if (++dec->digits > HTTP_CHUNK_DIGITS_MAX || dec->left > (INT64_MAX >> 4)) {
        return -E2BIG;
    }
    dec->left = dec->left << 4 | digit;
    return 0;
}

static int line_byte(HttpChunkDecoder *dec, char c)
{
    switch (dec->state) {
    case STATE_SIZE:
        return size_byte(dec, c);
    case STATE_EXT:
        if (c == '\r') {
            dec->state = STATE_SIZE_LF;
            return 0;
        }
        if (++dec->ext > HTTP_CHUNK_EXT_MAX) {
            return -E2BIG;
        }
        return http_char_class[(uint8_t)c] & HTTP_CHAR_VALUE ? 0 : -EBADMSG;
    case STATE_SIZE_LF:
        dec->state = dec->left > 0 ? STATE_DATA : STATE_LAST;
        return c == '\n' ? 0 : -EBADMSG;
    case STATE_DATA_CR:
        dec->state = STATE_DATA_LF;
        return c == '\r' ? 0 : -EBADMSG;
    default: /* STATE_DATA_LF */
        dec->state = STATE_SIZE;
        dec->digits = 0;
        return c == '\n' ? 0 : -EBADMSG;
    }
}

int http_chunk_next(HttpChunkDecoder *dec, Str *in, Str *ret_data)
{
    while (dec->state != STATE_LAST) {
        if (in->len == 0) {
            return HTTP_CHUNK_MORE;
        }
        if (dec->state == STATE_DATA) {
            *ret_data = str_take(*in, dec->left < in->len ? (size_t)dec->left : in->len);
            *in = str_drop(*in, ret_data->len);
            dec->left -= ret_data->len;
            dec->total += ret_data->len;
            if (dec->left == 0) {
                dec->state = STATE_DATA_CR;
            }
            return HTTP_CHUNK_DATA;
        }
        int r = line_byte(dec, in->ptr[0]);

        if (r < 0) {
            return r;
        }
        *in = str_drop(*in, 1);
    }
    return HTTP_CHUNK_LAST;
}

size_t http_chunk_head(uint64_t size, char ret[HTTP_CHUNK_HEAD_MAX])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (int shift = 60; shift >= 0; shift -= 4) {
        unsigned digit = (unsigned)(size >> shift) & 15u;

        if (digit || n > 0) {
            ret[n++] = digits[digit];
        }
    }
    ret[n++] = '\r';
    ret[n++] = '\n';
    return n;
}
