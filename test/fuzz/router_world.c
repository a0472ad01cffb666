/* SPDX-License-Identifier: Apache-2.0 */
/* See router_world.h. */
#include "test/fuzz/router_world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define STEPS_MAX 1000 /* ticks until a closed connection must be gone */

static void set_tuning(Tuning *tuning)
{
    *tuning = (Tuning){
        .response_header_ns = 3600 * NS_PER_S,
        .proxy_ns = 3600 * NS_PER_S,
        .resolve_ns = 3600 * NS_PER_S,
        .body_max = 1 << 20,
        .head_max = HTTP_HEAD_MAX,
        .dial_ns = 5 * NS_PER_S,
        .head_ns = 3600 * NS_PER_S,
        .idle_ns = 3600 * NS_PER_S,
    };
}

void router_world_init(RouterWorld *world, bool trust)
{
    Worker *worker = &world->worker;
    int r;

    *world = (RouterWorld){.metrics = metrics_new()};
    observe_init(&world->observe, world->metrics, NULL, -1);
    route_board_init(&world->board);
    world->shared = (RouterShared){.trust_pod_ip = trust,
                                   .allow_loopback = trust,
                                   .http2 = true,
                                   .cluster_domain = "cluster.local",
                                   .board = &world->board,
                                   .tuning = &world->tuning,
                                   .observe = &world->observe};
    worker->shared = &world->shared;
    set_tuning(&worker->tuning);
    list_init(&worker->fronts);
    list_init(&worker->waiters);
    r = loop_new(clock_system(), &worker->loop);
    CHECK(r == 0);
    access_init(&worker->access, &world->observe, worker->loop);
    upstreams_init(&worker->upstreams, worker->loop, &worker->bufs, exchange_back_event);
    suspects_init(&worker->suspects, 1);
}

void router_world_deinit(RouterWorld *world)
{
    Worker *worker = &world->worker;

    upstreams_deinit(&worker->upstreams);
    suspects_deinit(&worker->suspects);
    access_deinit(&worker->access);
    buf_release(&worker->bufs, &worker->scratch);
    CHECK(worker->bufs.in_use == 0);
    CHECK(worker->n_waiters == 0 && list_is_empty(&worker->waiters));
    CHECK(atomic_load(&world->observe.inflight) == 0);
    buf_pool_deinit(&worker->bufs);
    loop_free(worker->loop);
    route_board_deinit(&world->board);
    metrics_free(world->metrics);
}

int router_world_connect(RouterWorld *world)
{
    const LimitHold hold = {0};
    int ends[2];
    int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);

    CHECK(r == 0);
    front_accept(&world->worker, ends[0], NULL, "127.0.0.1", &hold);
    return ends[1];
}

void router_world_step(RouterWorld *world)
{
    for (int i = 0; i < 3; i++) {
        int r = loop_step(world->worker.loop, 0);

        CHECK(r == 0);
    }
}

void router_world_hang_up(RouterWorld *world, int fd)
{
    close(fd);
    for (int i = 0; i < STEPS_MAX && world->worker.n_fronts > 0; i++) {
        router_world_step(world);
    }
    CHECK(world->worker.n_fronts == 0);
}
