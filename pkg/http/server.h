/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Small single-threaded HTTP/1.1 server on a base Loop: health, metrics and the runtime's REST API.
 * Not the router's proxy port, which streams between two sockets and has its own machinery.
 *
 * A connection carries one exchange at a time; the next request of a pipelining client is parsed
 * only after the reply before it is out. The handler is called when a request's head is complete:
 *
 *     static void on_request(HttpExchange *x, void *ctx)
 *     {
 *         http_exchange_respond(x, 200, "text/plain", STR("ok\n"));
 *     }
 *
 * Whoever needs the body or replies later calls http_exchange_set_ops() inside the handler. From
 * then on `on_close` is the last callback for this exchange, called exactly once however it ended;
 * until then x is valid. A handler that neither replies nor sets ops gets a 500 sent for it.
 *
 * Reply: http_exchange_respond*(), or begin, write..., end. A body left unread is read and thrown
 * away (up to HTTP_SERVER_SKIP_MAX, then the connection closes). Replies to HEAD send no body. All
 * calls may be made inside and outside of callbacks, on the loop's thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "http/parse.h"
#include "http/stream.h"

#define HTTP_SERVER_CONNS_MAX 1024 /* default of conns_max */
#define HTTP_SERVER_HEAD_TIMEOUT_NS (10 * NS_PER_S)
#define HTTP_SERVER_IDLE_TIMEOUT_NS (120 * NS_PER_S)
#define HTTP_SERVER_BODY_TIMEOUT_NS                                                                \
    (60 * NS_PER_S) /* no byte of a wanted body, or none taken by the client */
#define HTTP_SERVER_OUT_HIGH (256 * 1024)       /* http_exchange_write says "full" from here on */
#define HTTP_SERVER_OUT_LOW (64 * 1024)         /* on_writable is called below */
#define HTTP_SERVER_OUT_MAX (256 * 1024 * 1024) /* a writer that ignores "full" is cut off here */
#define HTTP_SERVER_LINGER_NS                                                                      \
    (2 * NS_PER_S)                        /* reading on after the last reply, so that it arrives */
#define HTTP_SERVER_SKIP_MAX (256 * 1024) /* unread body that is skipped to keep a connection */
#define HTTP_SERVER_IN_SIZE (16 * 1024)   /* read size, and most bytes of one on_data */
#define HTTP_SERVER_ROUNDS_MAX 16         /* steps of one connection before others get their turn */

typedef struct HttpServer HttpServer;
typedef struct HttpExchange HttpExchange;

typedef void (*HttpHandlerFn)(HttpExchange *x, void *ctx);

typedef struct HttpServerConfig {
    Loop *loop;
    HttpHandlerFn handler;
    void *ctx;
    /* NULL = plain sockets; http_tls_open with an HttpTls that outlives the server = TLS. */
    HttpStreamOpenFn stream_open;
    void *stream_ctx;
    /* 0 = the default above */
    size_t conns_max; /* more are answered 503 and closed */
    uint64_t head_timeout_ns;
    uint64_t idle_timeout_ns;
    uint64_t body_timeout_ns;
    uint64_t body_max; /* bytes of one request body, 0 = unlimited; beyond: 413 */
} HttpServerConfig;

typedef struct HttpField {
    Str name;
    Str value;
} HttpField;

typedef struct HttpExchangeOps {
    /*
     * The next piece of the request body, decoded; `end` comes exactly once, maybe with an empty
     * piece. Pieces are borrowed for the call. NULL when the body is not wanted.
     */
    void (*on_data)(HttpExchange *x, Str piece, bool end);
    /* After a write said "full": there is room again. At most once in a turn of the loop, so that a
     * client that reads as fast as we write leaves the others theirs. May be NULL. */
    void (*on_writable)(HttpExchange *x);
    /*
     * Last call. 0: the reply went out whole. Negative: the client is gone (-ECONNRESET), it took
     * too long (-ETIMEDOUT), sent a broken (-EBADMSG) or too large (-EFBIG) body, the exchange was
     * aborted or the server freed (-ECANCELED). Work for this client must stop now. May be NULL.
     */
    void (*on_close)(HttpExchange *x, int error);
} HttpExchangeOps;

/* ---- server ---- */

HttpServer *http_server_new(const HttpServerConfig *config);
/* May be called several times. ":8080", "127.0.0.1:0", "[::1]:9090". */
int http_server_listen(HttpServer *server, Str address, Err *reterr);
uint16_t http_server_port(const HttpServer *server); /* of the first listener */
size_t http_server_conns(const HttpServer *server);

typedef void (*HttpServerDrainedFn)(HttpServer *server, void *ctx);
/*
 * Stops listening, closes idle connections, lets running exchanges finish (their replies say
 * "Connection: close") and calls fn once when none is left, at once included. No time limit here:
 * free the server when patience ends. fn may free the server.
 */
void http_server_drain(HttpServer *server, HttpServerDrainedFn fn, void *ctx);
/* Closes everything (on_close with -ECANCELED). NULL is fine; returns NULL. */
HttpServer *http_server_free(HttpServer *server);

/* ---- request ---- */

const HttpHead *http_exchange_head(const HttpExchange *x); /* valid until on_close */
void http_exchange_set_ops(HttpExchange *x, const HttpExchangeOps *ops, void *user);
void *http_exchange_user(const HttpExchange *x);
Str http_exchange_peer(const HttpExchange *x); /* numeric address of the client */
Loop *http_exchange_loop(const HttpExchange *x);
/* Inside the handler: another limit than body_max for this request's body, 0 = unlimited. */
void http_exchange_limit_body(HttpExchange *x, uint64_t max);
/* Back-pressure on the body: after pause no on_data until resume. */
void http_exchange_pause(HttpExchange *x);
void http_exchange_resume(HttpExchange *x);

/* ---- reply ---- */

/* A whole reply. content_type NULL = no body type (body empty). The body is copied. */
void http_exchange_respond(HttpExchange *x, int status, const char *content_type, Str body);
/* The same with fields of your own; Content-Length, Date and Connection are the server's. */
void http_exchange_respond_fields(HttpExchange *x, int status, const HttpField *fields, size_t n,
                                  Str body);
/* As respond_fields, but takes the malloc'ed body, which may be large. */
void http_exchange_respond_owned(HttpExchange *x, int status, const HttpField *fields, size_t n,
                                 char *body, size_t len);

#define HTTP_LENGTH_UNKNOWN UINT64_MAX /* chunked; until close for HTTP/1.0 clients */

/* Head of a streamed reply. */
void http_exchange_begin(HttpExchange *x, int status, const HttpField *fields, size_t n,
                         uint64_t content_length);
/*
 * Sends or queues a copy. False = the queue is at HTTP_SERVER_OUT_HIGH: stop until on_writable.
 * What was given is never lost. Empty pieces do nothing.
 */
bool http_exchange_write(HttpExchange *x, Str piece);
void http_exchange_end(HttpExchange *x);
bool http_exchange_begun(const HttpExchange *x); /* a status line was written */
size_t http_exchange_queued(const HttpExchange *x);
/* Closes the connection now: the client sees a truncated reply, on_close gets -ECANCELED. */
void http_exchange_abort(HttpExchange *x);
