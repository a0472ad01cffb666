/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server connection: bytes in, bytes out, time limits, and the order of things. conn_step() moves
 * the connection as far as its bytes allow: flush, body, end of reply, next head.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "http/server_impl.h"

#define CONN_ROOM_MIN 4096 /* free bytes wanted behind a head */
#define CONN_IN_MAX (HTTP_HEAD_MAX + HTTP_SERVER_IN_SIZE)
#define CONN_OUT_KEEP 16384 /* a larger output buffer is given back when empty */

static void conn_step(HttpConn *conn);

static uint64_t conn_now(const HttpConn *conn)
{
    return loop_now(conn->server->config.loop);
}

void http_conn_post(HttpConn *conn)
{
    loop_defer_post(conn->server->config.loop, &conn->step);
}

void http_conn_doom(HttpConn *conn, int error)
{
    if (conn->error == 0) {
        conn->error = error;
    }
    http_conn_post(conn);
}

bool http_conn_is_idle(const HttpConn *conn)
{
    return !conn->x.active && conn->in_len == 0 && conn->out.len == 0;
}

void http_conn_destroy(HttpConn *conn, int error)
{
    HttpServer *server = conn->server;

    conn->stream.cut = conn->x.active && (!conn->x.ended || conn->out.len > 0);
    http_exchange_close(&conn->x, error);
    loop_timer_disarm(&conn->timer);
    loop_defer_cancel(&conn->step);
    http_stream_close(&conn->stream);
    list_remove(&conn->node);
    strbuf_deinit(&conn->out);
    free(conn->in);
    free(conn);
    http_server_conn_gone(server);
}

/* ---- bytes ---- */

/* Makes room behind the bytes that are there. Only while no head points into the buffer. */
static void conn_reserve(HttpConn *conn)
{
    size_t want = conn->in_len + CONN_ROOM_MIN;

    if (conn->x.active || conn->in_cap >= want) {
        return;
    }
    want = want < HTTP_SERVER_IN_SIZE ? HTTP_SERVER_IN_SIZE : want * 2;
    conn->in_cap = want > CONN_IN_MAX ? CONN_IN_MAX : want;
    conn->in = xrealloc(conn->in, conn->in_cap);
}

static void conn_read(HttpConn *conn)
{
    ssize_t n;

    conn_reserve(conn);
    if (conn->in_len == conn->in_cap) {
        return;
    }
    n = http_stream_read(&conn->stream, conn->in + conn->in_len, conn->in_cap - conn->in_len);
    if (n > 0) {
        /* With the first byte, not with readiness: a part of a TLS record is no head yet. */
        conn->head_ns = conn->in_len == 0 ? conn_now(conn) : conn->head_ns;
        conn->in_len += (size_t)n;
        conn->progress_ns = conn->lingering ? conn->progress_ns : conn_now(conn);
    } else if (n == 0) {
        conn->eof = true;
    } else if (n != -EAGAIN) {
        http_conn_doom(conn, -ECONNRESET);
    }
}

static void conn_flush(HttpConn *conn)
{
    while (conn->out_sent < conn->out.len) {
        struct iovec iov = {conn->out.ptr + conn->out_sent, conn->out.len - conn->out_sent};
        ssize_t n = http_stream_write(&conn->stream, &iov, 1);

        if (n == -EAGAIN) {
            break;
        }
        if (n < 0) {
            http_conn_doom(conn, -ECONNRESET);
            return;
        }
        conn->out_sent += (size_t)n;
        conn->progress_ns = conn_now(conn);
    }
    if (conn->out_sent == conn->out.len) {
        conn->out_sent = 0;
        strbuf_clear(&conn->out);
        if (conn->out.cap > CONN_OUT_KEEP) {
            strbuf_deinit(&conn->out);
            strbuf_init(&conn->out, HTTP_SERVER_OUT_MAX);
        }
    } else if (conn->out_sent > HTTP_SERVER_OUT_LOW) {
        strbuf_consume(&conn->out, conn->out_sent);
        conn->out_sent = 0;
    }
}

/* Drops the first n bytes after `at`. */
static void conn_drop(HttpConn *conn, size_t at, size_t n)
{
    memmove(conn->in + at, conn->in + at + n, conn->in_len - at - n);
    conn->in_len -= n;
}

