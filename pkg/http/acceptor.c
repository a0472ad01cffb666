/* SPDX-License-Identifier: Apache-2.0 */
/* See acceptor.h. */
#include "http/acceptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void peer_text(const struct sockaddr_storage *addr, char *ret, size_t size)
{
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
    const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

    ret[0] = '\0';
    if (addr->ss_family == AF_INET) {
        inet_ntop(AF_INET, &in->sin_addr, ret, (socklen_t)size);
    } else if (addr->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
        inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], ret, (socklen_t)size);
    } else if (addr->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &in6->sin6_addr, ret, (socklen_t)size);
    }
}

static void rested(LoopTimer *timer)
{
    HttpAcceptor *acceptor = container_of(timer, HttpAcceptor, rest);

    loop_io_modify(&acceptor->io, EPOLLIN);
}

static void listener_ready(LoopIo *io, uint32_t events)
{
    HttpAcceptor *acceptor = container_of(io, HttpAcceptor, io);

    UNUSED(events);
    for (int i = 0; i < HTTP_ACCEPTS_PER_EVENT && loop_io_is_added(io); i++) {
        struct sockaddr_storage addr;
        socklen_t len = sizeof(addr);
        char peer[INET6_ADDRSTRLEN];
        int fd = accept4(io->fd, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
            loop_io_modify(io, 0);
            loop_timer_arm(io->loop, &acceptor->rest, loop_now(io->loop) + HTTP_ACCEPT_REST_NS);
            return;
        }
        if (fd < 0 && errno == EAGAIN) {
            return;
        }
        if (fd >= 0) { /* else the peer gave up in the queue: try the next one */
            peer_text(&addr, peer, sizeof(peer));
            acceptor->fn(acceptor, fd, peer);
        }
    }
}

int http_acceptor_start(HttpAcceptor *acceptor, Loop *loop, int fd, HttpAcceptFn fn)
{
    int r;

    *acceptor = (HttpAcceptor){.fn = fn};
    loop_timer_init(&acceptor->rest, rested);
    r = loop_io_add(loop, &acceptor->io, fd, EPOLLIN, listener_ready);
    if (r < 0) {
        close(fd);
    }
    return r;
}

void http_acceptor_stop(HttpAcceptor *acceptor)
{
    int fd = acceptor->io.fd;

    loop_timer_disarm(&acceptor->rest);
    if (loop_io_is_added(&acceptor->io)) {
        loop_io_remove(&acceptor->io);
        close(fd);
    }
}
