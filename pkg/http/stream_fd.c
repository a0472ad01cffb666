/* SPDX-License-Identifier: Apache-2.0 */
/* The socket implementation of a stream: system calls and epoll, nothing else. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/attr.h"
#include "http/stream.h"

static ssize_t fd_read(HttpStream *stream, void *buf, size_t len)
{
    ssize_t n;

    do {
        n = recv(stream->io.fd, buf, len, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno == EWOULDBLOCK ? -EAGAIN : -errno;
    }
    if (n == 0) {
        stream->eof = true;
    }
    return n;
}

static ssize_t fd_write(HttpStream *stream, const struct iovec *iov, int n_iov)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n_iov};
    ssize_t n;

    do {
        n = n_iov == 1 ? send(stream->io.fd, iov[0].iov_base, iov[0].iov_len, MSG_NOSIGNAL)
                       : sendmsg(stream->io.fd, &msg, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n >= 0 ? n : errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

static int fd_shutdown(HttpStream *stream)
{
    return shutdown(stream->io.fd, SHUT_WR) < 0 ? -errno : 0;
}

static void fd_ready(LoopIo *io, uint32_t events)
{
    HttpStream *stream = container_of(io, HttpStream, io);

    stream->fn(stream, events);
}

/* Nothing wanted means not in epoll at all: a hang-up would else be reported again and again. */
static int fd_watch(HttpStream *stream, uint32_t events)
{
    int fd = stream->io.fd;

    stream->interest = events;
    if (events == 0) {
        loop_io_remove(&stream->io);
        return 0;
    }
    if (!loop_io_is_added(&stream->io)) {
        return loop_io_add(stream->loop, &stream->io, fd, events, fd_ready);
    }
    return loop_io_modify(&stream->io, events);
}

static void fd_close(HttpStream *stream)
{
    int fd = stream->io.fd;

    loop_io_remove(&stream->io);
    close(fd);
}

static const HttpStreamOps fd_ops = {
    .read = fd_read,
    .write = fd_write,
    .shutdown = fd_shutdown,
    .watch = fd_watch,
    .close = fd_close,
};

void http_stream_init_fd(HttpStream *stream, Loop *loop, int fd, HttpStreamFn fn)
{
    *stream = (HttpStream){.ops = &fd_ops, .loop = loop, .fn = fn};
    stream->io.fd = fd;
}

int http_stream_fd(const HttpStream *stream)
{
    return stream->ops == &fd_ops ? stream->io.fd : -1;
}

int http_stream_take_fd(HttpStream *stream)
{
    int fd = http_stream_fd(stream);

    if (fd >= 0) {
        loop_io_remove(&stream->io);
        stream->ops = NULL;
    }
    return fd;
}

void http_stream_close(HttpStream *stream)
{
    if (stream->ops) {
        stream->ops->close(stream);
        stream->ops = NULL;
    }
}
