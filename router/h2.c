/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: session, floods, driving, time. See h2.h. */
#include "router/h2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static uint64_t h2_now(const H2 *h2)
{
    return loop_now(h2->worker->loop);
}

int h2_preface(Str bytes)
{
    Str preface = {NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN};
    size_t n = bytes.len < preface.len ? bytes.len : preface.len;

    if (n == 0 || memcmp(bytes.ptr, preface.ptr, n) != 0) {
        return 0;
    }
    return n == preface.len ? 2 : 1;
}

/* ---- what the library tells ---- */

static void charge(H2 *h2, int price)
{
    if (!h2_guard_charge(&h2->guard, price, h2_now(h2)) && !h2->calmed) {
        h2->calmed = true;
        observe_h2_calmed(h2->worker->shared->observe);
        nghttp2_session_terminate_session(h2->session, NGHTTP2_ENHANCE_YOUR_CALM);
    }
}

static bool was_reset_by_us(const H2 *h2, int32_t id)
{
    size_t n = h2->n_resets < H2_RESETS_KEPT ? h2->n_resets : H2_RESETS_KEPT;

    for (size_t i = 0; i < n; i++) {
        if (h2->resets[i] == id) {
            return true;
        }
    }
    return false;
}

/*
 * The library forgets a stream when it is closed and then ignores what comes for it, as it has to
 * for one that was reset here a moment ago. For any other it is an error of the connection (RFC
 * 9113 5.1, 5.1.1).
 */
static void check_stream_id(H2 *h2, const nghttp2_frame_hd *hd)
{
    bool opens = hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_DATA;

    if (opens && hd->stream_id <= nghttp2_session_get_last_proc_stream_id(h2->session) &&
        !nghttp2_session_find_stream(h2->session, hd->stream_id) &&
        !was_reset_by_us(h2, hd->stream_id)) {
        nghttp2_session_terminate_session(h2->session, NGHTTP2_STREAM_CLOSED);
    }
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *ctx)
{
    H2 *h2 = ctx;

    if (hd->type == NGHTTP2_PRIORITY || hd->type > NGHTTP2_CONTINUATION) {
        charge(h2, H2_GUARD_OTHER);
    }
    if (hd->type == NGHTTP2_PRIORITY && hd->stream_id == 0) {
        nghttp2_session_terminate_session(session, NGHTTP2_PROTOCOL_ERROR);
    }
    check_stream_id(h2, hd);
    return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    H2 *h2 = ctx;
    int32_t id = frame->hd.stream_id;

    h2_head_clear(&h2->head, &h2->worker->bufs);
    h2->head_stream = id;
    h2->head_ns = h2_now(h2);
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        h2->front->fresh = false;
        nghttp2_session_set_stream_user_data(session, id, h2_stream_new(h2, id));
    }
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags,
                     void *ctx)
{
    H2 *h2 = ctx;

    UNUSED(session);
    UNUSED(flags);
    h2_head_add(&h2->head, &h2->worker->bufs, (Str){(const char *)name, namelen},
                (Str){(const char *)value, valuelen}, frame->headers.cat != NGHTTP2_HCAT_REQUEST);
    return 0;
}

static void block_complete(H2 *h2, H2Stream *stream, const nghttp2_frame *frame)
{
    BufPool *pool = &h2->worker->bufs;
    bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        stream->refused = h2_head_request(&h2->head, pool, ended, &stream->client.in);
    } else if (h2_head_trailers(&h2->head, pool, &stream->client.trailers) < 0 ||
               buf_len(&stream->client.trailers) > BODY_TRAILERS_MAX) {
        buf_release(pool, &stream->client.trailers);
        nghttp2_submit_rst_stream(h2->session, NGHTTP2_FLAG_NONE, stream->id,
                                  NGHTTP2_PROTOCOL_ERROR);
    }
    if (h2->head.error) {
        stream->refusal = h2->head.text;
        buf_release(pool, &stream->client.in);
        charge(h2, H2_GUARD_MALFORMED);
    }
    h2_head_clear(&h2->head, pool);
    h2->head_stream = 0;
}

static void frame_of_stream(H2 *h2, H2Stream *stream, const nghttp2_frame *frame)
{
    if (frame->hd.type == NGHTTP2_HEADERS) {
        block_complete(h2, stream, frame);
    }
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        stream->client.ended = true;
    }
    h2_stream_touch(stream);
}

