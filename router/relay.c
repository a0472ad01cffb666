/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two directions of one exchange. Each is: read into a buffer, move through the framing into
 * the other side's buffer, write. A direction that cannot write does not read, so at most three
 * blocks are held for a body of any size.
 */
#include <errno.h>
#include <sys/uio.h>

#include "router/call.h"
#include "router/exchange.h"
#include "router/h2_back.h"
#include "router/rewrite.h"

/* ---- towards the sandbox ---- */

/* Head first, then body, in one system call. */
static ssize_t write_back(Exchange *x)
{
    Str head = str_drop(buf_str(&x->head), x->head_sent);
    Str out = buf_str(&x->back->out);
    struct iovec iov[2];
    int n = 0;

    if (head.len > 0) {
        iov[n++] = (struct iovec){(void *)(uintptr_t)head.ptr, head.len};
    }
    if (out.len > 0) {
        iov[n++] = (struct iovec){(void *)(uintptr_t)out.ptr, out.len};
    }
    return n > 0 ? http_stream_write(&x->back->stream, iov, n) : -EAGAIN;
}

/* The head as it was rewritten becomes the request, once; payload follows from back->out. */
static bool flush_h2(Exchange *x)
{
    HttpHead *head = &x->worker->head;
    Str text = buf_str(&x->head);

    if (x->head_sent < text.len) {
        x->head_hot = false;
        http_head_init(head);
        if (http_request_parse(head, text.ptr, text.len) > 0) { /* written by rewrite.c: always */
            h2_back_submit(x->back, head, x->req.in != HTTP_BODY_NONE);
        }
        x->head_sent = text.len;
    }
    size_t unsent = buf_len(&x->back->out);
    bool moved = h2_back_flush(x->back, x->req.done);

    if (buf_len(&x->back->out) < unsent) { /* answers to pings are no progress */
        x->sent_ns = x->progress_ns = exchange_now(x);
    }
    return moved;
}

bool exchange_flush_back(Exchange *x)
{
    if (x->back->h2) {
        return flush_h2(x);
    }
    size_t head_left = buf_len(&x->head) - x->head_sent;
    ssize_t n = x->req_dead ? -EAGAIN : write_back(x);

    if (n == -EAGAIN) {
        return false;
    }
    if (n < 0) {
        /* The sandbox takes no more, but it may have answered before it closed: read on. */
        x->req_dead = true;
        if (x->head_sent > 0) { /* else all of it may still go out on another connection */
            x->req.discard = true;
            buf_release(&x->worker->bufs, &x->back->out);
        }
        back_read(x->back);
        return true;
    }
    x->sent_ns = x->progress_ns = exchange_now(x);
    if ((size_t)n <= head_left) {
        x->head_sent += (size_t)n;
    } else {
        x->head_sent += head_left;
        buf_consume(&x->back->out, (size_t)n - head_left);
        buf_trim(&x->worker->bufs, &x->back->out);
    }
    return true;
}

/* The client's body is broken or too long. */
static ExchangeOutcome refuse_body(Exchange *x, int error)
{
    if (x->replied) {
        return EXCHANGE_ABORT;
    }
    x->close = true;
    x->req.discard = true;
    if (error == -EFBIG) {
        exchange_refuse_body(x);
    } else {
        exchange_reply(x, 400, "Malformed request body.");
    }
    return EXCHANGE_PENDING;
}

/* ---- towards the client ---- */

static int start_tunnel(Exchange *x, const HttpHead *head, size_t n)
{
    RewriteResponse options = {.upgrade = true};
    int r = x->client->ops->head(x->client, head, &options);

    if (r < 0) {
        return r;
    }
    buf_consume(&x->back->in, n);
    buf_release(&x->worker->bufs, &x->head);
    x->head_sent = 0;
    x->back->in_max = BUF_SIZE;
    x->replied = x->close = true;
    x->status = 101;
    x->state = EXCHANGE_TUNNEL;
    x->frames.on = str_eq_nocase(http_head_get(head, HTTP_TOKEN_UPGRADE), STR("websocket"));
    body_init(&x->req, HTTP_BODY_EOF, 0, false, 0);
    body_init(&x->res, HTTP_BODY_EOF, 0, false, 0);
    atomic_fetch_add_explicit(&x->worker->shared->observe->upgrades, 1, memory_order_relaxed);
    return 0;
}

static int pass_interim(Exchange *x, const HttpHead *head, size_t n)
{
    RewriteResponse options = {0};
    int r = 0;

    if (++x->interim > EXCHANGE_INTERIM_MAX) {
        return -EBADMSG;
    }
    if (!x->minor0) { /* HTTP/1.0 does not know them */
        r = x->client->ops->head(x->client, head, &options);
    }
    x->expect &= head->status != 100;
    buf_consume(&x->back->in, n);
    return r;
}

static int pass_trailers(void *ctx, const HttpHead *trailers)
{
    Client *client = ctx;

    return client->ops->trailers(client, trailers);
}

static int start_reply(Exchange *x, const HttpHead *head, size_t n)
{
    bool unsized = head->body == HTTP_BODY_CHUNKED || head->body == HTTP_BODY_EOF;
    bool chunked = unsized && !x->minor0 && x->client->framed;
    RewriteResponse options = {.chunked = chunked};
    int r;

    x->close |= (unsized && !chunked) || (!x->req.done && x->expect) || x->worker->draining;
    options.close = x->close;
    options.keep_alive = x->minor0 && !x->close;
    r = x->client->ops->head(x->client, head, &options);
    if (r < 0) {
        return r;
    }
    body_init(&x->res, head->body, head->content_length, chunked, 0);
    x->res.on_trailers = x->client->framed ? NULL : pass_trailers;
    x->res.ctx = x->client;
    x->back_keep = head->keep_alive && !x->upgrade;
    x->back->in_max = BUF_SIZE;
    x->replied = x->res_open = true;
    x->status = head->status;
    buf_consume(&x->back->in, n);
    if (x->head_sent == buf_len(&x->head)) {
        buf_release(&x->worker->bufs, &x->head);
        x->head_sent = 0;
    }
    return 0;
}

