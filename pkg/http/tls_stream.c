/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TLS session as a stream, over another stream (a socket, or memory in tests).
 *
 * Readiness has two sources, and the user of the stream must see level-triggered readiness of plain
 * bytes: the stream below, and bytes that OpenSSL has read but nobody asked for yet. The latter are
 * announced by a deferred call of the loop. `starved` says that those bytes are less than a record,
 * so only the stream below can help.
 *
 * A session may need to read in order to write (handshake) and the other way round (key update):
 * read_want and write_want say what the stream below must offer before the operation can go on.
 */
#include <ctype.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/tls_impl.h"

#define RECORD_MAX 16384 /* plain bytes of one record */
#define DRAIN_READS_MAX 16

typedef enum TlsState {
    TLS_HANDSHAKE,
    TLS_OPEN,
    TLS_REFUSED, /* answered; reading on for a moment, so that the answer is not lost to a reset */
    TLS_BROKEN,  /* `error` says why */
} TlsState;

typedef struct TlsConn {
    HttpStream under;
    HttpStream *over;
    HttpTls *tls;
    SSL *ssl;
    HttpTlsIdentity *identity;
    LoopTimer timer;
    TlsState state;
    int error;
    uint32_t read_want;
    uint32_t write_want;
    size_t pending; /* bytes of a record that the stream below did not take */
    bool dry;       /* the stream below had nothing when last asked */
    bool starved;
    bool first_seen; /* the peer's first byte */
    bool plain;      /* it was a letter: HTTP without TLS */
    bool shut_asked;
    bool shut_sent;
} TlsConn;

static const char plain_reply[] =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    "Content-Length: 48\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

static const HttpStreamOps tls_ops;

static TlsConn *conn_of(const HttpStream *stream)
{
    return stream->ops == &tls_ops ? stream->impl : NULL;
}

/* ---- OpenSSL's way to the stream below ---- */

static int bio_read(BIO *bio, char *buf, size_t len, size_t *ret_n)
{
    TlsConn *conn = BIO_get_data(bio);
    ssize_t n = http_stream_read(&conn->under, buf, len);

    BIO_clear_retry_flags(bio);
    conn->dry = n == -EAGAIN;
    if (conn->dry) {
        BIO_set_retry_read(bio);
    }
    if (n <= 0) {
        return 0;
    }
    if (!conn->first_seen) {
        conn->first_seen = true;
        conn->plain = isalpha((unsigned char)buf[0]) != 0;
    }
    *ret_n = (size_t)n;
    return 1;
}

static int bio_write(BIO *bio, const char *buf, size_t len, size_t *ret_n)
{
    TlsConn *conn = BIO_get_data(bio);
    struct iovec iov = {(void *)(uintptr_t)buf, len};
    /* An alert would garble the answer in plain text. */
    ssize_t n = conn->plain ? (ssize_t)len : http_stream_write(&conn->under, &iov, 1);

    BIO_clear_retry_flags(bio);
    if (n == -EAGAIN) {
        BIO_set_retry_write(bio);
    }
    if (n < 0) {
        return 0;
    }
    *ret_n = (size_t)n;
    return 1;
}

static long bio_ctrl(BIO *bio, int cmd, long num, void *ptr)
{
    const TlsConn *conn = BIO_get_data(bio);

    UNUSED(num);
    UNUSED(ptr);
    if (cmd == BIO_CTRL_EOF) {
        return conn->under.eof;
    }
    return cmd == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_bio_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "stream");

    if (method) {
        BIO_meth_set_read_ex(method, bio_read);
        BIO_meth_set_write_ex(method, bio_write);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
    return method;
}

/* ---- readiness ---- */

/* A read would give something now, whatever the stream below says. */
static bool is_readable(const TlsConn *conn)
{
    switch (conn->state) {
    case TLS_OPEN:
        return conn->over->eof || (!conn->starved && SSL_has_pending(conn->ssl));
    case TLS_BROKEN:
        return true;
    default:
        return false;
    }
}

