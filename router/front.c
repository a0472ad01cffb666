/* SPDX-License-Identifier: Apache-2.0 */
/* See front.h. */
#include "router/front.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "router/h2.h"

static uint64_t front_now(const Front *front)
{
    return loop_now(front->worker->loop);
}

static void front_destroy(Front *front)
{
    Worker *worker = front->worker;

    front->h2 = h2_free(front->h2);
    if (front->client.exchange) {
        front->stream.cut = true;
        exchange_free(TAKE(front->client.exchange));
    }
    front->stream.cut |= buf_len(&front->client.out) > 0;
    loop_timer_disarm(&front->timer);
    limits_leave(&front->hold);
    http_stream_close(&front->stream);
    buf_release(&worker->bufs, &front->client.in);
    buf_release(&worker->bufs, &front->client.out);
    list_remove(&front->node);
    worker->n_fronts--;
    free(front);
}

bool front_is_idle(const Front *front)
{
    return !front->lingering && !front->client.exchange &&
           (!front->h2 || front->h2->n_streams == 0) && buf_len(&front->client.in) == 0 &&
           buf_len(&front->client.out) == 0;
}

/* ---- bytes ---- */

static bool front_has_room(const Front *front)
{
    size_t len = buf_len(&front->client.in);

    if (front->h2 && !front->lingering) {
        return h2_has_room(front->h2);
    }
    if (front->client.exchange || front->lingering) {
        return len < BUF_SIZE;
    }
    return len < HTTP_HEAD_MAX + BUF_SIZE;
}

static void front_read(Front *front)
{
    ssize_t n;

    if (front->client.eof || !front_has_room(front)) {
        return;
    }
    if (buf_reserve(&front->worker->bufs, &front->client.in,
                    front->client.exchange ? 1 : FRONT_ROOM_MIN) < 0) {
        front->dead = true;
        return;
    }
    n = http_stream_read(&front->stream, buf_tail(&front->client.in),
                         front->client.in.cap - front->client.in.end);
    if (n > 0) {
        /* With the first byte, not with readiness: a part of a TLS record is no head yet. */
        if (!front->client.exchange && !front->lingering && buf_len(&front->client.in) == 0) {
            front->since_ns = front_now(front);
        }
        buf_added(&front->client.in, (size_t)n);
    } else if (n == 0) {
        front->client.eof = true;
    } else if (n != -EAGAIN) {
        front->dead = true;
    }
}

static bool front_flush(Client *client)
{
    Front *front = container_of(client, Front, client);

    while (buf_len(&front->client.out) > 0) {
        Str bytes = buf_str(&front->client.out);
        struct iovec iov = {(void *)(uintptr_t)bytes.ptr, bytes.len};
        ssize_t n = http_stream_write(&front->stream, &iov, 1);

        if (n == -EAGAIN) {
            return true;
        }
        if (n < 0) {
            return false;
        }
        buf_consume(&front->client.out, (size_t)n);
        if (front->client.exchange) {
            front->client.exchange->progress_ns = front_now(front);
        } else {
            front->since_ns = front_now(front);
        }
    }
    buf_trim(&front->worker->bufs, &front->client.out);
    return true;
}

/* ---- heads ---- */

/* An answer to something that is no request: no exchange, no routing, the connection ends. */
static void front_refuse(Front *front, int status, const char *detail)
{
    HttpHead *head = &front->worker->head;

    http_head_init(head);
    head->method = STR("-");
    head->path = STR("-");
    front->client.exchange = exchange_new(&front->client, 0);
    front->client.exchange->close = true;
    exchange_reply(front->client.exchange, status, detail);
}

/* Its requests are answered, then it ends: clients spread anew over workers and routers. */
static bool front_is_old(const Front *front)
{
    uint64_t lifetime_ns = front->worker->tuning.lifetime_ns;

    return lifetime_ns > 0 && front_now(front) - front->born_ns >= lifetime_ns;
}