/* ---- states ---- */

static void conn_linger(HttpConn *conn)
{
    conn->lingering = true;
    conn->progress_ns = conn_now(conn);
    conn->in_len = 0;
    http_stream_shutdown(&conn->stream);
}

/* A head that cannot be answered by the handler. */
static void conn_refuse(HttpConn *conn, int status, const char *detail)
{
    conn->x.active = true;
    conn->x.ops = NULL;
    conn->x.body_done = true;
    conn->x.begun = conn->x.ended = false;
    conn->head_len = conn->in_len;
    http_exchange_fail(&conn->x, -EBADMSG, status, detail);
}

/* A large head may leave no room for the body behind it: move it and read it again. */
static int conn_widen(HttpConn *conn, int head_len)
{
    if (conn->in_cap - (size_t)head_len >= CONN_ROOM_MIN) {
        return head_len;
    }
    conn->in_cap = (size_t)head_len + HTTP_SERVER_IN_SIZE;
    conn->in = xrealloc(conn->in, conn->in_cap);
    http_head_init(&conn->x.head);
    return http_request_parse(&conn->x.head, conn->in, conn->in_len);
}

static bool conn_next_head(HttpConn *conn)
{
    int r;

    if (conn->out.len > 0) {
        return false;
    }
    if (conn->in_len == 0 || conn->eof) {
        if (conn->eof && conn->in_len == 0) {
            http_conn_doom(conn, -ECONNRESET);
        }
        if (conn->in_len == 0) {
            free(TAKE(conn->in));
            conn->in_cap = 0;
            return false;
        }
    }
    r = http_request_parse(&conn->x.head, conn->in, conn->in_len);
    if (r < 0) {
        conn_refuse(conn, http_parse_status(r), conn->x.head.error);
        return true;
    }
    if (r == 0) {
        if (conn->eof) {
            http_conn_doom(conn, -ECONNRESET);
        }
        return false;
    }
    conn->head_len = (size_t)conn_widen(conn, r);
    conn->fresh = false;
    http_exchange_start(&conn->x);
    return true;
}

/* The reply is out. */
static void conn_finish_exchange(HttpConn *conn)
{
    bool closing = conn->x.close_after || conn->eof || conn->server->draining;
    bool unread = !conn->x.body_done;

    http_exchange_close(&conn->x, 0);
    conn_drop(conn, 0, conn->head_len);
    conn->head_len = 0;
    conn->head_ns = conn_now(conn);
    http_head_init(&conn->x.head);
    if (!closing && !unread) {
        return;
    }
    if (conn->eof) {
        http_conn_doom(conn, -ECONNRESET);
    } else {
        conn_linger(conn);
    }
}

static bool conn_feed(HttpConn *conn)
{
    Str in = {conn->in + conn->head_len, conn->in_len - conn->head_len};
    size_t had = in.len;
    bool was_done = conn->x.body_done;
    int r;

    if (was_done) {
        return false;
    }
    r = http_exchange_feed(&conn->x, &in);
    conn_drop(conn, conn->head_len, had - in.len);
    return r < 0 || in.len != had || conn->x.body_done != was_done;
}

static bool conn_exchange(HttpConn *conn)
{
    HttpExchange *x = &conn->x;

    if (conn_feed(conn)) {
        return true;
    }
    if (x->was_full && conn->out.len - conn->out_sent < HTTP_SERVER_OUT_LOW && !x->ended) {
        x->was_full = false;
        if (x->ops && x->ops->on_writable) {
            x->ops->on_writable(x);
            conn->yield = true;
            return true;
        }
    }
    if (x->ended && conn->out.len == 0) {
        bool skip = !x->body_done && !x->close_after && !conn->eof;

        if (!skip) {
            conn_finish_exchange(conn);
            return true;
        }
    } else if (conn->eof && !x->ended && (conn->in_len == conn->head_len || !x->paused)) {
        http_conn_doom(conn, -ECONNRESET);
    }
    return false;
}

static bool conn_advance(HttpConn *conn)
{
    if (conn->lingering) {
        conn->in_len = 0;
        if (conn->eof) {
            http_conn_doom(conn, -ECONNRESET);
        }
        return false;
    }
    return conn->x.active ? conn_exchange(conn) : conn_next_head(conn);
}

/* ---- time ---- */

