/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See loop.h. epoll, level-triggered, with a heap of timers and a list of deferred calls.
 *
 * A source that is removed while its event waits in the current batch must not fire: loop_io_remove
 * clears it from the batch. Timers that fire are disarmed first, so a callback may arm them again.
 * Deferred calls posted by a deferred call run in the next tick, which then does not wait.
 */
#include "base/loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"

struct Loop {
    const Clock *clock;
    int epoll_fd; /* -1 for a virtual loop */
    uint64_t now;
    int64_t wall_now;
    Heap timers;
    List deferred;
    size_t n_io;
    bool stopping;
    int stop_code;
    struct epoll_event batch[LOOP_EVENTS_MAX];
    int batch_len;
    int batch_at;
};

static void loop_read_clock(Loop *loop)
{
    loop->now = clock_mono_ns(loop->clock);
    loop->wall_now = clock_wall_ns(loop->clock);
}

int loop_new_virtual(const Clock *clock, Loop **ret_loop)
{
    Loop *loop = xcalloc(1, sizeof(*loop));

    loop->clock = clock;
    loop->epoll_fd = -1;
    heap_init(&loop->timers);
    list_init(&loop->deferred);
    loop_read_clock(loop);
    *ret_loop = loop;
    return 0;
}

int loop_new(const Clock *clock, Loop **ret_loop)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    int r;

    if (fd < 0) {
        return -errno;
    }
    r = loop_new_virtual(clock, ret_loop);
    (*ret_loop)->epoll_fd = fd;
    return r;
}

Loop *loop_free(Loop *loop)
{
    if (loop) {
        CHECK(loop->n_io == 0);
        CHECK(list_is_empty(&loop->deferred));
        heap_deinit(&loop->timers);
        if (loop->epoll_fd >= 0) {
            close(loop->epoll_fd);
        }
        free(loop);
    }
    return NULL;
}

uint64_t loop_now(const Loop *loop)
{
    return loop->now;
}

int64_t loop_wall_now(const Loop *loop)
{
    return loop->wall_now;
}

/* ---- I/O ---- */

int loop_io_add(Loop *loop, LoopIo *io, int fd, uint32_t events, LoopIoFn fn)
{
    struct epoll_event ev = {.events = events, .data.ptr = io};

    CHECK(!loop_io_is_added(io));
    CHECK(loop->epoll_fd >= 0);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
        return -errno;
    }
    *io = (LoopIo){.loop = loop, .fd = fd, .events = events, .fn = fn};
    loop->n_io++;
    return 0;
}

int loop_io_modify(LoopIo *io, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = io};

    CHECK(loop_io_is_added(io));
    if (events == io->events) {
        return 0;
    }
    if (epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &ev) < 0) {
        return -errno;
    }
    io->events = events;
    return 0;
}

void loop_io_remove(LoopIo *io)
{
    Loop *loop = io->loop;

    if (!loop) {
        return;
    }
    /* Fails only when the descriptor was closed too early, which is a bug of the caller. */
    CHECK(epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL) == 0);
    for (int i = loop->batch_at; i < loop->batch_len; i++) {
        if (loop->batch[i].data.ptr == io) {
            loop->batch[i].data.ptr = NULL;
        }
    }
    io->loop = NULL;
    loop->n_io--;
}

static void loop_dispatch_io(Loop *loop)
{
    for (loop->batch_at = 0; loop->batch_at < loop->batch_len;) {
        struct epoll_event ev = loop->batch[loop->batch_at++];
        LoopIo *io = ev.data.ptr;

        if (io) {
            io->fn(io, ev.events);
        }
    }
    loop->batch_len = loop->batch_at = 0;
}

/* ---- timers ---- */

void loop_timer_init(LoopTimer *timer, LoopTimerFn fn)
{
    *timer = (LoopTimer){.fn = fn};
}

void loop_timer_arm(Loop *loop, LoopTimer *timer, uint64_t deadline_ns)
{
    loop_timer_disarm(timer);
    heap_insert(&loop->timers, &timer->node, deadline_ns);
    timer->loop = loop;
}

void loop_timer_disarm(LoopTimer *timer)
{
    if (timer->loop) {
        heap_remove(&timer->loop->timers, &timer->node);
        timer->loop = NULL;
    }
}

uint64_t loop_next_deadline(const Loop *loop)
{
    const HeapNode *first = heap_first(&loop->timers);

    return first ? first->key : LOOP_NEVER;
}