/* True: something moved. */
static bool front_next_head(Front *front)
{
    HttpHead *head = &front->worker->head;
    Str bytes = buf_str(&front->client.in);
    int n;

    if (bytes.len == 0) {
        buf_trim(&front->worker->bufs, &front->client.in);
        front->dead |= front->client.eof;
        return false;
    }
    if (front->fresh && front->worker->shared->http2) {
        int seen = h2_preface(bytes);

        if (seen > 0) {
            front->h2 = seen > 1 ? h2_new(front) : NULL;
            front->dead |= seen == 1 && front->client.eof;
            return seen > 1;
        }
    }
    http_head_init(head);
    n = http_request_parse(head, bytes.ptr, bytes.len);
    if (n < 0) {
        front_refuse(front, http_parse_status(n), head->error);
        return true;
    }
    if ((n > 0 ? (size_t)n : bytes.len) > front->worker->tuning.head_max) {
        front_refuse(front, 431, "The request head is too large (--max-request-header-bytes).");
        return true;
    }
    if (n == 0) {
        front->dead |= front->client.eof;
        return false;
    }
    front->fresh = false;
    head->keep_alive &= !front_is_old(front);
    front->client.exchange = exchange_new(&front->client, (size_t)n);
    return true;
}

void front_linger(Front *front)
{
    front->lingering = true;
    front->since_ns = front_now(front);
    buf_release(&front->worker->bufs, &front->client.in);
    http_stream_shutdown(&front->stream);
}

static void front_exchange_over(Front *front, ExchangeOutcome outcome)
{
    Exchange *x = TAKE(front->client.exchange);
    bool unread = !x->req.done || buf_len(&front->client.in) > 0;

    exchange_free(x);
    front->since_ns = front_now(front);
    front->stream.cut = outcome == EXCHANGE_ABORT;
    if (outcome == EXCHANGE_ABORT || (front->client.eof && buf_len(&front->client.in) == 0)) {
        front->dead = true;
    } else if (outcome == EXCHANGE_CLOSE || front->client.eof) {
        if (unread && !front->client.eof) {
            front_linger(front); /* closing over unread bytes would reset what was just sent */
        } else {
            front->dead = true;
        }
    }
}

static bool front_advance(Front *front)
{
    if (front->lingering) {
        buf_release(&front->worker->bufs, &front->client.in);
        front->dead |= front->client.eof;
        return false;
    }
    if (front->h2) {
        h2_advance(front->h2);
        return false;
    }
    if (!front->client.exchange) {
        return front_next_head(front);
    }
    ExchangeOutcome outcome = exchange_run(front->client.exchange);

    if (outcome == EXCHANGE_PENDING) {
        return false;
    }
    front_exchange_over(front, outcome);
    return true;
}

/* ---- time ---- */

static uint64_t front_deadline(const Front *front)
{
    if (front->client.exchange) {
        return exchange_deadline(front->client.exchange);
    }
    if (front->lingering) {
        return front->since_ns + FRONT_LINGER_NS;
    }
    if (front->h2) {
        return h2_deadline(front->h2);
    }
    if (buf_len(&front->client.in) > 0 || front->fresh) {
        return front->since_ns + front->worker->tuning.head_ns;
    }
    return front->since_ns + front->worker->tuning.idle_ns;
}

/*
 * The timer is moved only when it would fire too late. One that fires early finds out and is armed
 * anew, so a busy connection touches the heap once in a while and not with each request.
 */
static void front_schedule(Front *front)
{
    uint64_t deadline = front_deadline(front);

    if (deadline == LOOP_NEVER) {
        return;
    }
    if (!loop_timer_is_armed(&front->timer) || deadline < front->timer_ns) {
        front->timer_ns = deadline;
        loop_timer_arm(front->worker->loop, &front->timer, deadline);
    }
}

static void front_timeout(LoopTimer *timer)
{
    Front *front = container_of(timer, Front, timer);

    if (front->h2 && !front->lingering) {
        h2_timeout(front->h2);
    } else if (!front->client.exchange && front_now(front) >= front_deadline(front)) {
        if (buf_len(&front->client.in) > 0 && !front->lingering) {
            front_refuse(front, 408, "The request head did not arrive in time.");
        } else {
            front->dead = true;
        }
    }
    front_step(front);
}

