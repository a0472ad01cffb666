/* SPDX-License-Identifier: Apache-2.0 */
/* See h2_back.h. */
#include "router/h2_back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "router/body.h"
#include "router/h2_head.h"

#define READ_SIZE 16384
#define ACKS_MAX 64

struct H2Back {
    Back *back;
    nghttp2_session *session;
    H2Head head;
    Buf wire;
    Buf trailers;
    int32_t stream;    /* 0 = none yet */
    bool request_done; /* back->out holds the rest of it */
    bool deferred;     /* the library waits for bytes in back->out */
    bool final;        /* the final head came */
    bool head_ended;   /* and was all */
    bool closed;       /* both sides of the stream have ended */
    bool gone;         /* the connection takes no more requests */
    uint64_t appended; /* bytes put into back->in */
    uint64_t heads;    /* of these, heads; they lie in front of all payload */
    uint64_t credited; /* payload given back to the windows */
};

/* ---- what the library tells ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    H2Back *h2 = ctx;

    UNUSED(session);
    UNUSED(frame);
    h2_head_clear(&h2->head, h2->back->owner->bufs);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t namelen, const uint8_t *value, size_t valuelen, uint8_t flags,
                     void *ctx)
{
    H2Back *h2 = ctx;

    UNUSED(session);
    UNUSED(frame);
    UNUSED(flags);
    h2_head_add(&h2->head, h2->back->owner->bufs, (Str){(const char *)name, namelen},
                (Str){(const char *)value, valuelen}, h2->final);
    return 0;
}

static void block_complete(H2Back *h2, bool ended)
{
    Back *back = h2->back;
    BufPool *pool = back->owner->bufs;
    size_t before = buf_len(&back->in);
    bool interim = h2_head_is_interim(&h2->head);
    int r;

    if (h2->final) {
        r = h2_head_trailers(&h2->head, pool, &h2->trailers);
        if (r == 0 && buf_len(&h2->trailers) > BODY_TRAILERS_MAX) {
            r = -E2BIG;
        }
    } else {
        r = h2_head_response(&h2->head, pool, &back->in);
        h2->final = !interim;
        h2->head_ended = h2->final && ended;
    }
    h2_head_clear(&h2->head, pool);
    h2->appended += buf_len(&back->in) - before;
    h2->heads += buf_len(&back->in) - before;
    if (r < 0) {
        back->error = r;
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    H2Back *h2 = ctx;
    bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    UNUSED(session);
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        h2->gone = true;
    }
    if (frame->hd.stream_id != h2->stream || h2->stream == 0) {
        return 0;
    }
    if (frame->hd.type == NGHTTP2_HEADERS) {
        block_complete(h2, ended);
    }
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) && ended) {
        h2->back->eof = true;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
    H2Back *h2 = ctx;
    Back *back = h2->back;

    UNUSED(session);
    UNUSED(flags);
    UNUSED(id);
    if (buf_append(back->owner->bufs, &back->in, (Str){(const char *)data, len}) < 0) {
        back->error = -EBADMSG; /* the windows say: never */
    }
    h2->appended += len;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
    H2Back *h2 = ctx;

    UNUSED(session);
    UNUSED(error);
    if (id == h2->stream) {
        h2->closed = true;
        if (!h2->back->eof && !h2->back->error) {
            h2->back->error = -ECONNRESET;
        }
    }
    return 0;
}

static ssize_t read_payload(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                            uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    H2Back *h2 = ctx;
    Buf *out = &h2->back->out;
    Str bytes = str_take(buf_str(out), length);

    UNUSED(session);
    UNUSED(id);
    UNUSED(source);
    memcpy(buf, bytes.ptr, bytes.len);
    buf_consume(out, bytes.len);
    if (buf_len(out) == 0 && h2->request_done) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    } else if (bytes.len == 0) {
        h2->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    buf_trim(h2->back->owner->bufs, out);
    return (ssize_t)bytes.len;
}

/* ---- making and ending ---- */

static void make_session(H2Back *h2)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, H2_BACK_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HTTP_HEAD_MAX},
    };
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    int r = nghttp2_session_callbacks_new(&callbacks);

    CHECK(r == 0); /* fails only without memory, as xmalloc() does */
    r = nghttp2_option_new(&option);
    CHECK(r == 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, h2_head_on_invalid);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, ACKS_MAX);
    r = nghttp2_session_client_new2(&h2->session, callbacks, h2, option);
    CHECK(r == 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    r = nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    CHECK(r == 0);
}

H2Back *h2_back_new(Back *back)
{
    H2Back *h2 = xcalloc(1, sizeof(*h2));

    h2->back = back;
    make_session(h2);
    return h2;
}

H2Back *h2_back_free(H2Back *h2)
{
    if (h2) {
        BufPool *pool = h2->back->owner->bufs;

        nghttp2_session_del(h2->session);
        h2_head_clear(&h2->head, pool);
        buf_release(pool, &h2->wire);
        buf_release(pool, &h2->trailers);
        free(h2);
    }
    return NULL;
}

