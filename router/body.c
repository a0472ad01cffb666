/* SPDX-License-Identifier: Apache-2.0 */
/* See body.h. */
#include "router/body.h"

#include <errno.h>

#define CHUNK_OVERHEAD (HTTP_CHUNK_HEAD_MAX + 2)

void body_init(Body *body, HttpBody in, uint64_t length, bool chunked, uint64_t max)
{
    *body = (Body){.in = in, .chunked = chunked, .max = max, .left = length};
    body->done = in == HTTP_BODY_NONE;
    http_chunk_init(&body->dec);
}

/* Bytes of payload that fit into the output now. */
static size_t payload_room(const Body *body, BufPool *pool, Buf *out)
{
    size_t overhead = body->chunked ? CHUNK_OVERHEAD : 0;
    size_t room;

    if (body->discard) {
        return SIZE_MAX;
    }
    if (!out->ptr && buf_reserve(pool, out, 1) < 0) {
        return 0;
    }
    room = buf_room(out);
    return room > overhead ? room - overhead : 0;
}

static int put(Body *body, BufPool *pool, Buf *out, Str piece)
{
    char head[HTTP_CHUNK_HEAD_MAX];
    int r = 0;

    body->total += piece.len;
    if (body->max > 0 && body->total > body->max) {
        return -EFBIG;
    }
    if (body->discard || piece.len == 0) {
        return 0;
    }
    if (body->chunked) {
        r = buf_append(pool, out, (Str){head, http_chunk_head(piece.len, head)});
    }
    if (r == 0) {
        r = buf_append(pool, out, piece);
    }
    if (r == 0 && body->chunked) {
        r = buf_append(pool, out, STR("\r\n"));
    }
    return r;
}

/* Ends the outgoing framing. */
static int finish(Body *body, BufPool *pool, Buf *out)
{
    body->done = true;
    if (body->chunked && !body->discard) {
        int r = buf_append(pool, out, HTTP_CHUNK_TAIL);

        return r < 0 ? r : BODY_DONE;
    }
    return BODY_DONE;
}

static int put_trailers(const HttpHead *trailers, BufPool *pool, Buf *out)
{
    int r = buf_append(pool, out, STR("0\r\n"));

    for (size_t i = 0; r == 0 && i < trailers->n_headers; i++) {
        const HttpHeader *field = &trailers->headers[i];

        if (http_token_flags(field->id) & (HTTP_TOKEN_HOP | HTTP_TOKEN_ROUTING)) {
            continue;
        }
        r = buf_append(pool, out, field->name);
        r = r < 0 ? r : buf_append(pool, out, STR(": "));
        r = r < 0 ? r : buf_append(pool, out, field->value);
        r = r < 0 ? r : buf_append(pool, out, STR("\r\n"));
    }
    return r < 0 ? r : buf_append(pool, out, STR("\r\n"));
}

/* Where they go depends on the framing the body leaves in. */
static int pass_trailers(Body *body, const HttpHead *trailers, BufPool *pool, Buf *out)
{
    if (body->discard) {
        return 0;
    }
    if (body->chunked) {
        return put_trailers(trailers, pool, out);
    }
    return body->on_trailers ? body->on_trailers(body->ctx, trailers) : 0;
}

static int move_trailers(Body *body, BufPool *pool, Buf *in, Buf *out)
{
    HttpHead trailers;
    Str text = buf_str(in);
    int n;

    if (text.len == 0) {
        return BODY_MORE;
    }
    http_head_init(&trailers);
    n = http_trailers_parse(&trailers, text.ptr, text.len);
    if (n < 0 || n > BODY_TRAILERS_MAX || (n == 0 && text.len >= BODY_TRAILERS_MAX)) {
        return n < 0 ? n : -E2BIG;
    }
    if (n == 0) {
        return BODY_MORE;
    }
    /* A field may grow by two bytes ("a:b" -> "a: b" CRLF), so twice is always enough. */
    if (body->chunked && payload_room(body, pool, out) < 2 * (size_t)n + 8 && buf_len(out) > 0) {
        return BODY_FULL;
    }
    int r = pass_trailers(body, &trailers, pool, out);

    if (r < 0) {
        return r;
    }
    buf_consume(in, (size_t)n);
    body->done = true;
    return BODY_DONE;
}

static int move_chunked(Body *body, BufPool *pool, Buf *in, Buf *out)
{
    while (!body->trailing) {
        size_t room = payload_room(body, pool, out);
        Str text = str_take(buf_str(in), room);
        Str rest = text;
        Str piece = STR_NULL;
        int r;

        if (room == 0) {
            return BODY_FULL;
        }
        if (text.len == 0) {
            return BODY_MORE;
        }
        r = http_chunk_next(&body->dec, &rest, &piece);
        if (r == HTTP_CHUNK_DATA) {
            int failed = put(body, pool, out, piece);

            if (failed < 0) {
                return failed;
            }
        }
        if (r < 0) {
            return r;
        }
        buf_consume(in, text.len - rest.len);
        body->trailing = r == HTTP_CHUNK_LAST;
    }
    return move_trailers(body, pool, in, out);
}

int body_move(Body *body, BufPool *pool, Buf *in, Buf *out)
{
    while (!body->done && body->in != HTTP_BODY_CHUNKED) {
        size_t room = payload_room(body, pool, out);
        Str piece = str_take(buf_str(in), room);
        int r;

        if (body->in == HTTP_BODY_LENGTH && piece.len > body->left) {
            piece.len = (size_t)body->left;
        }
        if (piece.len == 0) {
            return buf_len(in) == 0 ? BODY_MORE : BODY_FULL;
        }
        r = put(body, pool, out, piece);
        if (r < 0) {
            return r;
        }
        buf_consume(in, piece.len);
        if (body->in == HTTP_BODY_LENGTH) {
            body->left -= piece.len;
            if (body->left == 0) {
                return finish(body, pool, out);
            }
        }
    }
    return body->done ? BODY_DONE : move_chunked(body, pool, in, out);
}

int body_end(Body *body, BufPool *pool, Str trailers, Buf *out)
{
    HttpHead head;
    int n;

    if (body->done) {
        return BODY_DONE;
    }
    if (body->in != HTTP_BODY_EOF) {
        return -EPIPE;
    }
    if (trailers.len == 0) {
        return finish(body, pool, out);
    }
    http_head_init(&head);
    n = http_trailers_parse(&head, trailers.ptr, trailers.len);
    if (n != (int)trailers.len) {
        return n < 0 ? n : -EBADMSG;
    }
    body->done = true;
    n = pass_trailers(body, &head, pool, out);
    return n < 0 ? n : BODY_DONE;
}
