/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What changes in a head on its way through. Method, path and query go on byte for byte, fields
 * keep their order, spelling and value; only what belongs to one connection, to routing or to
 * forwarding is taken out or replaced. Pure: a parsed head in, bytes out.
 */
#include <stdbool.h>

#include "http/parse.h"
#include "router/buf.h"

typedef struct RewriteRequest {
    Str host;        /* Host of the target */
    Str peer;        /* numeric address of the client */
    bool https;      /* it came by TLS */
    bool upgrade;    /* the request asks for another protocol and may get it */
    Str traceparent; /* instead of the client's; empty: fields of tracing go on as they are */
    bool drop_state; /* with traceparent: tracestate does not go on */
} RewriteRequest;

/* -E2BIG when the head does not fit into a buffer. */
int rewrite_request(const HttpHead *head, const RewriteRequest *options, BufPool *pool, Buf *out);

typedef struct RewriteResponse {
    bool chunked;    /* the body leaves chunked */
    bool close;      /* say "Connection: close" */
    bool keep_alive; /* say "Connection: keep-alive", which HTTP/1.0 clients need to hear */
    bool upgrade;    /* 101: keep Upgrade and say "Connection: Upgrade" */
} RewriteResponse;

int rewrite_response(const HttpHead *head, const RewriteResponse *options, BufPool *pool, Buf *out);
/* Fields of a reply that are not copied: they belong to one connection or are written anew. */
bool rewrite_response_drops(const HttpHead *head, const HttpHeader *field);
