/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its reply: the API of server.h over a connection's buffers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "http/server_impl.h"
#include "http/status.h"

#define CONTINUE STR("HTTP/1.1 100 Continue\r\n\r\n")

/* ---- request ---- */

void http_exchange_start(HttpExchange *x)
{
    HttpServer *server = x->conn->server;

    x->ops = NULL;
    x->user = NULL;
    http_chunk_init(&x->chunks);
    x->body_left = x->head.content_length;
    x->body_seen = x->skipped = 0;
    x->body_max = server->config.body_max;
    x->body_done = x->in_trailers = x->end_told = x->paused = false;
    x->begun = x->ended = x->chunked = x->bodyless = x->was_full = false;
    x->close_after = !x->head.keep_alive || server->draining;
    x->active = x->in_handler = true;
    server->config.handler(x, server->config.ctx);
    x->in_handler = false;
    if (!x->begun && !x->ops) {
        http_exchange_respond(x, 500, "text/plain", STR("no reply\n"));
    }
}

void http_exchange_close(HttpExchange *x, int error)
{
    const HttpExchangeOps *ops = TAKE(x->ops);

    x->active = false;
    if (ops && ops->on_close) {
        ops->on_close(x, error);
    }
}

void http_exchange_fail(HttpExchange *x, int error, int status, const char *detail)
{
    const HttpExchangeOps *ops = TAKE(x->ops);
    char body[200];

    if (x->begun) {
        http_conn_doom(x->conn, error);
    } else {
        snprintf(body, sizeof(body), "{\"detail\":\"%s\"}\n", detail);
        x->close_after = true;
        http_exchange_respond(x, status, "application/json", str_from(body));
    }
    if (ops && ops->on_close) {
        ops->on_close(x, error);
    }
}

static bool body_wanted(const HttpExchange *x)
{
    return x->ops && x->ops->on_data && !x->ended;
}

/* Hands one decoded piece to whoever wants it, or throws it away. */
static int deliver(HttpExchange *x, Str piece, bool end)
{
    x->body_seen += piece.len;
    if (x->body_max > 0 && x->body_seen > x->body_max && !x->ended) {
        x->body_done = true; /* what still comes is thrown away by the lingering close */
        http_exchange_fail(x, -EFBIG, 413, "Request body is too large.");
        return -EFBIG;
    }
    if (body_wanted(x)) {
        x->end_told |= end;
        x->ops->on_data(x, piece, end);
        return 0;
    }
    x->skipped += piece.len;
    if (x->skipped > HTTP_SERVER_SKIP_MAX) {
        x->close_after = true;
    }
    return 0;
}

static int feed_length(HttpExchange *x, Str *in)
{
    Str piece = str_take(*in, x->body_left < in->len ? (size_t)x->body_left : in->len);

    if (piece.len == 0) {
        return 0;
    }
    *in = str_drop(*in, piece.len);
    x->body_left -= piece.len;
    x->body_done = x->body_left == 0;
    return deliver(x, piece, x->body_done);
}

static int feed_trailers(HttpExchange *x, Str *in)
{
    HttpHead trailers;
    int r;

    http_head_init(&trailers);
    r = http_trailers_parse(&trailers, in->ptr, in->len);
    if (r == 0 && in->len >= x->conn->in_cap - x->conn->head_len) {
        r = -E2BIG; /* they would never fit */
    }
    if (r <= 0) {
        return r;
    }
    *in = str_drop(*in, (size_t)r);
    x->body_done = true;
    return deliver(x, STR(""), true);
}

static int feed_chunked(HttpExchange *x, Str *in)
{
    Str piece;
    int r;

    if (x->in_trailers) {
        return feed_trailers(x, in);
    }
    r = http_chunk_next(&x->chunks, in, &piece);
    if (r == HTTP_CHUNK_DATA) {
        return deliver(x, piece, false);
    }
    if (r == HTTP_CHUNK_LAST) {
        x->in_trailers = true;
        return feed_trailers(x, in);
    }
    return r;
}

static void send_continue(HttpExchange *x)
{
    if (x->head.expect_continue && !x->begun) {
        x->head.expect_continue = false;
        strbuf_append(&x->conn->out, CONTINUE);
        http_conn_post(x->conn);
    }
}

int http_exchange_feed(HttpExchange *x, Str *in)
{
    int r = 0;

    if (x->paused && !x->ended) {
        return 0;
    }
    if (x->head.body == HTTP_BODY_NONE) {
        x->body_done = true;
        return deliver(x, STR(""), true);
    }
    if (x->head.body == HTTP_BODY_LENGTH && x->body_max > 0 && !x->ended &&
        x->head.content_length > x->body_max) {
        x->body_done = true;
        http_exchange_fail(x, -EFBIG, 413, "Request body is too large.");
        return -EFBIG;
    }
    if (in->len == 0) {
        if (body_wanted(x)) {
            send_continue(x);
        } else if (x->ended && x->head.expect_continue) {
            x->close_after = true; /* nobody knows whether the body will come */
        }
        return 0;
    }
    x->head.expect_continue = false;
    r = x->head.body == HTTP_BODY_LENGTH ? feed_length(x, in) : feed_chunked(x, in);
    if (r == -EBADMSG || r == -E2BIG) {
        x->body_done = true;
        x->close_after = true;
        if (!x->ended) {
            http_exchange_fail(x, -EBADMSG, 400, "Malformed request body.");
        }
    }
    return r;
}

const HttpHead *http_exchange_head(const HttpExchange *x)
{
    return &x->head;
}