static int price_of(const nghttp2_frame *frame)
{
    bool ack = frame->hd.flags & NGHTTP2_FLAG_ACK;

    switch (frame->hd.type) {
    case NGHTTP2_RST_STREAM:
        return H2_GUARD_RESET;
    case NGHTTP2_PING:
        return H2_GUARD_PING;
    case NGHTTP2_SETTINGS:
        return ack ? 0 : H2_GUARD_SETTINGS;
    case NGHTTP2_WINDOW_UPDATE:
        return frame->window_update.window_size_increment < H2_GUARD_WINDOW_SMALL
                   ? H2_GUARD_SMALL_WINDOW
                   : 0;
    case NGHTTP2_DATA:
        return frame->hd.length <= frame->data.padlen &&
                       !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
                   ? H2_GUARD_EMPTY_DATA
                   : 0;
    default:
        return 0;
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    H2 *h2 = ctx;
    H2Stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    int price = price_of(frame);

    if (price > 0) {
        charge(h2, price);
    }
    if (stream && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA)) {
        frame_of_stream(h2, stream, frame);
    }
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *ctx)
{
    UNUSED(session);
    UNUSED(frame);
    charge(ctx, error == NGHTTP2_ERR_REFUSED_STREAM ? H2_GUARD_RESET : H2_GUARD_MALFORMED);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
    H2 *h2 = ctx;
    H2Stream *stream = nghttp2_session_get_stream_user_data(session, id);

    UNUSED(flags);
    h2_guard_payload(&h2->guard, len);
    if (stream) {
        h2_stream_received(stream, (Str){(const char *)data, len});
    } else {
        nghttp2_session_consume(session, id, len);
    }
    return 0;
}

/* A reply that is complete before its request is: the client may stop sending (RFC 9113 8.1). */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    H2 *h2 = ctx;
    H2Stream *stream = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                (frame->hd.flags & NGHTTP2_FLAG_END_STREAM);

    if (frame->hd.type == NGHTTP2_RST_STREAM) {
        h2->resets[h2->n_resets++ % H2_RESETS_KEPT] = frame->hd.stream_id;
    }
    if (stream && ends && !stream->client.ended) {
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
    H2 *h2 = ctx;
    H2Stream *stream = nghttp2_session_get_stream_user_data(session, id);

    UNUSED(error);
    if (h2->head_stream == id) {
        h2->head_stream = 0;
    }
    if (stream) {
        stream->closed = stream->client.eof = true;
        h2_stream_touch(stream);
    }
    return 0;
}

/* ---- making and ending ---- */

static void on_defer(LoopDefer *defer)
{
    front_step(container_of(defer, H2, defer)->front);
}

static nghttp2_session_callbacks *make_callbacks(void)
{
    nghttp2_session_callbacks *callbacks;
    int r = nghttp2_session_callbacks_new(&callbacks);

    CHECK(r == 0); /* fails only without memory, as xmalloc() does */
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, h2_head_on_invalid);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    return callbacks;
}

static nghttp2_option *make_options(void)
{
    nghttp2_option *option;
    int r = nghttp2_option_new(&option);

    CHECK(r == 0);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, H2_ACKS_MAX);
    nghttp2_option_set_max_settings(option, H2_SETTINGS_MAX);
    nghttp2_option_set_max_continuations(option, H2_CONTINUATIONS_MAX);
    nghttp2_option_set_stream_reset_rate_limit(option, H2_RESETS_BURST, H2_RESETS_PER_S);
    return option;
}

static void submit_settings(H2 *h2)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, H2_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_WINDOW_STREAM},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX},
        {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    int r = nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));

    CHECK(r == 0);
    r = nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0,
                                              H2_WINDOW_CONNECTION);
    CHECK(r == 0);
}

H2 *h2_new(Front *front)
{
    H2 *h2 = xcalloc(1, sizeof(*h2));
    nghttp2_session_callbacks *callbacks = make_callbacks();
    nghttp2_option *option = make_options();
    int r = nghttp2_session_server_new2(&h2->session, callbacks, h2, option);

    CHECK(r == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    h2->front = front;
    h2->worker = front->worker;
    h2->next_ns = LOOP_NEVER;
    list_init(&h2->streams);
    list_init(&h2->dirty);
    loop_defer_init(&h2->defer, on_defer);
    h2_guard_init(&h2->guard, h2_now(h2));
    submit_settings(h2);
    return h2;
}

static void free_streams(H2 *h2)
{
    list_foreach (&h2->streams, node) {
        H2Stream *stream = list_entry(node, H2Stream, node);

        nghttp2_session_set_stream_user_data(h2->session, stream->id, NULL);
        h2_stream_free(stream);
    }
}

H2 *h2_free(H2 *h2)
{
    if (h2) {
        loop_defer_cancel(&h2->defer);
        free_streams(h2);
        nghttp2_session_del(h2->session);
        h2_head_clear(&h2->head, &h2->worker->bufs);
        free(h2);
    }
    return NULL;
}

void h2_drain(H2 *h2)
{
    if (!h2->draining) {
        h2->draining = true;
        nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
                              nghttp2_session_get_last_proc_stream_id(h2->session),
                              NGHTTP2_NO_ERROR, NULL, 0);
    }
}