void h2_back_submit(Back *back, const HttpHead *head, bool has_body)
{
    H2Back *h2 = back->h2;
    nghttp2_data_provider provider = {.read_callback = read_payload};
    nghttp2_nv nv[H2_HEAD_NV_MAX];
    size_t n = h2_head_request_nv(head, nv);

    h2->stream =
        nghttp2_submit_request(h2->session, NULL, nv, n, has_body ? &provider : NULL, NULL);
    if (h2->stream < 0) {
        h2->stream = 0;
        back->error = -ECONNRESET;
    }
}

/* Payload that has left back->in opens the windows again. */
static void credit(H2Back *h2)
{
    uint64_t left = h2->appended - buf_len(&h2->back->in);
    uint64_t taken = left > h2->heads ? left - h2->heads : 0;

    if (taken > h2->credited) {
        if (h2->closed) {
            nghttp2_session_consume_connection(h2->session, taken - h2->credited);
        } else {
            nghttp2_session_consume(h2->session, h2->stream, taken - h2->credited);
        }
        h2->credited = taken;
    }
}

bool h2_back_renew(Back *back)
{
    H2Back *h2 = back->h2;

    if (!h2->closed || h2->gone || back->error || buf_len(&back->in) > 0 ||
        buf_len(&back->out) > 0 || buf_len(&h2->wire) > 0 ||
        !nghttp2_session_check_request_allowed(h2->session)) {
        return false;
    }
    credit(h2); /* the last bytes of the reply */
    buf_release(back->owner->bufs, &h2->trailers);
    h2->stream = 0;
    h2->request_done = h2->deferred = h2->final = h2->head_ended = h2->closed = false;
    h2->appended = h2->heads = h2->credited = 0;
    back->eof = false;
    return true;
}

/* ---- bytes ---- */

/*
 * A session that wants to read no more has sent GOAWAY: the sandbox broke the protocol, or speaks
 * another one. A GOAWAY of the sandbox lets the stream end first.
 */
static void fail_if(H2Back *h2, bool broken)
{
    Back *back = h2->back;
    bool over = broken || !nghttp2_session_want_read(h2->session);

    h2->gone |= over;
    if (over && !back->eof && !back->error) {
        back->error = -EPROTO;
    }
}

static void fill_wire(H2Back *h2)
{
    const uint8_t *frame;

    while (buf_len(&h2->wire) < H2_BACK_WIRE_HIGH) {
        ssize_t n = nghttp2_session_mem_send(h2->session, &frame);

        if (n <= 0) {
            fail_if(h2, n < 0);
            return;
        }
        buf_append(h2->back->owner->bufs, &h2->wire, (Str){(const char *)frame, (size_t)n});
    }
}

/* True when bytes went out. */
static bool write_wire(H2Back *h2)
{
    Str bytes = buf_str(&h2->wire);
    struct iovec iov = {(void *)(uintptr_t)bytes.ptr, bytes.len};
    ssize_t n = bytes.len > 0 ? http_stream_write(&h2->back->stream, &iov, 1) : -EAGAIN;

    if (n > 0) {
        buf_consume(&h2->wire, (size_t)n);
        buf_trim(h2->back->owner->bufs, &h2->wire);
    } else if (n < 0 && n != -EAGAIN) {
        h2->gone = true; /* it may have answered before it closed: reading tells */
        buf_release(h2->back->owner->bufs, &h2->wire);
    }
    return n > 0;
}

bool h2_back_flush(Back *back, bool done)
{
    H2Back *h2 = back->h2;
    size_t before = buf_len(&back->out);
    bool moved = false;

    credit(h2);
    h2->request_done = done;
    if (h2->deferred && (before > 0 || done) && !h2->closed) {
        h2->deferred = false;
        nghttp2_session_resume_data(h2->session, h2->stream);
    }
    do {
        fill_wire(h2);
        if (!write_wire(h2)) {
            break;
        }
        moved = true;
    } while (buf_len(&h2->wire) == 0);
    return moved || buf_len(&back->out) != before;
}

void h2_back_read(Back *back)
{
    H2Back *h2 = back->h2;
    uint8_t bytes[READ_SIZE];
    ssize_t n = http_stream_read(&back->stream, bytes, sizeof(bytes));

    if (n > 0) {
        back->got_bytes = true;
        n = nghttp2_session_mem_recv(h2->session, bytes, (size_t)n);
        fail_if(h2, n < 0);
        return;
    }
    if (n == -EAGAIN) {
        return;
    }
    h2->gone = true;
    if (!back->eof && !back->error) {
        back->error = n < 0 ? (int)n : -ECONNRESET;
    }
}

bool h2_back_idle(Back *back)
{
    H2Back *h2 = back->h2;

    h2_back_read(back);
    fill_wire(h2);
    write_wire(h2);
    back_watch(back, h2_back_wants_write(back));
    return !h2->gone && !back->error;
}

bool h2_back_wants_write(const Back *back)
{
    return buf_len(&back->h2->wire) > 0;
}

bool h2_back_head_ended(const Back *back)
{
    return back->h2->head_ended;
}

Str h2_back_trailers(const Back *back)
{
    return buf_str(&back->h2->trailers);
}
