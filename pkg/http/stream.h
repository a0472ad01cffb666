/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A non-blocking byte stream behind a vtable: a socket, a TLS session, or memory in tests.
 * Readiness is reported level-triggered through one callback, as epoll does, for the events asked
 * for; errors and hang-ups are found by reading or writing.
 *
 * The stream is a field of its owner (container_of leads back). Closing inside the callback is
 * safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/loop.h"

typedef struct HttpStream HttpStream;
typedef void (*HttpStreamFn)(HttpStream *stream, uint32_t events);

typedef struct HttpStreamOps {
    ssize_t (*read)(HttpStream *stream, void *buf, size_t len);
    ssize_t (*write)(HttpStream *stream, const struct iovec *iov, int n);
    int (*shutdown)(HttpStream *stream);
    int (*watch)(HttpStream *stream, uint32_t events);
    void (*close)(HttpStream *stream);
} HttpStreamOps;

struct HttpStream {
    const HttpStreamOps *ops; /* NULL = closed */
    HttpStreamFn fn;
    LoopIo io; /* sockets */
    Loop *loop;
    void *impl;        /* what TLS or memory needs */
    LoopDefer defer;   /* memory: readiness is posted, never called from inside read or write */
    uint32_t interest; /* events asked for */
    bool eof;          /* read returned 0 */
    bool cut;          /* set by the owner: close without an orderly end, so that what was sent
                          does not look whole (TLS says no close_notify) */
};

/* Takes the non-blocking fd; the loop sees it with the first http_stream_watch(). */
void http_stream_init_fd(HttpStream *stream, Loop *loop, int fd, HttpStreamFn fn);
/* Makes a stream of another kind over a socket, as http_tls_open() does. -errno: the fd is closed.
 */
typedef int (*HttpStreamOpenFn)(HttpStream *stream, void *ctx, Loop *loop, int fd, HttpStreamFn fn);
int http_stream_fd(const HttpStream *stream); /* -1 when there is none */
/* Gives the fd back unclosed and leaves the stream closed. -1 when there is none. */
int http_stream_take_fd(HttpStream *stream);

static inline bool http_stream_is_open(const HttpStream *stream)
{
    return stream->ops != NULL;
}

/* Bytes, 0 at the end of the peer's data, -EAGAIN, or another -errno. */
static inline ssize_t http_stream_read(HttpStream *stream, void *buf, size_t len)
{
    return stream->ops->read(stream, buf, len);
}

/* Bytes taken (maybe fewer), -EAGAIN, or another -errno. */
static inline ssize_t http_stream_write(HttpStream *stream, const struct iovec *iov, int n)
{
    return stream->ops->write(stream, iov, n);
}

/* Ends our side; reading goes on. */
static inline int http_stream_shutdown(HttpStream *stream)
{
    return stream->ops->shutdown(stream);
}

/* Events wanted from now on: EPOLLIN, EPOLLOUT, EPOLLRDHUP; with 0 not even hang-ups are
 * reported. -errno from epoll_ctl. */
static inline int http_stream_watch(HttpStream *stream, uint32_t events)
{
    return stream->ops->watch(stream, events);
}

void http_stream_close(HttpStream *stream); /* does nothing when closed */

/* ---- memory, for tests ---- */

typedef struct HttpMemPair HttpMemPair;

/*
 * Two ends of one in-memory connection. Each direction holds at most `capacity` bytes and hands out
 * at most `step` bytes a read (0 = no limit), so that every split of a byte sequence can be tried.
 */
HttpMemPair *http_mem_pair_new(size_t capacity, size_t step);
HttpMemPair *http_mem_pair_free(HttpMemPair *pair); /* both ends closed before */
void http_stream_init_mem(HttpStream *stream, Loop *loop, HttpMemPair *pair, int end,
                          HttpStreamFn fn);