static uint32_t wanted_below(const TlsConn *conn)
{
    uint32_t interest = conn->over->interest;
    uint32_t events = 0;

    switch (conn->state) {
    case TLS_HANDSHAKE:
        return interest ? conn->read_want : 0;
    case TLS_REFUSED:
        return EPOLLIN;
    case TLS_BROKEN:
        return 0;
    default:
        break;
    }
    if (interest & EPOLLIN) {
        events |= conn->read_want;
    }
    if (interest & EPOLLOUT) {
        events |= conn->write_want;
    }
    if (conn->shut_asked && !conn->shut_sent) {
        events |= EPOLLOUT;
    }
    return events | (interest & EPOLLRDHUP);
}

static uint32_t ready_now(const TlsConn *conn)
{
    uint32_t interest = conn->over->interest;

    if (conn->state == TLS_BROKEN) {
        return interest & (EPOLLIN | EPOLLOUT | EPOLLRDHUP);
    }
    return is_readable(conn) ? interest & EPOLLIN : 0;
}

/* After anything that may have changed what is wanted. */
static int update(TlsConn *conn)
{
    if (ready_now(conn)) {
        loop_defer_post(conn->over->loop, &conn->over->defer);
    } else {
        loop_defer_cancel(&conn->over->defer);
    }
    return http_stream_watch(&conn->under, wanted_below(conn));
}

static void on_deferred(LoopDefer *defer)
{
    HttpStream *over = container_of(defer, HttpStream, defer);
    TlsConn *conn = over->impl;
    uint32_t events = ready_now(conn);

    if (events) {
        loop_defer_post(over->loop, defer); /* level-triggered; a read or close takes it back */
        over->fn(over, events);             /* may have freed the stream */
    }
}

/* ---- the handshake ---- */

static void count(TlsConn *conn, HttpTlsOutcome outcome)
{
    atomic_fetch_add_explicit(&conn->tls->handshakes[outcome], 1, memory_order_relaxed);
}

static int broken(TlsConn *conn, int error)
{
    conn->state = TLS_BROKEN;
    conn->error = error;
    loop_timer_disarm(&conn->timer);
    return error;
}

static void established(TlsConn *conn)
{
    X509 *cert = SSL_get0_peer_certificate(conn->ssl);

    conn->state = TLS_OPEN;
    conn->read_want = EPOLLIN;
    conn->write_want = EPOLLOUT;
    loop_timer_disarm(&conn->timer);
    count(conn, SSL_session_reused(conn->ssl) ? HTTP_TLS_RESUMED : HTTP_TLS_FULL);
    if (cert && SSL_get_verify_result(conn->ssl) == X509_V_OK) {
        conn->identity = tls_identity_new(cert);
    }
}

/* The alert is out (or the answer to plain HTTP goes out here). */
static int refuse(TlsConn *conn)
{
    Loop *loop = conn->over->loop;

    count(conn, conn->plain ? HTTP_TLS_PLAIN_HTTP : HTTP_TLS_FAILED);
    if (conn->under.eof) {
        return broken(conn, -EPROTO);
    }
    if (conn->plain) {
        struct iovec iov = {(void *)(uintptr_t)plain_reply, sizeof(plain_reply) - 1};

        http_stream_write(&conn->under, &iov, 1); /* best effort: the first bytes of a connection */
    }
    http_stream_shutdown(&conn->under);
    conn->state = TLS_REFUSED;
    conn->error = -EPROTO;
    loop_timer_arm(loop, &conn->timer, loop_now(loop) + HTTP_TLS_LINGER_NS);
    return -EAGAIN;
}

