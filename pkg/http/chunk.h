/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Chunked transfer coding (RFC 9112 7.1). The decoder is a state machine over any split of the
 * input and never copies: it hands out slices of what it was given. It ends after the line of the
 * last chunk; the trailer section that follows is http_trailers_parse()'s.
 *
 *     while ((r = http_chunk_next(&dec, &in, &data)) == HTTP_CHUNK_DATA) { use(data); }
 */
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define HTTP_CHUNK_DIGITS_MAX 16 /* hex digits of a size, leading zeros included */
#define HTTP_CHUNK_EXT_MAX 256   /* bytes of extensions in one chunk line */

enum {
    HTTP_CHUNK_MORE = 0, /* input is used up */
    HTTP_CHUNK_DATA = 1, /* *ret_data is a piece of the body: call again */
    HTTP_CHUNK_LAST = 2, /* the last chunk's line is over; trailers follow in *in */
};

typedef struct HttpChunkDecoder {
    int state;
    int digits;
    uint32_t ext;
    uint64_t left;  /* bytes of this chunk still to come */
    uint64_t total; /* body bytes handed out so far */
} HttpChunkDecoder;

void http_chunk_init(HttpChunkDecoder *dec);
/* Moves *in past what was used. -EBADMSG on a malformed line, -E2BIG on an over-long one. */
int http_chunk_next(HttpChunkDecoder *dec, Str *in, Str *ret_data);

#define HTTP_CHUNK_HEAD_MAX 18 /* "<16 hex>\r\n" */
#define HTTP_CHUNK_TAIL STR("0\r\n\r\n")

/* Writes "<size>\r\n" and returns its length. The caller adds the data and "\r\n". size > 0. */
size_t http_chunk_head(uint64_t size, char ret[HTTP_CHUNK_HEAD_MAX]);