static uint64_t conn_deadline(const HttpConn *conn)
{
    const HttpServerConfig *config = &conn->server->config;
    const HttpExchange *x = &conn->x;

    if (conn->lingering) {
        return conn->progress_ns + HTTP_SERVER_LINGER_NS;
    }
    if (conn->out.len > 0) {
        return conn->progress_ns + config->body_timeout_ns;
    }
    if (!x->active) {
        return conn->in_len > 0 || conn->fresh ? conn->head_ns + config->head_timeout_ns
                                               : conn->progress_ns + config->idle_timeout_ns;
    }
    return !x->body_done && !x->paused ? conn->progress_ns + config->body_timeout_ns : LOOP_NEVER;
}

static void conn_timeout(LoopTimer *timer)
{
    HttpConn *conn = container_of(timer, HttpConn, timer);

    if (!conn->lingering && !conn->x.active && conn->in_len > 0) {
        conn_refuse(conn, 408, "The request head did not arrive in time.");
        http_conn_post(conn);
        return;
    }
    http_conn_destroy(conn, -ETIMEDOUT);
}

static void conn_rearm(HttpConn *conn)
{
    uint64_t deadline = conn_deadline(conn);
    uint32_t events = 0;

    if (deadline == LOOP_NEVER) {
        loop_timer_disarm(&conn->timer);
    } else {
        loop_timer_arm(conn->server->config.loop, &conn->timer, deadline);
    }
    if (!conn->eof && (!conn->x.active || conn->in_len < conn->in_cap)) {
        events |= EPOLLIN;
    }
    if (conn->out.len > 0) {
        events |= EPOLLOUT;
    }
    if (http_stream_watch(&conn->stream, events) < 0) {
        http_conn_doom(conn, -ECONNRESET);
    }
}

/* ---- driving ---- */

static void conn_step(HttpConn *conn)
{
    bool more = true;

    conn->yield = false;
    for (int round = 0; more && !conn->yield && conn->error == 0; round++) {
        conn->yield = round == HTTP_SERVER_ROUNDS_MAX;
        conn_flush(conn);
        if (conn->error == 0) {
            size_t queued = conn->out.len;

            more = conn_advance(conn);
            more |= conn->out.len != queued;
        }
    }
    if (conn->error != 0) {
        http_conn_destroy(conn, conn->error);
        return;
    }
    if (more) {
        http_conn_post(conn);
    } else {
        loop_defer_cancel(&conn->step);
    }
    conn_rearm(conn);
}

static void conn_deferred(LoopDefer *defer)
{
    conn_step(container_of(defer, HttpConn, step));
}

static void conn_ready(HttpStream *stream, uint32_t events)
{
    HttpConn *conn = container_of(stream, HttpConn, stream);

    if (events & EPOLLIN) {
        conn_read(conn);
    }
    if (events & (EPOLLHUP | EPOLLERR)) {
        http_conn_doom(conn, -ECONNRESET);
    }
    if (!list_node_is_linked(&conn->step.node)) { /* else it comes at the end of this turn */
        conn_step(conn);
    }
}

static int conn_open(HttpConn *conn, int fd)
{
    const HttpServerConfig *config = &conn->server->config;

    if (config->stream_open) {
        return config->stream_open(&conn->stream, config->stream_ctx, config->loop, fd, conn_ready);
    }
    http_stream_init_fd(&conn->stream, config->loop, fd, conn_ready);
    return 0;
}

void http_conn_accept(HttpServer *server, int fd, const char *peer)
{
    HttpConn *conn = xcalloc(1, sizeof(*conn));
    Loop *loop = server->config.loop;

    conn->server = server;
    conn->x.conn = conn;
    conn->fresh = true;
    conn->head_ns = conn->progress_ns = loop_now(loop);
    strbuf_init(&conn->out, HTTP_SERVER_OUT_MAX);
    memcpy(conn->peer, peer, strlen(peer) + 1);
    http_head_init(&conn->x.head);
    loop_defer_init(&conn->step, conn_deferred);
    loop_timer_init(&conn->timer, conn_timeout);
    if (conn_open(conn, fd) < 0) {
        free(conn);
        return;
    }
    list_push_back(&server->conns, &conn->node);
    server->n_conns++;
    conn_rearm(conn);
}