void h2_finish(H2 *h2)
{
    h2_drain(h2);
    list_foreach (&h2->streams, node) {
        h2_stream_finish(list_entry(node, H2Stream, node));
    }
}

/* ---- driving ---- */

bool h2_has_room(const H2 *h2)
{
    return buf_len(&h2->front->client.in) < BUF_SIZE &&
           buf_len(&h2->front->client.out) < H2_OUT_HIGH;
}

static void receive(H2 *h2)
{
    Buf *in = &h2->front->client.in;
    Str bytes = buf_str(in);

    if (bytes.len > 0) {
        ssize_t n = nghttp2_session_mem_recv(h2->session, (const uint8_t *)bytes.ptr, bytes.len);

        if (n < 0) { /* bad preface, or more answers wait than the library keeps */
            nghttp2_session_terminate_session(h2->session, n == NGHTTP2_ERR_FLOODED
                                                               ? NGHTTP2_ENHANCE_YOUR_CALM
                                                               : NGHTTP2_INTERNAL_ERROR);
            h2->broken = true;
        }
        buf_consume(in, n < 0 ? bytes.len : (size_t)n);
    }
    buf_trim(&h2->worker->bufs, in);
}

static void run_dirty(H2 *h2)
{
    ListNode *node;

    while ((node = list_pop_front(&h2->dirty))) {
        h2_stream_run(list_entry(node, H2Stream, dirty));
    }
}

/* The library hands out frame by frame; they leave together. */
static void send_frames(H2 *h2)
{
    Front *front = h2->front;
    Buf *out = &front->client.out;
    const uint8_t *frame;
    ssize_t n = 1;

    while (n > 0 && !front->dead) {
        while (buf_len(out) < H2_OUT_HIGH) {
            n = nghttp2_session_mem_send(h2->session, &frame);
            if (n <= 0) {
                break;
            }
            front->dead |=
                buf_append(&h2->worker->bufs, out, (Str){(const char *)frame, (size_t)n}) < 0;
        }
        front->dead |= n < 0 || !client_flush(&front->client);
        if (buf_len(out) >= H2_OUT_HIGH) {
            return;
        }
    }
}

/* GOAWAY is out, or the client broke the protocol, and nothing is left to do. */
static void end_if_over(H2 *h2)
{
    Front *front = h2->front;

    if (front->client.eof || h2->broken) {
        front->dead = true;
    } else if (!nghttp2_session_want_read(h2->session) &&
               !nghttp2_session_want_write(h2->session) && buf_len(&front->client.out) == 0) {
        free_streams(h2);
        front_linger(front);
    }
}

void h2_advance(H2 *h2)
{
    Front *front = h2->front;

    if (h2->worker->draining) {
        h2_drain(h2);
    }
    do {
        receive(h2);
        run_dirty(h2);
        send_frames(h2);
    } while (!front->dead && !list_is_empty(&h2->dirty));
    if (!front->dead) {
        end_if_over(h2);
    }
}

/* ---- time ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t h2_deadline(const H2 *h2)
{
    const Front *front = h2->front;
    const Tuning *tuning = &h2->worker->tuning;
    uint64_t deadline = h2->n_streams > 0 ? h2->next_ns : front->since_ns + tuning->idle_ns;

    if (h2->head_stream || front->fresh) {
        deadline =
            earlier(deadline, (h2->head_stream ? h2->head_ns : front->born_ns) + tuning->head_ns);
    }
    if (!h2->draining && tuning->lifetime_ns > 0) {
        deadline = earlier(deadline, front->born_ns + tuning->lifetime_ns);
    }
    return deadline;
}

static void expire_streams(H2 *h2, uint64_t now)
{
    h2->next_ns = LOOP_NEVER;
    list_foreach (&h2->streams, node) {
        H2Stream *stream = list_entry(node, H2Stream, node);
        uint64_t deadline =
            stream->client.exchange ? exchange_deadline(stream->client.exchange) : LOOP_NEVER;

        if (deadline <= now) {
            h2_stream_touch(stream);
        } else if (deadline < h2->next_ns) {
            h2->next_ns = deadline;
        }
    }
}

void h2_timeout(H2 *h2)
{
    Front *front = h2->front;
    const Tuning *tuning = &h2->worker->tuning;
    uint64_t now = h2_now(h2);

    if (now < h2_deadline(h2)) {
        return;
    }
    expire_streams(h2, now);
    if (h2->head_stream && now >= h2->head_ns + tuning->head_ns) {
        nghttp2_session_terminate_session(h2->session, NGHTTP2_PROTOCOL_ERROR);
    }
    if (h2->n_streams == 0 && h2->draining) {
        front->dead = true; /* it does not even take the GOAWAY */
    } else if (h2->n_streams == 0 ||
               (tuning->lifetime_ns > 0 && now >= front->born_ns + tuning->lifetime_ns)) {
        h2_drain(h2);
    }
}
