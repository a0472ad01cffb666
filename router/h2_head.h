/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Between HTTP/2 fields and HTTP/1.1 heads. Fields of one block are collected, checked one by one
 * and written as an HTTP/1.1 head, which the strict parser then reads as if it had come that way:
 * what it refuses is refused for HTTP/2 too, and no byte of a field can become structure. The other
 * way a parsed head becomes name and value pairs. Pure, but for the key of a WebSocket handshake.
 *
 * Checked here, beside what the library checks (RFC 9113 8.2, 8.3): names are lower-case tokens;
 * values have no control bytes; no field that belongs to a connection; each pseudo field once,
 * known, and before all others; Host says what :authority says; cookies become one field
 * (8.2.3).
 */
#include <nghttp2/nghttp2.h>

#include "http/parse.h"
#include "router/buf.h"

#define H2_HEAD_NV_MAX (HTTP_HEADERS_MAX + 8) /* pairs of one head, pseudo fields included */

enum {
    H2_HEAD_METHOD,
    H2_HEAD_SCHEME,
    H2_HEAD_AUTHORITY,
    H2_HEAD_PATH,
    H2_HEAD_PROTOCOL, /* extended CONNECT (RFC 8441) */
    H2_HEAD_STATUS,
    H2_HEAD_PSEUDO_MAX_,
};

/* A block being collected. Empty buffers between blocks. */
typedef struct H2Head {
    Buf fields; /* field lines */
    Buf cookie; /* value of the one Cookie field */
    Buf pseudo; /* values of pseudo fields, one after another */
    struct {
        uint32_t at;
        uint32_t len;
        bool set;
    } parts[H2_HEAD_PSEUDO_MAX_];
    size_t size; /* as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    size_t count;
    bool has_length;
    bool has_host;
    int error; /* first one, sticky */
    const char *text;
} H2Head;

void h2_head_clear(H2Head *head, BufPool *pool);
/* Failures are kept in head->error: -EBADMSG (400), -E2BIG (431). Pseudo fields are refused when
 * `trailers`. */
void h2_head_add(H2Head *head, BufPool *pool, Str name, Str value, bool trailers);
/* The library's callback for a field it finds malformed, which would else be left out silently: the
 * stream is reset. */
int h2_head_on_invalid(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags,
                       void *ctx);
/* Appends the head of a request to `out`. ended: no body follows. 0, or head->error, or -EOPNOTSUPP
 * (501); head->text says why. */
int h2_head_request(H2Head *head, BufPool *pool, bool ended, Buf *out);
/* The block is the head of a 1xx. */
bool h2_head_is_interim(const H2Head *head);
/* Appends the head of a response. */
int h2_head_response(H2Head *head, BufPool *pool, Buf *out);
/* Appends field lines and the empty line. */
int h2_head_trailers(H2Head *head, BufPool *pool, Buf *out);

/* Pairs of a response, of a request, of trailers. They point into `head` and `status`. Returns how
 * many of the H2_HEAD_NV_MAX were used. */
size_t h2_head_response_nv(const HttpHead *head, bool upgraded, char status[3], nghttp2_nv *nv);
size_t h2_head_request_nv(const HttpHead *head, nghttp2_nv *nv);
size_t h2_head_trailers_nv(const HttpHead *trailers, nghttp2_nv *nv);
