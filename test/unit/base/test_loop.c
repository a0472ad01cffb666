/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/signal.h"
#include "test/harness/t.h"

typedef struct Probe {
    LoopIo io;
    LoopTimer timer;
    LoopDefer defer;
    LoopWake wake;
    Loop *loop;
    struct Probe *other;
    int calls;
    int limit;
} Probe;

static void timer_count(LoopTimer *timer)
{
    container_of(timer, Probe, timer)->calls++;
}

T_TEST(timers_fire_once_in_order_and_never_early)
{
    FakeClock clock;
    AUTO(loop) Loop *loop = NULL;
    Probe a = {0};
    Probe b = {0};

    fake_clock_init(&clock, 0, 0);
    T_OK(loop_new_virtual(&clock.clock, &loop));
    T_CHECK(loop_next_deadline(loop) == LOOP_NEVER);
    loop_timer_init(&a.timer, timer_count);
    loop_timer_init(&b.timer, timer_count);
    loop_timer_arm(loop, &a.timer, 10);
    loop_timer_arm(loop, &b.timer, 20);
    loop_timer_arm(loop, &b.timer, 30); /* moved */
    T_EQ_INT(loop_next_deadline(loop), 10);
    fake_clock_advance(&clock, 9);
    loop_step(loop, 0);
    T_EQ_INT(a.calls, 0);
    fake_clock_advance(&clock, 11);
    loop_step(loop, 0);
    loop_step(loop, 0);
    T_EQ_INT(a.calls, 1);
    T_EQ_INT(b.calls, 0);
    loop_timer_disarm(&b.timer);
    loop_timer_disarm(&b.timer);
    fake_clock_advance(&clock, 100);
    loop_step(loop, 0);
    T_EQ_INT(b.calls, 0);
}

static void timer_rearm_now(LoopTimer *timer)
{
    Probe *p = container_of(timer, Probe, timer);

    p->calls++;
    loop_timer_arm(p->loop, timer, loop_now(p->loop));
}

T_TEST(a_timer_that_rearms_for_now_does_not_starve_the_loop)
{
    FakeClock clock;
    AUTO(loop) Loop *loop = NULL;
    Probe p = {0};

    fake_clock_init(&clock, 1, 0);
    T_OK(loop_new_virtual(&clock.clock, &loop));
    p.loop = loop;
    loop_timer_init(&p.timer, timer_rearm_now);
    loop_timer_arm(loop, &p.timer, 0);
    loop_step(loop, 0);
    T_EQ_INT(p.calls, 1);
    loop_step(loop, 0);
    T_EQ_INT(p.calls, 2);
    loop_timer_disarm(&p.timer);
}

static void defer_again(LoopDefer *defer)
{
    Probe *p = container_of(defer, Probe, defer);

    if (++p->calls < p->limit) {
        loop_defer_post(p->loop, defer);
    }
}

T_TEST(deferred_calls_run_once_a_tick)
{
    FakeClock clock;
    AUTO(loop) Loop *loop = NULL;
    Probe p = {.limit = 2};

    fake_clock_init(&clock, 0, 0);
    T_OK(loop_new_virtual(&clock.clock, &loop));
    p.loop = loop;
    loop_defer_init(&p.defer, defer_again);
    loop_defer_post(loop, &p.defer);
    loop_defer_post(loop, &p.defer); /* once, though posted twice */
    loop_step(loop, 0);
    T_EQ_INT(p.calls, 1);
    loop_step(loop, 0);
    T_EQ_INT(p.calls, 2);
    loop_defer_post(loop, &p.defer);
    loop_defer_cancel(&p.defer);
    loop_step(loop, 0);
    T_EQ_INT(p.calls, 2);
}

static void io_remove_both(LoopIo *io, uint32_t events)
{
    Probe *p = container_of(io, Probe, io);

    UNUSED(events);
    p->calls++;
    loop_io_remove(&p->other->io);
    loop_io_remove(io);
}

