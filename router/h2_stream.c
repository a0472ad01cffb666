/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream as a client of an exchange. Replies are submitted to the library, which asks for
 * payload when the client's windows and the socket have room; bytes of the request are given back
 * to the windows when the exchange has taken them out of `in`. See h2.h.
 */
#include "router/h2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static H2Stream *stream_of(Client *client)
{
    return container_of(client, H2Stream, client);
}

/* ---- the reply's payload ---- */

/* No more payload comes than lies in client.out. */
static bool is_final(const H2Stream *stream)
{
    const Exchange *x = stream->client.exchange;

    return stream->shut || !x || x->state == EXCHANGE_FLUSH;
}

/* True: trailers follow, and they end the stream. */
static bool submit_trailers(H2Stream *stream)
{
    HttpHead trailers;
    nghttp2_nv nv[H2_HEAD_NV_MAX];
    Str text = buf_str(&stream->trailers);
    size_t n = 0;

    if (text.len > 0) {
        http_head_init(&trailers);
        if (http_trailers_parse(&trailers, text.ptr, text.len) > 0) {
            n = h2_head_trailers_nv(&trailers, nv);
        }
    }
    return n > 0 && nghttp2_submit_trailer(stream->h2->session, stream->id, nv, n) == 0;
}

static ssize_t read_payload(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                            uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    H2Stream *stream = source->ptr;
    H2 *h2 = ctx;
    Client *client = &stream->client;
    Str bytes = str_take(buf_str(&client->out), length);

    UNUSED(session);
    UNUSED(id);
    memcpy(buf, bytes.ptr, bytes.len);
    buf_consume(&client->out, bytes.len);
    if (buf_len(&client->out) == 0 && is_final(stream)) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (submit_trailers(stream)) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        }
    } else if (bytes.len == 0) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    buf_trim(&h2->worker->bufs, &client->out);
    h2_guard_payload(&h2->guard, bytes.len);
    if (client->exchange) {
        client->exchange->progress_ns = loop_now(h2->worker->loop);
        h2_stream_touch(stream);
    }
    return (ssize_t)bytes.len;
}

static void resume(H2Stream *stream)
{
    if (stream->deferred && !stream->closed) {
        stream->deferred = false;
        nghttp2_session_resume_data(stream->h2->session, stream->id);
    }
}

/* ---- what an exchange asks of its client ---- */

static void step(Client *client)
{
    H2Stream *stream = stream_of(client);

    h2_stream_touch(stream);
    loop_defer_post(client->worker->loop, &stream->h2->defer);
}

static bool flush(Client *client)
{
    H2Stream *stream = stream_of(client);

    if (buf_len(&client->out) > 0 || is_final(stream)) {
        resume(stream);
    }
    return !stream->closed;
}

/* The final head; without payload it ends the stream. Errors are those of a stream that is gone. */
static void submit_reply(H2Stream *stream, const nghttp2_nv *nv, size_t n, bool payload)
{
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_payload};

    nghttp2_submit_response(stream->h2->session, stream->id, nv, n, payload ? &provider : NULL);
}

static int queue_head(Client *client, const HttpHead *head, const RewriteResponse *options)
{
    H2Stream *stream = stream_of(client);
    nghttp2_nv nv[H2_HEAD_NV_MAX];
    char status[3];
    size_t n = h2_head_response_nv(head, options->upgrade, status, nv);

    if (head->status < 200 && !options->upgrade) {
        nghttp2_submit_headers(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id, NULL, nv, n,
                               NULL);
    } else {
        submit_reply(stream, nv, n, options->upgrade || head->body != HTTP_BODY_NONE);
    }
    return 0;
}

static void queue_own(Client *client, Str text, Str body)
{
    HttpHead head;
    nghttp2_nv nv[H2_HEAD_NV_MAX];
    char status[3];
    int r;

    http_head_init(&head);
    r = http_response_parse(&head, HTTP_METHOD_GET, text.ptr, text.len);
    CHECK(r == (int)text.len); /* our own text */
    buf_append(&client->worker->bufs, &client->out, body);
    submit_reply(stream_of(client), nv, h2_head_response_nv(&head, false, status, nv),
                 body.len > 0);
}

/* Kept until the library has taken all payload: trailers go behind it. */
static int queue_trailers(Client *client, const HttpHead *trailers)
{
    BufPool *pool = &client->worker->bufs;
    Buf *to = &stream_of(client)->trailers;
    int r = 0;

    for (size_t i = 0; r == 0 && i < trailers->n_headers; i++) {
        const Str parts[] = {trailers->headers[i].name, STR(": "), trailers->headers[i].value,
                             STR("\r\n")};

        for (size_t j = 0; r == 0 && j < ARRAY_LEN(parts); j++) {
            r = buf_append(pool, to, parts[j]);
        }
    }
    return r < 0 ? r : buf_append(pool, to, STR("\r\n"));
}

static void shut(Client *client)
{
    H2Stream *stream = stream_of(client);

    stream->shut = true;
    resume(stream);
}

static const ClientOps stream_ops = {
    .step = step,
    .flush = flush,
    .head = queue_head,
    .own = queue_own,
    .trailers = queue_trailers,
    .shutdown = shut,
};