void http_exchange_set_ops(HttpExchange *x, const HttpExchangeOps *ops, void *user)
{
    x->ops = ops;
    x->user = user;
    http_conn_post(x->conn);
}

void *http_exchange_user(const HttpExchange *x)
{
    return x->user;
}

Str http_exchange_peer(const HttpExchange *x)
{
    return str_from(x->conn->peer);
}

Loop *http_exchange_loop(const HttpExchange *x)
{
    return x->conn->server->config.loop;
}

void http_exchange_limit_body(HttpExchange *x, uint64_t max)
{
    x->body_max = max;
}

void http_exchange_pause(HttpExchange *x)
{
    x->paused = true;
}

void http_exchange_resume(HttpExchange *x)
{
    x->paused = false;
    http_conn_post(x->conn);
}

/* ---- reply ---- */

static const char *date_text(HttpServer *server)
{
    int64_t now = loop_wall_now(server->config.loop) / (int64_t)NS_PER_S;
    time_t seconds = (time_t)now;
    struct tm tm;

    if (server->date_s != now || !server->date[0]) {
        server->date_s = now;
        gmtime_r(&seconds, &tm);
        strftime(server->date, sizeof(server->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    }
    return server->date;
}

static void put(HttpExchange *x, Str bytes)
{
    if (strbuf_append(&x->conn->out, bytes) < 0) {
        http_conn_doom(x->conn, -ENOBUFS);
    }
    http_conn_post(x->conn);
}

static void put_fields(HttpExchange *x, const HttpField *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(http_is_token(fields[i].name));
        if (http_is_field_value(fields[i].value)) { /* else it would split the head: leave it out */
            put(x, fields[i].name);
            put(x, STR(": "));
            put(x, fields[i].value);
            put(x, STR("\r\n"));
        }
    }
}

static void put_head(HttpExchange *x, int status, const HttpField *fields, size_t n,
                     uint64_t length)
{
    StrBuf *out = &x->conn->out;

    CHECK(!x->begun);
    x->begun = true;
    x->close_after |= x->conn->server->draining;
    x->close_after |= x->head.expect_continue; /* a body that was never asked for */
    x->bodyless = x->head.method_id == HTTP_METHOD_HEAD || status == 204 || status == 304;
    x->chunked = length == HTTP_LENGTH_UNKNOWN && x->head.minor > 0 && !x->bodyless;
    x->close_after |= length == HTTP_LENGTH_UNKNOWN && x->head.minor == 0 && !x->bodyless;
    x->reply_left = length;
    strbuf_printf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, http_status_reason(status),
                  date_text(x->conn->server));
    put_fields(x, fields, n);
    if (x->chunked) {
        put(x, STR("Transfer-Encoding: chunked\r\n"));
    } else if (length != HTTP_LENGTH_UNKNOWN && status != 204 && status != 304) {
        strbuf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)length);
    }
    put(x, x->close_after       ? STR("Connection: close\r\n\r\n")
           : x->head.minor == 0 ? STR("Connection: keep-alive\r\n\r\n")
                                : STR("\r\n"));
}

void http_exchange_begin(HttpExchange *x, int status, const HttpField *fields, size_t n,
                         uint64_t content_length)
{
    put_head(x, status, fields, n, content_length);
}

size_t http_exchange_queued(const HttpExchange *x)
{
    return x->conn->out.len - x->conn->out_sent;
}

bool http_exchange_write(HttpExchange *x, Str piece)
{
    char head[HTTP_CHUNK_HEAD_MAX];

    CHECK(x->begun && !x->ended);
    if (piece.len > 0 && !x->bodyless) {
        if (x->chunked) {
            put(x, (Str){head, http_chunk_head(piece.len, head)});
            put(x, piece);
            put(x, STR("\r\n"));
        } else {
            CHECK(piece.len <= x->reply_left); /* more than was announced */
            x->reply_left -= x->reply_left == HTTP_LENGTH_UNKNOWN ? 0 : piece.len;
            put(x, piece);
        }
    }
    x->was_full = http_exchange_queued(x) >= HTTP_SERVER_OUT_HIGH;
    return !x->was_full;
}

void http_exchange_end(HttpExchange *x)
{
    CHECK(x->begun);
    if (x->ended) {
        return;
    }
    x->ended = true;
    if (x->chunked) {
        put(x, HTTP_CHUNK_TAIL);
    } else if (!x->bodyless && x->reply_left != HTTP_LENGTH_UNKNOWN && x->reply_left > 0) {
        http_conn_doom(x->conn, -ECANCELED); /* less than was announced: must not look whole */
    }
    http_conn_post(x->conn);
}

void http_exchange_respond_fields(HttpExchange *x, int status, const HttpField *fields, size_t n,
                                  Str body)
{
    put_head(x, status, fields, n, body.len);
    http_exchange_write(x, body);
    http_exchange_end(x);
}

void http_exchange_respond(HttpExchange *x, int status, const char *content_type, Str body)
{
    HttpField field = {STR("Content-Type"), str_from(content_type)};

    http_exchange_respond_fields(x, status, &field, content_type ? 1 : 0, body);
}

void http_exchange_respond_owned(HttpExchange *x, int status, const HttpField *fields, size_t n,
                                 char *body, size_t len)
{
    http_exchange_respond_fields(x, status, fields, n, (Str){body, len});
    free(body);
}

bool http_exchange_begun(const HttpExchange *x)
{
    return x->begun;
}

void http_exchange_abort(HttpExchange *x)
{
    http_conn_doom(x->conn, -ECANCELED);
}