T_TEST(a_source_removed_by_another_in_the_same_batch_does_not_fire)
{
    AUTO(loop) Loop *loop = NULL;
    Probe a = {0};
    Probe b = {.other = &a};
    int fds[2][2];

    a.other = &b;
    T_OK(loop_new(clock_system(), &loop));
    for (int i = 0; i < 2; i++) {
        T_OK(pipe(fds[i]));
        T_EQ_INT(write(fds[i][1], "x", 1), 1);
    }
    T_OK(loop_io_add(loop, &a.io, fds[0][0], EPOLLIN, io_remove_both));
    T_OK(loop_io_add(loop, &b.io, fds[1][0], EPOLLIN, io_remove_both));
    T_OK(loop_step(loop, 0));
    T_EQ_INT(a.calls + b.calls, 1);
    T_OK(loop_step(loop, 0));
    T_EQ_INT(a.calls + b.calls, 1);
    for (int i = 0; i < 2; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
}

T_TEST(a_bad_descriptor_is_an_error_not_a_crash)
{
    AUTO(loop) Loop *loop = NULL;
    Probe p = {0};

    T_OK(loop_new(clock_system(), &loop));
    T_EQ_INT(loop_io_add(loop, &p.io, -1, EPOLLIN, io_remove_both), -EBADF);
    T_CHECK(!loop_io_is_added(&p.io));
}

static void wake_stop(LoopWake *wake)
{
    Probe *p = container_of(wake, Probe, wake);

    p->calls++;
    loop_stop(p->loop, 7);
}

static void *signal_from_thread(void *arg)
{
    loop_wake_signal(arg);
    loop_wake_signal(arg);
    return NULL;
}

T_TEST(another_thread_wakes_the_loop)
{
    AUTO(loop) Loop *loop = NULL;
    Probe p = {0};
    pthread_t thread;

    T_OK(loop_new(clock_system(), &loop));
    p.loop = loop;
    T_OK(loop_wake_init(loop, &p.wake, wake_stop));
    T_OK(pthread_create(&thread, NULL, signal_from_thread, &p.wake));
    T_EQ_INT(loop_run(loop), 7);
    T_CHECK(p.calls >= 1);
    T_OK(pthread_join(thread, NULL));
    loop_wake_deinit(&p.wake);
}

typedef struct SignalProbe {
    Signals signals;
    Loop *loop;
    int last;
} SignalProbe;

static void on_signal(Signals *signals, int signo)
{
    SignalProbe *p = container_of(signals, SignalProbe, signals);

    p->last = signo;
    loop_stop(p->loop, 0);
}

/* Found by a router that was told twice to go: the second signal met it between this and its exit.
 */
T_TEST(a_signal_after_the_end_kills_nobody)
{
    int status;
    pid_t child = fork();

    T_CHECK(child >= 0);
    if (child == 0) {
        Loop *loop;
        SignalProbe p = {0};

        if (loop_new(clock_system(), &loop) != 0 ||
            signals_init(&p.signals, loop, (const int[]){SIGTERM, 0}, on_signal) != 0) {
            _exit(1);
        }
        signals_deinit(&p.signals);
        loop_free(loop);
        _exit(raise(SIGTERM));
    }
    T_EQ_INT(waitpid(child, &status, 0), child);
    T_EQ_INT(status, 0);
}

T_TEST(signals_arrive_as_events)
{
    AUTO(loop) Loop *loop = NULL;
    SignalProbe p = {0};

    T_OK(loop_new(clock_system(), &loop));
    p.loop = loop;
    T_OK(signals_init(&p.signals, loop, (const int[]){SIGUSR1, SIGTERM, 0}, on_signal));
    T_OK(raise(SIGUSR1));
    T_OK(loop_run(loop));
    T_EQ_INT(p.last, SIGUSR1);
    signals_deinit(&p.signals);
}
