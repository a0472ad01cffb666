/* SPDX-License-Identifier: Apache-2.0 */
/* See upstream.h. */
#include "router/upstream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/rng.h"
#include "router/h2_back.h"

#define KEEPALIVE_S 30

static void sweep(LoopTimer *timer)
{
    Upstreams *upstreams = container_of(timer, Upstreams, sweep);
    uint64_t now = loop_now(upstreams->loop);
    ListNode *node;

    while ((node = list_first(&upstreams->ages))) {
        Back *back = list_entry(node, Back, by_age);

        if (back->idle_ns + UPSTREAM_IDLE_NS > now) {
            loop_timer_arm(upstreams->loop, timer, back->idle_ns + UPSTREAM_IDLE_NS);
            return;
        }
        back_close(back);
    }
}

void upstreams_init(Upstreams *upstreams, Loop *loop, BufPool *bufs, BackFn fn)
{
    *upstreams = (Upstreams){.loop = loop, .bufs = bufs, .fn = fn};
    hmap_init(&upstreams->idle);
    list_init(&upstreams->ages);
    loop_timer_init(&upstreams->sweep, sweep);
    rng_os_fill(&upstreams->seed, sizeof(upstreams->seed));
}

void upstreams_close_idle(Upstreams *upstreams)
{
    ListNode *node;

    while ((node = list_first(&upstreams->ages))) {
        back_close(list_entry(node, Back, by_age));
    }
}

void upstreams_deinit(Upstreams *upstreams)
{
    upstreams_close_idle(upstreams);
    loop_timer_disarm(&upstreams->sweep);
    CHECK(upstreams->n_all == 0);
    hmap_deinit(&upstreams->idle);
}

static void leave_pool(Back *back)
{
    if (list_node_is_linked(&back->by_age)) {
        list_remove(&back->by_age);
        hmap_remove(&back->owner->idle, &back->by_address);
        back->owner->n_idle--;
    }
}

void back_close(Back *back)
{
    Upstreams *owner = back->owner;

    leave_pool(back);
    back->h2 = h2_back_free(back->h2);
    http_stream_close(&back->stream);
    buf_release(owner->bufs, &back->in);
    buf_release(owner->bufs, &back->out);
    owner->n_all--;
    free(back);
}

static bool still_open(Back *back)
{
    char byte;
    ssize_t n = recv(http_stream_fd(&back->stream), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n < 0 && errno == EAGAIN;
}

Back *upstreams_take(Upstreams *upstreams, const Address *address, bool http2, bool careful)
{
    uint64_t hash = address_hash(upstreams->seed, address);
    HMapNode *node = hmap_first(&upstreams->idle, hash);

    while (node) {
        Back *back = container_of(node, Back, by_address);

        node = hmap_next(node);
        if (!address_equal(&back->address, address) || (back->h2 != NULL) != http2) {
            continue;
        }
        if (careful && !still_open(back)) {
            back_close(back);
            continue;
        }
        leave_pool(back);
        back->in_max = BUF_SIZE;
        back->reused = true;
        back->got_bytes = false;
        return back;
    }
    return NULL;
}

void upstreams_put(Back *back)
{
    Upstreams *upstreams = back->owner;
    uint64_t hash = address_hash(upstreams->seed, &back->address);

    if (upstreams->idle_max == 0) {
        back_close(back);
        return;
    }
    if (upstreams->n_idle >= upstreams->idle_max) {
        back_close(list_entry(list_first(&upstreams->ages), Back, by_age));
    }
    back->exchange = NULL;
    buf_trim(upstreams->bufs, &back->in);
    buf_trim(upstreams->bufs, &back->out);
    back->idle_ns = loop_now(upstreams->loop);
    hmap_insert(&upstreams->idle, &back->by_address, hash);
    list_push_back(&upstreams->ages, &back->by_age);
    upstreams->n_idle++;
    back_watch(back, false);
    if (!loop_timer_is_armed(&upstreams->sweep)) {
        loop_timer_arm(upstreams->loop, &upstreams->sweep, back->idle_ns + UPSTREAM_IDLE_NS);
    }
}

void back_read(Back *back)
{
    ssize_t n;

    if (back->h2) {
        h2_back_read(back);
        return;
    }
    if (back->eof || back->error || buf_len(&back->in) >= back->in_max) {
        return;
    }
    if (buf_reserve(back->owner->bufs, &back->in, 1) < 0) {
        return;
    }
    n = http_stream_read(&back->stream, buf_tail(&back->in), back->in.cap - back->in.end);
    if (n > 0) {
        buf_added(&back->in, (size_t)n);
        back->got_bytes = true;
    } else if (n == 0) {
        back->eof = true;
    } else if (n != -EAGAIN) {
        back->error = (int)n;
    }
    buf_trim(back->owner->bufs, &back->in);
}

void back_watch(Back *back, bool want_write)
{
    uint32_t events = want_write ? EPOLLOUT : 0;
    int r;

    /* HTTP/2 bounds `in` by its windows, and always has to hear of them. */
    if (back->connected &&
        (back->h2 ? !back->error : !back->eof && buf_len(&back->in) < back->in_max)) {
        events |= EPOLLIN;
    }
    r = http_stream_watch(&back->stream, events);
    if (r < 0 && back->error == 0) {
        back->error = r;
    }
}

static void check_connected(Back *back)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(http_stream_fd(&back->stream), SOL_SOCKET, SO_ERROR, &error, &len) < 0) {
        error = errno;
    }
    back->connected = error == 0;
    back->error = -error;
}

static void back_ready(HttpStream *stream, uint32_t events)
{
    Back *back = container_of(stream, Back, stream);

    if (!back->exchange) {
        if (!back->h2 || !h2_back_idle(back)) {
            back_close(back); /* the sandbox closed, or talks without being asked */
        }
        return;
    }
    if (!back->connected) {
        check_connected(back);
    } else {
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
            back_read(back);
        }
        if ((events & EPOLLERR) && buf_len(&back->in) == 0 && !back->error) {
            back->error = -ECONNRESET;
        }
    }
    back->owner->fn(back);
}

static int set_int(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value));
}

Back *upstreams_dial(Upstreams *upstreams, const Address *address, bool http2)
{
    Back *back = xcalloc(1, sizeof(*back));
    struct sockaddr_storage addr;
    socklen_t len = address_to_sockaddr(address, &addr);
    int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    back->owner = upstreams;
    back->address = *address;
    back->in_max = BUF_SIZE;
    back->h2 = http2 ? h2_back_new(back) : NULL;
    upstreams->n_all++;
    if (fd < 0) {
        back->error = -errno;
        return back;
    }
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_S);
    http_stream_init_fd(&back->stream, upstreams->loop, fd, back_ready);
    if (connect(fd, (struct sockaddr *)&addr, len) == 0) {
        back->connected = true;
    } else if (errno != EINPROGRESS) {
        back->error = -errno;
    }
    if (back->error == 0) {
        back_watch(back, !back->connected);
    }
    return back;
}