/* ---- life ---- */

H2Stream *h2_stream_new(H2 *h2, int32_t id)
{
    H2Stream *stream = xcalloc(1, sizeof(*stream));

    stream->h2 = h2;
    stream->id = id;
    stream->client = (Client){.ops = &stream_ops,
                              .worker = h2->worker,
                              .peer = h2->front->peer,
                              .conn = &h2->front->stream};
    list_push_back(&h2->streams, &stream->node);
    h2->n_streams++;
    return stream;
}

void h2_stream_free(H2Stream *stream)
{
    Client *client = &stream->client;
    H2 *h2 = stream->h2;

    if (client->exchange) {
        exchange_free(TAKE(client->exchange));
    }
    buf_release(&h2->worker->bufs, &client->in);
    buf_release(&h2->worker->bufs, &client->out);
    buf_release(&h2->worker->bufs, &client->trailers);
    buf_release(&h2->worker->bufs, &stream->trailers);
    list_remove(&stream->node);
    list_remove(&stream->dirty);
    h2->n_streams--;
    free(stream);
}

void h2_stream_touch(H2Stream *stream)
{
    if (!list_node_is_linked(&stream->dirty)) {
        list_push_back(&stream->h2->dirty, &stream->dirty);
    }
}

/* Gives what the exchange has taken back to the windows; all of it once there is no exchange. */
static void credit(H2Stream *stream)
{
    Client *client = &stream->client;
    nghttp2_session *session = stream->h2->session;
    const Exchange *x = client->exchange;
    size_t kept = x ? buf_len(&client->in) - (x->head_raw ? x->head_len : 0) : 0;
    size_t taken = (size_t)(stream->received - stream->credited) - kept;

    if (taken == 0) {
        return;
    }
    stream->credited += taken;
    if (stream->closed) {
        nghttp2_session_consume_connection(session, taken);
    } else {
        nghttp2_session_consume(session, stream->id, taken);
    }
}

void h2_stream_received(H2Stream *stream, Str bytes)
{
    Client *client = &stream->client;

    stream->received += bytes.len;
    if (stream->started && !client->exchange) {
        credit(stream); /* the reply is complete: nobody wants the rest */
        return;
    }
    if (buf_append(&client->worker->bufs, &client->in, bytes) < 0) { /* the windows say: never */
        nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_FLOW_CONTROL_ERROR);
    }
    h2_stream_touch(stream);
}

/* The checked fields are read as an HTTP/1.1 head, so one parser decides what passes. */
static void start(H2Stream *stream)
{
    Client *client = &stream->client;
    HttpHead *head = &client->worker->head;
    Str text = buf_str(&client->in);
    int n = stream->refused;

    stream->started = true;
    http_head_init(head);
    if (n == 0) {
        n = http_request_parse(head, text.ptr, text.len);
        stream->refusal = head->error;
    }
    if (n > 0 && (size_t)n > client->worker->tuning.head_max) {
        n = -E2BIG;
        stream->refusal = "The request head is too large (--max-request-header-bytes).";
    }
    if (n > 0) {
        client->exchange = exchange_new(client, (size_t)n);
        return;
    }
    buf_release(&client->worker->bufs, &client->in);
    http_head_init(head);
    head->method = STR("-");
    head->path = STR("-");
    client->exchange = exchange_new(client, 0);
    client->exchange->close = true;
    exchange_reply(client->exchange, http_parse_status(n), stream->refusal);
}

static void over(H2Stream *stream, ExchangeOutcome outcome)
{
    Client *client = &stream->client;
    H2 *h2 = stream->h2;
    bool finished = client->exchange->state == EXCHANGE_FLUSH && buf_len(&client->out) == 0;

    exchange_free(TAKE(client->exchange));
    buf_release(&h2->worker->bufs, &client->in);
    buf_release(&h2->worker->bufs, &client->trailers);
    credit(stream);
    if (finished) {
        h2_guard_finished(&h2->guard);
    }
    if (outcome == EXCHANGE_ABORT && !stream->closed) {
        buf_release(&h2->worker->bufs, &client->out);
        nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_INTERNAL_ERROR);
    } else {
        resume(stream); /* the end of the stream may still have to be said */
    }
}

void h2_stream_finish(H2Stream *stream)
{
    Exchange *x = stream->client.exchange;

    if (x && !exchange_end_tunnel(x)) {
        over(stream, EXCHANGE_ABORT);
    }
    h2_stream_touch(stream);
}

void h2_stream_run(H2Stream *stream)
{
    Client *client = &stream->client;
    ExchangeOutcome outcome;

    if (!stream->started && !stream->closed) {
        start(stream);
    }
    if (client->exchange) {
        outcome = exchange_run(client->exchange);
        if (outcome == EXCHANGE_PENDING) {
            uint64_t deadline = exchange_deadline(client->exchange);

            credit(stream);
            exchange_watch(client->exchange);
            if (deadline < stream->h2->next_ns) {
                stream->h2->next_ns = deadline;
            }
            return;
        }
        over(stream, outcome);
    }
    if (stream->closed) {
        credit(stream); /* also what came for one that never began */
        h2_stream_free(stream);
    }
}