/* 0 when the session is open, -EAGAIN, or why it never will be. */
static int handshake(TlsConn *conn)
{
    if (conn->state != TLS_HANDSHAKE) {
        return conn->state == TLS_OPEN ? 0 : conn->state == TLS_REFUSED ? -EAGAIN : conn->error;
    }
    ERR_clear_error();
    int r = SSL_do_handshake(conn->ssl);

    if (r == 1) {
        established(conn);
        return 0;
    }
    switch (SSL_get_error(conn->ssl, r)) {
    case SSL_ERROR_WANT_READ:
        conn->read_want = EPOLLIN;
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        conn->read_want = EPOLLOUT;
        return -EAGAIN;
    default:
        ERR_clear_error();
        return refuse(conn);
    }
}

static void drain(TlsConn *conn)
{
    char buf[4096];
    ssize_t n = 0;

    for (int i = 0; i < DRAIN_READS_MAX; i++) {
        n = http_stream_read(&conn->under, buf, sizeof(buf));
        if (n <= 0) {
            break;
        }
    }
    if (n == 0 || (n < 0 && n != -EAGAIN)) {
        broken(conn, conn->error);
    }
}

static void on_timer(LoopTimer *timer)
{
    TlsConn *conn = container_of(timer, TlsConn, timer);

    if (conn->state == TLS_HANDSHAKE) {
        count(conn, HTTP_TLS_TIMED_OUT);
        broken(conn, -ETIMEDOUT);
    } else {
        broken(conn, conn->error);
    }
    update(conn); /* posts the news */
}

/* ---- operations ---- */

/* What SSL_read or SSL_write could not do. */
static ssize_t failed(TlsConn *conn, int r, uint32_t *want)
{
    switch (SSL_get_error(conn->ssl, r)) {
    case SSL_ERROR_WANT_READ:
        *want = EPOLLIN;
        return -EAGAIN;
    case SSL_ERROR_WANT_WRITE:
        *want = EPOLLOUT;
        return -EAGAIN;
    default:
        ERR_clear_error();
        return broken(conn, conn->under.eof ? -ECONNABORTED : -EPROTO);
    }
}

static ssize_t read_open(TlsConn *conn, void *buf, size_t len)
{
    size_t n = 0;
    int r;

    if (conn->over->eof) {
        return 0;
    }
    ERR_clear_error();
    conn->dry = conn->starved = false;
    r = SSL_read_ex(conn->ssl, buf, len, &n);
    if (r == 1) {
        conn->read_want = EPOLLIN;
        return (ssize_t)n;
    }
    if (SSL_get_error(conn->ssl, r) == SSL_ERROR_ZERO_RETURN) {
        conn->over->eof = true;
        return 0;
    }
    ssize_t error = failed(conn, r, &conn->read_want);

    conn->starved = error == -EAGAIN && conn->dry;
    return error;
}

static ssize_t tls_read(HttpStream *stream, void *buf, size_t len)
{
    TlsConn *conn = stream->impl;
    ssize_t n = handshake(conn);

    if (n == 0) {
        n = read_open(conn, buf, len);
    }
    update(conn);
    return n;
}

/* Small pieces share a record: a head and its body are one system call. */
static Str gather(const struct iovec *iov, int n, char *scratch)
{
    size_t len = 0;

    if (n == 1 || iov[0].iov_len >= RECORD_MAX) {
        return (Str){iov[0].iov_base, iov[0].iov_len < RECORD_MAX ? iov[0].iov_len : RECORD_MAX};
    }
    for (int i = 0; i < n && len < RECORD_MAX; i++) {
        size_t part = iov[i].iov_len < RECORD_MAX - len ? iov[i].iov_len : RECORD_MAX - len;

        memcpy(scratch + len, iov[i].iov_base, part);
        len += part;
    }
    return (Str){scratch, len};
}

/* A record that waits was sealed already: what is given now is its beginning and is not looked at.
 */
