/* SPDX-License-Identifier: Apache-2.0 */
/* See Shard in curl_impl.h: libcurl's sockets and timers on the loop. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "kube/curl_impl.h"

#define EVENTS_MAX 64

static void shard_timeout(Shard *shard)
{
    int running;

    shard->curl->in_curl = true;
    curl_multi_socket_action(shard->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    shard->curl->in_curl = false;
    kube_curl_collect(shard);
}

static void shard_on_timer(LoopTimer *timer)
{
    shard_timeout(container_of(timer, Shard, timer));
}

/* An event of a socket that went away meanwhile is harmless: libcurl ignores what it does not know.
 */
static void shard_on_io(LoopIo *io, uint32_t loop_events)
{
    Shard *shard = container_of(io, Shard, io);
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(shard->epoll_fd, events, EVENTS_MAX, 0);

    UNUSED(loop_events);
    shard->curl->in_curl = true;
    for (int i = 0; i < n; i++) {
        uint32_t got = events[i].events;
        int bits = 0;
        int running;

        bits |= got & (EPOLLIN | EPOLLRDHUP | EPOLLHUP) ? CURL_CSELECT_IN : 0;
        bits |= got & EPOLLOUT ? CURL_CSELECT_OUT : 0;
        bits |= got & EPOLLERR ? CURL_CSELECT_ERR : 0;
        curl_multi_socket_action(shard->multi, events[i].data.fd, bits, &running);
    }
    shard->curl->in_curl = false;
    kube_curl_collect(shard);
}

static int shard_on_timeout(CURLM *multi, long ms, void *ctx)
{
    Shard *shard = ctx;

    UNUSED(multi);
    if (ms < 0) {
        loop_timer_disarm(&shard->timer);
    } else {
        /* libcurl reads the system clock, so this timer must too. */
        loop_timer_arm(shard->curl->loop, &shard->timer,
                       clock_mono_ns(clock_system()) + (uint64_t)ms * NS_PER_MS);
    }
    return 0;
}

static ShardSock *shard_sock(Shard *shard, int fd)
{
    vec_foreach (&shard->socks, it) {
        if (it->fd == fd) {
            return it;
        }
    }
    return NULL;
}

/* The kernel forgets a closed descriptor, so changing may mean adding. */
static int shard_register(const Shard *shard, int fd, uint32_t interest)
{
    struct epoll_event ev = {.events = interest, .data.fd = fd};

    if (epoll_ctl(shard->epoll_fd, EPOLL_CTL_MOD, fd, &ev) == 0) {
        return 0;
    }
    return epoll_ctl(shard->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? 0 : -errno;
}

static int shard_on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *sock_ctx)
{
    Shard *shard = ctx;
    ShardSock *sock = shard_sock(shard, fd);
    uint32_t interest = 0;

    UNUSED(easy);
    UNUSED(sock_ctx);
    if (what == CURL_POLL_REMOVE) {
        /* May be closed already, which is as good. */
        epoll_ctl(shard->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        if (sock) {
            vec_remove(&shard->socks, (size_t)(sock - shard->socks.ptr));
        }
        return 0;
    }
    interest |= what & CURL_POLL_IN ? EPOLLIN : 0;
    interest |= what & CURL_POLL_OUT ? EPOLLOUT : 0;
    if (sock) {
        sock->events = interest;
    } else {
        vec_push(&shard->socks, (ShardSock){fd, interest});
    }
    return shard_register(shard, fd, interest) < 0 ? -1 : 0;
}

curl_socket_t kube_curl_shard_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    Shard *shard = ctx;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    ShardSock *sock = fd >= 0 ? shard_sock(shard, fd) : NULL;

    UNUSED(purpose);
    if (sock) {
        /* Its predecessor was closed in silence, and libcurl thinks we still watch this number. */
        shard_register(shard, fd, sock->events);
    }
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

Shard *kube_curl_shard_new(KubeCurl *curl, bool watches)
{
    Shard *shard = xcalloc(1, sizeof(*shard));

    shard->curl = curl;
    shard->watches = watches;
    loop_timer_init(&shard->timer, shard_on_timer);
    shard->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    CHECK(shard->epoll_fd >= 0);
    CHECK(loop_io_add(curl->loop, &shard->io, shard->epoll_fd, EPOLLIN, shard_on_io) == 0);
    shard->multi = curl_multi_init();
    CHECK(shard->multi);
    curl_multi_setopt(shard->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(shard->multi, CURLMOPT_SOCKETFUNCTION, shard_on_socket);
    curl_multi_setopt(shard->multi, CURLMOPT_SOCKETDATA, shard);
    curl_multi_setopt(shard->multi, CURLMOPT_TIMERFUNCTION, shard_on_timeout);
    curl_multi_setopt(shard->multi, CURLMOPT_TIMERDATA, shard);
    curl_multi_setopt(shard->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                      watches ? (long)KUBE_CURL_WATCHES_MAX : (long)KUBE_CURL_CONNECTIONS);
    list_push_back(&curl->shards, &shard->node);
    return shard;
}

void kube_curl_shard_free(Shard *shard)
{
    CHECK(shard->flights == 0);
    curl_multi_cleanup(shard->multi);
    loop_timer_disarm(&shard->timer);
    loop_io_remove(&shard->io);
    close(shard->epoll_fd);
    vec_free(&shard->socks);
    list_remove(&shard->node);
    free(shard);
}