/* Reads heads until the final one. False: no progress. */
static bool reply_head(Exchange *x)
{
    HttpHead *head = &x->worker->head;
    Back *back = x->back;
    Str bytes = buf_str(&back->in);
    size_t queued = buf_len(&x->client->out);
    int n = 0, r;

    x->head_hot = false;
    if (bytes.len > 0) {
        http_head_init(head);
        n = http_response_parse(head, x->method, bytes.ptr, bytes.len);
    }
    if (n == 0 && !back->eof && !back->error) {
        return false;
    }
    if (n > 0 && back->h2 && h2_back_head_ended(back)) {
        head->body = HTTP_BODY_NONE; /* Trailers-Only has to stay that */
    }
    if (n <= 0) {
        if (!exchange_restart(x)) {
            bool reset = n == 0 && back->error;

            exchange_bad_gateway(x, n < 0 || reset ? "other" : "eof",
                                 n < 0   ? "malformed reply"
                                 : reset ? "connection reset before the reply"
                                         : "closed before the reply");
        }
        return true;
    }
    if (head->status == 101) {
        r = x->upgrade ? start_tunnel(x, head, (size_t)n) : -EBADMSG;
    } else if (head->status < 200) {
        r = pass_interim(x, head, (size_t)n);
    } else {
        r = start_reply(x, head, (size_t)n);
    }
    if (r < 0) {
        buf_truncate(&x->client->out, queued); /* half a head may be there */
        exchange_bad_gateway(x, "other", "malformed reply");
    }
    return true;
}

static bool plain_reusable(const Exchange *x, const Back *back)
{
    return x->back_keep && x->req.done && !x->req_dead && x->head_sent == buf_len(&x->head) &&
           buf_len(&back->out) == 0 && buf_len(&back->in) == 0 && !back->eof && !back->error &&
           !x->worker->draining;
}

/* The body of the reply is complete: let the sandbox's connection go before the client's is. */
static void reply_done(Exchange *x)
{
    Back *back = TAKE(x->back);
    bool reusable =
        back->h2 ? !x->worker->draining && h2_back_renew(back) : plain_reusable(x, back);

    if (reusable) {
        upstreams_put(back);
    } else {
        back_close(back);
    }
    x->res_open = false;
    x->close |= !x->req.done;
    x->state = EXCHANGE_FLUSH;
}

/* ---- both ---- */

static bool relay_request(Exchange *x, ExchangeOutcome *ret_outcome)
{
    size_t before = buf_len(&x->client->in);
    bool was_done = x->req.done;
    int r = body_move(&x->req, &x->worker->bufs, &x->client->in, &x->back->out);

    if (r == BODY_MORE && x->client->ended) {
        r = body_end(&x->req, &x->worker->bufs, buf_str(&x->client->trailers), &x->back->out);
    }
    if (r < 0) {
        *ret_outcome = refuse_body(x, r);
        return false;
    }
    bool moved = before != buf_len(&x->client->in) || was_done != x->req.done;

    if (moved) {
        x->progress_ns = exchange_now(x);
        buf_trim(&x->worker->bufs, &x->client->in);
    }
    return exchange_flush_back(x) || moved;
}

/* The sandbox says no more. */
static int end_of_reply(Exchange *x)
{
    Str trailers = x->back->h2 ? h2_back_trailers(x->back) : STR("");

    if (x->back->error) {
        return -EPIPE;
    }
    return body_end(&x->res, &x->worker->bufs, trailers, &x->client->out);
}

static bool relay_reply(Exchange *x, ExchangeOutcome *ret_outcome)
{
    size_t before = buf_len(&x->back->in) + buf_len(&x->client->out);
    int r;

    if (!x->res_open) {
        if (reply_head(x)) {
            return x->state == EXCHANGE_RELAY;
        }
    } else {
        r = body_move(&x->res, &x->worker->bufs, &x->back->in, &x->client->out);
        if (r == BODY_MORE && (x->back->eof || x->back->error)) {
            r = end_of_reply(x);
        }
        if (r < 0 && x->grpc) {
            call_abort(x, 503, "The sandbox ended the call.");
            return false;
        }
        if (r < 0) {
            client_flush(x->client); /* what came is the client's, the cut says more was due */
            x->error = "reply cut short";
            *ret_outcome = EXCHANGE_ABORT;
            return false;
        }
        if (r == BODY_DONE) {
            reply_done(x);
            return false;
        }
        buf_trim(&x->worker->bufs, &x->back->in);
    }
    if (!client_flush(x->client)) {
        *ret_outcome = EXCHANGE_ABORT;
        return false;
    }
    return before != buf_len(&x->back->in) + buf_len(&x->client->out);
}

ExchangeOutcome exchange_relay(Exchange *x)
{
    ExchangeOutcome outcome = EXCHANGE_PENDING;
    bool moved = true;

    while (moved && x->state == EXCHANGE_RELAY && outcome == EXCHANGE_PENDING) {
        moved = relay_request(x, &outcome);
        if (x->state == EXCHANGE_RELAY && outcome == EXCHANGE_PENDING) {
            moved |= relay_reply(x, &outcome);
        }
    }
    return outcome;
}