static ssize_t write_open(TlsConn *conn, const struct iovec *iov, int n_iov)
{
    char scratch[RECORD_MAX];
    Str bytes = n_iov > 0 ? gather(iov, n_iov, scratch) : STR("");
    size_t n = 0;
    int r;

    if (conn->shut_asked) {
        return -EPIPE;
    }
    if (bytes.len == 0) {
        return 0;
    }
    if (conn->pending > bytes.len) {
        return broken(conn, -EPROTO); /* the caller took back what it had given */
    }
    bytes.len = conn->pending ? conn->pending : bytes.len;
    ERR_clear_error();
    r = SSL_write_ex(conn->ssl, bytes.ptr, bytes.len, &n);
    if (r == 1) {
        conn->pending = 0;
        conn->write_want = EPOLLOUT;
        return (ssize_t)n;
    }
    conn->pending = bytes.len;
    return failed(conn, r, &conn->write_want);
}

static ssize_t tls_write(HttpStream *stream, const struct iovec *iov, int n_iov)
{
    TlsConn *conn = stream->impl;
    ssize_t n = handshake(conn);

    if (n == 0) {
        n = write_open(conn, iov, n_iov);
    }
    update(conn);
    return n;
}

/* close_notify, then FIN. Tried again when the stream below is full. */
static int say_goodbye(TlsConn *conn)
{
    int r = 1;

    if (conn->state == TLS_OPEN && conn->pending == 0) {
        ERR_clear_error();
        r = SSL_shutdown(conn->ssl);
        if (r < 0 && SSL_get_error(conn->ssl, r) == SSL_ERROR_WANT_WRITE) {
            return 0;
        }
        ERR_clear_error();
    }
    conn->shut_sent = true;
    return http_stream_shutdown(&conn->under);
}

static int tls_shutdown(HttpStream *stream)
{
    TlsConn *conn = stream->impl;
    int r = 0;

    if (!conn->shut_asked) {
        conn->shut_asked = true;
        r = say_goodbye(conn);
        update(conn);
    }
    return r;
}

static int tls_watch(HttpStream *stream, uint32_t events)
{
    TlsConn *conn = stream->impl;

    stream->interest = events;
    return update(conn);
}

static void tls_close(HttpStream *stream)
{
    TlsConn *conn = stream->impl;

    if (conn->state == TLS_OPEN && !conn->shut_sent && !stream->cut && conn->pending == 0) {
        ERR_clear_error();
        SSL_shutdown(conn->ssl); /* best effort: nobody waits for it */
        ERR_clear_error();
    }
    loop_timer_disarm(&conn->timer);
    loop_defer_cancel(&stream->defer);
    SSL_free(conn->ssl);
    http_stream_close(&conn->under);
    tls_identity_free(conn->identity);
    http_tls_unref(conn->tls);
    free(conn);
}

static const HttpStreamOps tls_ops = {
    .read = tls_read,
    .write = tls_write,
    .shutdown = tls_shutdown,
    .watch = tls_watch,
    .close = tls_close,
};

/* ---- events from below ---- */

/* False: nothing for the user in it. */
static bool advance(TlsConn *conn, uint32_t events)
{
    bool gone = events & (EPOLLHUP | EPOLLERR);

    if (conn->state == TLS_REFUSED) {
        drain(conn);
    } else if (conn->state == TLS_HANDSHAKE) {
        handshake(conn);
        if (conn->state == TLS_HANDSHAKE && gone) {
            count(conn, HTTP_TLS_FAILED);
            broken(conn, -ECONNRESET);
        }
    }
    return conn->state == TLS_OPEN || conn->state == TLS_BROKEN;
}

static void on_below(HttpStream *under, uint32_t events)
{
    TlsConn *conn = container_of(under, TlsConn, under);
    HttpStream *over = conn->over;
    bool was_open = conn->state == TLS_OPEN;
    uint32_t ready;

    conn->starved = false;
    if (!advance(conn, events)) {
        update(conn);
        return;
    }
    if (conn->shut_asked && !conn->shut_sent) {
        say_goodbye(conn);
    }
    ready = ready_now(conn);
    if (conn->state == TLS_OPEN) {
        ready |= events & (EPOLLHUP | EPOLLERR | (over->interest & EPOLLRDHUP));
        if (!was_open || (events & conn->write_want)) {
            ready |= over->interest & EPOLLOUT;
        }
        if (was_open && (events & conn->read_want)) {
            ready |= over->interest & EPOLLIN;
        }
    }
    update(conn);
    if (ready) {
        over->fn(over, ready);
    }
}