/* ---- driving ---- */

static void front_watch(Front *front)
{
    uint32_t events = buf_len(&front->client.out) > 0 ? EPOLLOUT : 0;

    if (!front->client.eof && front_has_room(front)) {
        events |= EPOLLIN;
    } else if (!front->client.eof && front->client.exchange &&
               exchange_ends_with_client(front->client.exchange)) {
        events |= EPOLLRDHUP;
    }
    if (http_stream_watch(&front->stream, events) < 0) {
        front->dead = true;
    }
}

void front_step(Front *front)
{
    while (!front->dead && front_advance(front)) {
    }
    if (!front->dead && front->worker->draining && !front->h2 && front_is_idle(front) &&
        !front->lingering) {
        /* While the listener is still open, a new connection may say what it wants. */
        front->dead = !front->fresh || !worker_is_listening(front->worker);
    }
    if (!front->dead) {
        if (front->client.exchange) {
            exchange_watch(front->client.exchange);
        }
        front_watch(front);
        front_schedule(front);
    }
    if (front->dead) {
        front_destroy(front);
    }
}

void front_drain(Front *front)
{
    if (front->h2) {
        front_step(front); /* says GOAWAY */
    } else if (front_is_idle(front) && !front->fresh) {
        front_kill(front);
    }
}

void front_kill(Front *front)
{
    front_destroy(front);
}

void front_finish(Front *front)
{
    Exchange *x = front->client.exchange;

    if (front->lingering) {
        return; /* all was sent, the client has a moment to read it */
    }
    if (front->h2) {
        h2_finish(front->h2);
        front_step(front);
    } else if (x && exchange_end_tunnel(x)) {
        front_step(front);
    } else {
        front_kill(front);
    }
}

static void front_ready(HttpStream *stream, uint32_t events)
{
    Front *front = container_of(stream, Front, stream);

    if (events & EPOLLIN) {
        front_read(front);
    } else if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
        front->client.eof = true;
        front->dead |= (events & (EPOLLHUP | EPOLLERR)) != 0;
    }
    front_step(front);
}

/* ---- what an exchange asks of its client ---- */

static void step(Client *client)
{
    front_step(container_of(client, Front, client));
}

static int queue_head(Client *client, const HttpHead *head, const RewriteResponse *options)
{
    return rewrite_response(head, options, &client->worker->bufs, &client->out);
}

static void queue_own(Client *client, Str head, Str body)
{
    buf_append(&client->worker->bufs, &client->out, head);
    buf_append(&client->worker->bufs, &client->out, body);
}

static void shut(Client *client)
{
    http_stream_shutdown(&container_of(client, Front, client)->stream);
}

static const ClientOps front_ops = {
    .step = step,
    .flush = front_flush,
    .head = queue_head,
    .own = queue_own,
    .shutdown = shut,
};

static int front_open(Front *front, int fd, HttpTls *tls)
{
    Loop *loop = front->worker->loop;

    if (tls) {
        return http_tls_stream_init(&front->stream, tls, loop, fd, front_ready);
    }
    http_stream_init_fd(&front->stream, loop, fd, front_ready);
    return 0;
}

void front_accept(Worker *worker, int fd, HttpTls *tls, const char *peer, const LimitHold *hold)
{
    Front *front = xcalloc(1, sizeof(*front));

    front->worker = worker;
    front->client = (Client){.ops = &front_ops,
                             .worker = worker,
                             .peer = front->peer,
                             .conn = &front->stream,
                             .framed = true};
    front->fresh = true;
    front->since_ns = front->born_ns = loop_now(worker->loop);
    front->hold = *hold;
    memcpy(front->peer, peer, strlen(peer) + 1);
    loop_timer_init(&front->timer, front_timeout);
    if (front_open(front, fd, tls) < 0) {
        limits_leave(&front->hold);
        free(front);
        return;
    }
    list_push_back(&worker->fronts, &front->node);
    worker->n_fronts++;
    front_step(front);
}
