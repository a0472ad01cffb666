/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One single-threaded event loop. Sources are fields of the caller's objects (container_of leads
 * back), so adding one never allocates. Order in a tick: I/O readiness, due timers, deferred work.
 * `now` is read once per tick. Removing a source inside any callback is safe: it will not fire
 * again.
 *
 * loop_new_virtual() gives a loop without epoll for tests and the simulator: loop_step() runs what
 * is due and loop_next_deadline() tells how far the fake clock may jump.
 *
 * Not thread-safe, except loop_wake_signal().
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/list.h"

typedef struct Loop Loop;
typedef struct LoopIo LoopIo;
typedef struct LoopTimer LoopTimer;
typedef struct LoopDefer LoopDefer;
typedef struct LoopWake LoopWake;

/* events: EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLERR, EPOLLHUP; level-triggered */
typedef void (*LoopIoFn)(LoopIo *io, uint32_t events);
typedef void (*LoopTimerFn)(LoopTimer *timer);
typedef void (*LoopDeferFn)(LoopDefer *defer);
typedef void (*LoopWakeFn)(LoopWake *wake);

struct LoopIo {
    Loop *loop; /* NULL = not added */
    int fd;     /* borrowed: remove the source before closing it */
    uint32_t events;
    LoopIoFn fn;
};

struct LoopTimer {
    HeapNode node;
    Loop *loop; /* NULL = not armed */
    LoopTimerFn fn;
};

struct LoopDefer {
    ListNode node;
    LoopDeferFn fn;
};

struct LoopWake {
    LoopIo io;
    LoopWakeFn fn;
};

#define LOOP_EVENTS_MAX 256 /* readiness events taken per tick */
#define LOOP_NEVER UINT64_MAX

int loop_new(const Clock *clock, Loop **ret_loop); /* -errno from epoll_create1 */
int loop_new_virtual(const Clock *clock, Loop **ret_loop);
Loop *loop_free(Loop *loop); /* NULL is fine; returns NULL; all sources must be gone */

uint64_t loop_now(const Loop *loop);     /* monotonic ns of this tick */
int64_t loop_wall_now(const Loop *loop); /* wall ns of this tick */

/* -errno from epoll_ctl. */
int loop_io_add(Loop *loop, LoopIo *io, int fd, uint32_t events, LoopIoFn fn);
int loop_io_modify(LoopIo *io, uint32_t events); /* does nothing when equal */
void loop_io_remove(LoopIo *io);                 /* does nothing when not added */

static inline bool loop_io_is_added(const LoopIo *io)
{
    return io->loop != NULL;
}

/* A timer fires once. Arming an armed timer moves it. */
void loop_timer_init(LoopTimer *timer, LoopTimerFn fn);
void loop_timer_arm(Loop *loop, LoopTimer *timer, uint64_t deadline_ns);
void loop_timer_disarm(LoopTimer *timer);

static inline bool loop_timer_is_armed(const LoopTimer *timer)
{
    return timer->loop != NULL;
}

/* Runs fn once at the end of this tick (or of the next, when posted from a deferred call). */
void loop_defer_init(LoopDefer *defer, LoopDeferFn fn);
void loop_defer_post(Loop *loop, LoopDefer *defer);
void loop_defer_cancel(LoopDefer *defer);

/* Wakes this loop from another thread or a signal handler; several signals may make one call. */
int loop_wake_init(Loop *loop, LoopWake *wake, LoopWakeFn fn);
void loop_wake_deinit(LoopWake *wake);
void loop_wake_signal(LoopWake *wake);

/* Runs until loop_stop(). Returns the code given there, or -errno from epoll_wait. */
int loop_run(Loop *loop);
void loop_stop(Loop *loop, int code);
/* One tick, waiting at most max_wait_ns for something to happen. 0 or -errno. */
int loop_step(Loop *loop, uint64_t max_wait_ns);
uint64_t loop_next_deadline(const Loop *loop); /* LOOP_NEVER when no timer is armed */
/* No deferred call waits and no timer is due at the time of the last tick. */
bool loop_is_calm(const Loop *loop);

DEFINE_AUTO_PTR(loop, Loop, loop_free)