bool loop_is_calm(const Loop *loop)
{
    return list_is_empty(&loop->deferred) && loop_next_deadline(loop) > loop->now;
}

/* Only timers that were due when the tick began: one that arms itself for now waits a tick. */
static void loop_dispatch_timers(Loop *loop)
{
    uint64_t last_seq = loop->timers.seq;
    HeapNode *first;

    while ((first = heap_first(&loop->timers)) && first->key <= loop->now &&
           first->seq < last_seq) {
        LoopTimer *timer = container_of(first, LoopTimer, node);

        loop_timer_disarm(timer);
        timer->fn(timer);
    }
}

/* ---- deferred calls ---- */

void loop_defer_init(LoopDefer *defer, LoopDeferFn fn)
{
    *defer = (LoopDefer){.fn = fn};
}

void loop_defer_post(Loop *loop, LoopDefer *defer)
{
    if (!list_node_is_linked(&defer->node)) {
        list_push_back(&loop->deferred, &defer->node);
    }
}

void loop_defer_cancel(LoopDefer *defer)
{
    list_remove(&defer->node);
}

static void loop_dispatch_deferred(Loop *loop)
{
    ListNode last = {0};

    /* A marker splits what was there from what the calls themselves post. */
    list_push_back(&loop->deferred, &last);
    for (ListNode *node; (node = list_pop_front(&loop->deferred)) && node != &last;) {
        LoopDefer *defer = container_of(node, LoopDefer, node);

        defer->fn(defer);
    }
}

/* ---- wake-ups from elsewhere ---- */

static void loop_wake_ready(LoopIo *io, uint32_t events)
{
    LoopWake *wake = container_of(io, LoopWake, io);
    uint64_t count;
    ssize_t n = read(io->fd, &count, sizeof(count));

    UNUSED(events);
    if (n == (ssize_t)sizeof(count)) {
        wake->fn(wake);
    }
}

int loop_wake_init(Loop *loop, LoopWake *wake, LoopWakeFn fn)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r;

    if (fd < 0) {
        return -errno;
    }
    *wake = (LoopWake){.fn = fn};
    r = loop_io_add(loop, &wake->io, fd, EPOLLIN, loop_wake_ready);
    if (r < 0) {
        close(fd);
    }
    return r;
}

void loop_wake_deinit(LoopWake *wake)
{
    if (loop_io_is_added(&wake->io)) {
        int fd = wake->io.fd;

        loop_io_remove(&wake->io);
        close(fd);
    }
}

void loop_wake_signal(LoopWake *wake)
{
    uint64_t one = 1;
    ssize_t n = write(wake->io.fd, &one, sizeof(one));

    UNUSED(n); /* EAGAIN means the counter is full: the loop is as awake as it can be */
}

/* ---- running ---- */

static int loop_timeout_ms(const Loop *loop, uint64_t max_wait_ns)
{
    uint64_t deadline = loop_next_deadline(loop);
    uint64_t now = clock_mono_ns(loop->clock);
    uint64_t wait = max_wait_ns;

    if (!list_is_empty(&loop->deferred)) {
        return 0;
    }
    if (deadline != LOOP_NEVER) {
        uint64_t until = deadline > now ? deadline - now : 0;

        wait = until < wait ? until : wait;
    }
    if (wait == LOOP_NEVER) {
        return -1;
    }
    wait =
        wait / NS_PER_MS + (wait % NS_PER_MS != 0); /* round up: never wake before the deadline */
    return wait > INT32_MAX ? INT32_MAX : (int)wait;
}

int loop_step(Loop *loop, uint64_t max_wait_ns)
{
    if (loop->epoll_fd >= 0) {
        int n = epoll_wait(loop->epoll_fd, loop->batch, LOOP_EVENTS_MAX,
                           loop_timeout_ms(loop, max_wait_ns));

        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        loop->batch_len = n > 0 ? n : 0;
    }
    loop_read_clock(loop);
    loop_dispatch_io(loop);
    loop_dispatch_timers(loop);
    loop_dispatch_deferred(loop);
    return 0;
}

int loop_run(Loop *loop)
{
    loop->stopping = false;
    while (!loop->stopping) {
        int r = loop_step(loop, LOOP_NEVER);

        if (r < 0) {
            return r;
        }
    }
    return loop->stop_code;
}

void loop_stop(Loop *loop, int code)
{
    loop->stopping = true;
    loop->stop_code = code;
}
