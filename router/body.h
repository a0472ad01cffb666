/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One direction of a body: takes it out of the framing it came in and puts it into the framing it
 * leaves in, from one bounded buffer into another. Never holds a byte itself, so back-pressure is
 * simply a full output buffer. The result does not depend on how the input was split.
 */
#include <stdbool.h>
#include <stdint.h>

#include "http/chunk.h"
#include "http/parse.h"
#include "router/buf.h"

#define BODY_TRAILERS_MAX (8 * 1024) /* must fit into one block together with a chunk */

enum {
    BODY_MORE = 0, /* wants more input */
    BODY_FULL = 1, /* wants room in the output */
    BODY_DONE = 2, /* complete, the end of its framing included */
};

/* Trailers of a body that leaves without framing. 0 or -errno, which ends the body. */
typedef int (*BodyTrailersFn)(void *ctx, const HttpHead *trailers);

typedef struct Body {
    HttpBody in;   /* framing it comes in */
    bool chunked;  /* framing it leaves in: chunked, or plain bytes */
    bool discard;  /* read on, but write nothing */
    bool trailing; /* the last chunk is over, trailers follow */
    bool done;
    uint64_t left; /* HTTP_BODY_LENGTH */
    uint64_t total;
    uint64_t max; /* 0 = unlimited */
    HttpChunkDecoder dec;
    BodyTrailersFn on_trailers; /* NULL: they are dropped when the body leaves as plain bytes */
    void *ctx;
} Body;

void body_init(Body *body, HttpBody in, uint64_t length, bool chunked, uint64_t max);
/* -EBADMSG malformed, -E2BIG trailers too long, -EFBIG more than max. */
int body_move(Body *body, BufPool *pool, Buf *in, Buf *out);
/*
 * The peer has ended its side: BODY_DONE when that ends this body, else -EPIPE (it is truncated).
 * trailers: field lines with the empty line that came apart from the body, maybe none; errors as
 * above.
 */
int body_end(Body *body, BufPool *pool, Str trailers, Buf *out);
