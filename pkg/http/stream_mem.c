/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two stream ends joined by memory. Readiness is posted as deferred work of the loop, so that a
 * test sees the same order of events as with sockets: never a callback from inside read or write.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/check.h"
#include "base/mem.h"
#include "http/stream.h"

typedef struct MemPipe {
    char *buf;
    size_t len;
    bool shut;   /* the writer said it is done */
    bool broken; /* the reader is gone */
} MemPipe;

struct HttpMemPair {
    size_t capacity;
    size_t step;
    MemPipe pipes[2]; /* pipes[i] carries what end i reads */
    HttpStream *ends[2];
};

static int end_of(const HttpStream *stream)
{
    const HttpMemPair *pair = stream->impl;

    return pair->ends[0] == stream ? 0 : 1;
}

static uint32_t ready_events(const HttpStream *stream)
{
    const HttpMemPair *pair = stream->impl;
    const MemPipe *in = &pair->pipes[end_of(stream)];
    const MemPipe *out = &pair->pipes[1 - end_of(stream)];
    uint32_t events = 0;

    if ((stream->interest & EPOLLIN) && (in->len > 0 || in->shut)) {
        events |= EPOLLIN;
    }
    if ((stream->interest & EPOLLRDHUP) && in->shut) {
        events |= EPOLLRDHUP;
    }
    if ((stream->interest & EPOLLOUT) && (out->len < pair->capacity || out->broken || out->shut)) {
        events |= EPOLLOUT;
    }
    return events;
}

static void kick(HttpStream *stream)
{
    if (stream && ready_events(stream)) {
        loop_defer_post(stream->loop, &stream->defer);
    }
}

static void kick_both(HttpMemPair *pair)
{
    kick(pair->ends[0]);
    kick(pair->ends[1]);
}

static void mem_ready(LoopDefer *defer)
{
    HttpStream *stream = container_of(defer, HttpStream, defer);
    uint32_t events = ready_events(stream);

    if (events) {
        loop_defer_post(stream->loop, defer); /* level-triggered; cancelled by close */
        stream->fn(stream, events);           /* may have freed the stream */
    }
}

static ssize_t mem_read(HttpStream *stream, void *buf, size_t len)
{
    HttpMemPair *pair = stream->impl;
    MemPipe *in = &pair->pipes[end_of(stream)];

    if (in->len == 0) {
        stream->eof = in->shut;
        return in->shut ? 0 : -EAGAIN;
    }
    len = len > in->len ? in->len : len;
    len = pair->step && len > pair->step ? pair->step : len;
    memcpy(buf, in->buf, len);
    memmove(in->buf, in->buf + len, in->len - len);
    in->len -= len;
    kick_both(pair);
    return (ssize_t)len;
}

static ssize_t mem_write(HttpStream *stream, const struct iovec *iov, int n)
{
    HttpMemPair *pair = stream->impl;
    MemPipe *out = &pair->pipes[1 - end_of(stream)];
    size_t written = 0;

    if (out->broken || out->shut) {
        return -EPIPE;
    }
    for (int i = 0; i < n; i++) {
        size_t room = pair->capacity - out->len;
        size_t part = iov[i].iov_len < room ? iov[i].iov_len : room;

        memcpy(out->buf + out->len, iov[i].iov_base, part);
        out->len += part;
        written += part;
    }
    kick_both(pair);
    return written > 0 || n == 0 ? (ssize_t)written : -EAGAIN;
}

static int mem_shutdown(HttpStream *stream)
{
    HttpMemPair *pair = stream->impl;

    pair->pipes[1 - end_of(stream)].shut = true;
    kick_both(pair);
    return 0;
}

static int mem_watch(HttpStream *stream, uint32_t events)
{
    stream->interest = events;
    kick(stream);
    return 0;
}

static void mem_close(HttpStream *stream)
{
    HttpMemPair *pair = stream->impl;
    int end = end_of(stream);

    loop_defer_cancel(&stream->defer);
    pair->ends[end] = NULL;
    pair->pipes[end].broken = true;
    pair->pipes[1 - end].shut = true;
    kick_both(pair);
}

static const HttpStreamOps mem_ops = {
    .read = mem_read,
    .write = mem_write,
    .shutdown = mem_shutdown,
    .watch = mem_watch,
    .close = mem_close,
};

HttpMemPair *http_mem_pair_new(size_t capacity, size_t step)
{
    HttpMemPair *pair = xcalloc(1, sizeof(*pair));

    pair->capacity = capacity;
    pair->step = step;
    pair->pipes[0].buf = xmalloc(capacity);
    pair->pipes[1].buf = xmalloc(capacity);
    return pair;
}

HttpMemPair *http_mem_pair_free(HttpMemPair *pair)
{
    if (pair) {
        CHECK(!pair->ends[0] && !pair->ends[1]);
        free(pair->pipes[0].buf);
        free(pair->pipes[1].buf);
        free(pair);
    }
    return NULL;
}

void http_stream_init_mem(HttpStream *stream, Loop *loop, HttpMemPair *pair, int end,
                          HttpStreamFn fn)
{
    CHECK(!pair->ends[end]);
    *stream = (HttpStream){.ops = &mem_ops, .loop = loop, .fn = fn, .impl = pair};
    loop_defer_init(&stream->defer, mem_ready);
    pair->ends[end] = stream;
}