/* ---- set up ---- */

/* NULL: memory. */
static TlsConn *conn_new(HttpTls *tls, Loop *loop)
{
    TlsConn *conn = xcalloc(1, sizeof(*conn));
    BIO *bio = BIO_new(tls->bio_method);

    conn->ssl = tls_ssl_new(tls);
    if (!conn->ssl || !bio) {
        BIO_free(bio);
        SSL_free(conn->ssl);
        free(conn);
        return NULL;
    }
    conn->tls = http_tls_ref(tls);
    conn->read_want = EPOLLIN;
    BIO_set_data(bio, conn);
    BIO_set_init(bio, 1);
    SSL_set_bio(conn->ssl, bio, bio);
    SSL_set_accept_state(conn->ssl);
    loop_timer_init(&conn->timer, on_timer);
    loop_timer_arm(loop, &conn->timer, loop_now(loop) + tls->config.handshake_ns);
    return conn;
}

static void init_over(HttpStream *stream, TlsConn *conn, Loop *loop, HttpStreamFn fn)
{
    conn->over = stream;
    *stream = (HttpStream){.ops = &tls_ops, .loop = loop, .fn = fn, .impl = conn};
    loop_defer_init(&stream->defer, on_deferred);
}

int http_tls_stream_init(HttpStream *stream, HttpTls *tls, Loop *loop, int fd, HttpStreamFn fn)
{
    TlsConn *conn = conn_new(tls, loop);

    if (!conn) {
        close(fd);
        return -ENOMEM;
    }
    http_stream_init_fd(&conn->under, loop, fd, on_below);
    init_over(stream, conn, loop, fn);
    return 0;
}

int http_tls_open(HttpStream *stream, void *ctx, Loop *loop, int fd, HttpStreamFn fn)
{
    return http_tls_stream_init(stream, ctx, loop, fd, fn);
}

int http_tls_stream_init_mem(HttpStream *stream, HttpTls *tls, Loop *loop, HttpMemPair *pair,
                             int end, HttpStreamFn fn)
{
    TlsConn *conn = conn_new(tls, loop);

    if (!conn) {
        return -ENOMEM;
    }
    http_stream_init_mem(&conn->under, loop, pair, end, on_below);
    init_over(stream, conn, loop, fn);
    return 0;
}

/* ---- what was agreed on ---- */

bool http_stream_is_tls(const HttpStream *stream)
{
    return conn_of(stream) != NULL;
}

bool http_tls_is_established(const HttpStream *stream)
{
    const TlsConn *conn = conn_of(stream);

    return conn && conn->state == TLS_OPEN;
}

Str http_tls_alpn(const HttpStream *stream)
{
    const TlsConn *conn = conn_of(stream);
    const unsigned char *name = NULL;
    unsigned int len = 0;

    if (conn && conn->state == TLS_OPEN) {
        SSL_get0_alpn_selected(conn->ssl, &name, &len);
    }
    return name ? (Str){(const char *)name, len} : STR("");
}

const char *http_tls_version(const HttpStream *stream)
{
    const TlsConn *conn = conn_of(stream);

    return conn && conn->state == TLS_OPEN ? SSL_get_version(conn->ssl) : "";
}

bool http_tls_is_resumed(const HttpStream *stream)
{
    const TlsConn *conn = conn_of(stream);

    return conn && conn->state == TLS_OPEN && SSL_session_reused(conn->ssl);
}

const HttpTlsIdentity *http_tls_identity(const HttpStream *stream)
{
    const TlsConn *conn = conn_of(stream);

    return conn ? conn->identity : NULL;
}
