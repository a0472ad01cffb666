/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Private to server.c, conn.c and exchange.c.
 *
 * User callbacks run only from conn_step(), which is deferred work of the loop: API calls change
 * state and post it, so no callback ever runs inside an API call and no object dies under a caller.
 */
#include <netinet/in.h>

#include "base/list.h"
#include "http/acceptor.h"
#include "http/chunk.h"
#include "http/server.h"
#include "http/stream.h"

#define SERVER_LISTENERS_MAX 8

typedef struct HttpConn HttpConn;

typedef struct HttpListener {
    HttpAcceptor acceptor;
    HttpServer *server;
} HttpListener;

struct HttpServer {
    HttpServerConfig config;
    HttpListener listeners[SERVER_LISTENERS_MAX];
    size_t n_listeners;
    List conns;
    size_t n_conns;
    bool draining;
    bool freeing;
    HttpServerDrainedFn drained_fn;
    void *drained_ctx;
    LoopDefer drained;
    int64_t date_s; /* what `date` says */
    char date[32];
};

/* One request and its reply; lives inside its connection, reset between requests. */
struct HttpExchange {
    HttpConn *conn;
    HttpHead head;
    const HttpExchangeOps *ops;
    void *user;
    HttpChunkDecoder chunks;
    uint64_t body_left; /* HTTP_BODY_LENGTH */
    uint64_t body_seen;
    uint64_t body_max;
    uint64_t skipped;
    uint64_t reply_left; /* announced bytes not yet written */
    bool active;
    bool body_done; /* the request body was read to its end */
    bool in_trailers;
    bool end_told; /* on_data(end) was called */
    bool paused;
    bool begun;       /* status line written */
    bool ended;       /* reply complete, maybe still queued */
    bool chunked;     /* reply is chunked */
    bool bodyless;    /* reply to HEAD, 1xx, 204, 304 */
    bool close_after; /* the connection ends with this reply */
    bool was_full;    /* a write said "full" */
    bool in_handler;
};

struct HttpConn {
    HttpStream stream;
    HttpServer *server;
    ListNode node;
    LoopDefer step;
    LoopTimer timer;
    char *in; /* NULL while idle */
    size_t in_len;
    size_t in_cap;
    StrBuf out;
    size_t out_sent;
    size_t head_len;      /* bytes of in[] that x.head points into */
    uint64_t progress_ns; /* last time a byte moved */
    uint64_t head_ns;     /* when the head being read began */
    int error;            /* why it is doomed, 0 = it is not */
    bool eof;             /* client sent FIN */
    bool fresh;           /* no request yet */
    bool lingering;
    bool yield; /* the rest of this step belongs to the next turn of the loop */
    char peer[INET6_ADDRSTRLEN];
    HttpExchange x;
};

/* conn.c */
void http_conn_accept(HttpServer *server, int fd, const char *peer);
void http_conn_post(HttpConn *conn);
void http_conn_doom(HttpConn *conn, int error); /* close soon; on_close gets the error */
void http_conn_destroy(HttpConn *conn, int error);
bool http_conn_is_idle(const HttpConn *conn);

/* exchange.c */
void http_exchange_start(HttpExchange *x); /* head is parsed: reset the rest, call the handler */
/* Delivers or skips body bytes from `in`; moves *in. <0 when the connection was doomed or failed.
 */
int http_exchange_feed(HttpExchange *x, Str *in);
/* Reply with `status` when nothing was sent yet, tell on_close now, close after the flush. */
void http_exchange_fail(HttpExchange *x, int error, int status, const char *detail);
void http_exchange_close(HttpExchange *x, int error); /* on_close, once */

/* server.c */
void http_server_conn_gone(HttpServer *server);
