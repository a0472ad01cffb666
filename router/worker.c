/* SPDX-License-Identifier: Apache-2.0 */
/* See worker.h. */
#include "router/worker.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "router/fair.h"
#include "router/front.h"

static const char too_many[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                               "Retry-After: 1\r\nContent-Length: 0\r\n\r\n";
static const char too_many_of_client[] =
    "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nRetry-After: 1\r\n"
    "Content-Type: application/json\r\nContent-Length: 81\r\n\r\n"
    "{\"detail\":\"Too many connections of this client (--max-connections-per-client).\"}\n";

/* A handshake to say no would cost more than the limit saves: TLS is just closed. */
static void refuse(int fd, const HttpTls *tls, const char *text, size_t len)
{
    if (!tls) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

        UNUSED(n); /* best effort: the connection ends either way */
    }
    close(fd);
}

static void take(Worker *worker, int fd, HttpTls *tls, const char *peer)
{
    LimitHold hold = {0};

    if (worker->n_fronts >= WORKER_CONNS_MAX) {
        refuse(fd, tls, too_many, sizeof(too_many) - 1);
        return;
    }
    if (!fair_accept(worker, peer, &hold)) {
        refuse(fd, tls, too_many_of_client, sizeof(too_many_of_client) - 1);
        return;
    }
    front_accept(worker, fd, tls, peer, &hold);
}

static void on_accept(HttpAcceptor *acceptor, int fd, const char *peer)
{
    take(container_of(acceptor, Worker, acceptor), fd, NULL, peer);
}

static void on_accept_tls(HttpAcceptor *acceptor, int fd, const char *peer)
{
    Worker *worker = container_of(acceptor, Worker, tls_acceptor);

    take(worker, fd, worker->shared->tls, peer);
}

bool worker_is_listening(const Worker *worker)
{
    return loop_io_is_added(&worker->acceptor.io) || loop_io_is_added(&worker->tls_acceptor.io);
}

/* Everything that waits for a name looks again. */
static void take_table(Worker *worker)
{
    RouteTable *table = route_board_get(worker->shared->board);

    route_table_unref(worker->table);
    worker->table = table;
    list_foreach (&worker->waiters, node) {
        Exchange *x = list_entry(node, Exchange, waiter);

        if (table && route_table_find(table, routing_ns(&x->routing), routing_id(&x->routing))) {
            client_step(x->client);
        }
    }
}

static void close_idle(Worker *worker)
{
    worker->draining = true;
    upstreams_close_idle(&worker->upstreams);
    list_foreach (&worker->fronts, node) {
        front_drain(list_entry(node, Front, node));
    }
}

static void finish_if_drained(Worker *worker)
{
    if (worker->draining && !worker_is_listening(worker) && worker->n_fronts == 0) {
        atomic_store(&worker->drained, true);
        loop_wake_signal(worker->done);
    }
}

static void take_tuning(Worker *worker)
{
    tuning_board_get(worker->shared->tuning, &worker->tuning);
    worker->upstreams.idle_max = worker->tuning.idle_max;
}

static void on_wake(LoopWake *wake)
{
    Worker *worker = container_of(wake, Worker, wake);
    int command = atomic_load(&worker->command);

    take_table(worker);
    take_tuning(worker);
    if (command >= WORKER_CLOSE_IDLE && !worker->draining) {
        close_idle(worker);
    }
    if (command >= WORKER_DRAIN) {
        http_acceptor_stop(&worker->acceptor);
        http_acceptor_stop(&worker->tls_acceptor);
        list_foreach (&worker->fronts, node) {
            Front *front = list_entry(node, Front, node);

            if (command == WORKER_STOP || front_is_idle(front)) {
                front_kill(front);
            } else if (command == WORKER_FINISH && !worker->finishing) {
                front_finish(front);
            }
        }
    }
    worker->finishing = command >= WORKER_FINISH;
    finish_if_drained(worker);
}

static void write_gauges(Worker *worker)
{
    const uint64_t values[GAUGES] = {
        [GAUGE_CLIENT_CONNECTIONS] = worker->n_fronts,
        [GAUGE_SANDBOX_CONNECTIONS] = worker->upstreams.n_all,
        [GAUGE_SANDBOX_IDLE] = worker->upstreams.n_idle,
        [GAUGE_WAITING] = worker->n_waiters,
        [GAUGE_BYTES_IN] = worker->bytes_in,
        [GAUGE_BYTES_OUT] = worker->bytes_out,
    };

    for (int i = 0; i < GAUGES; i++) {
        atomic_store_explicit(&worker->gauges.values[i], values[i], memory_order_relaxed);
    }
}

static void *worker_main(void *arg)
{
    Worker *worker = arg;

    while (!atomic_load(&worker->drained)) {
        int r = loop_step(worker->loop, LOOP_NEVER);

        CHECK(r == 0); /* epoll_wait fails only when the program is wrong */
        write_gauges(worker);
        finish_if_drained(worker);
    }
    return NULL;
}

static void worker_free(Worker *worker)
{
    http_acceptor_stop(&worker->acceptor);
    http_acceptor_stop(&worker->tls_acceptor);
    upstreams_deinit(&worker->upstreams);
    suspects_deinit(&worker->suspects);
    worker->dns = dns_inbox_free(worker->dns);
    worker->waking = wake_inbox_free(worker->waking);
    worker->reviews = review_inbox_free(worker->reviews);
    loop_wake_deinit(&worker->wake);
    route_table_unref(worker->table);
    access_deinit(&worker->access);
    buf_release(&worker->bufs, &worker->scratch);
    buf_pool_deinit(&worker->bufs);
    loop_free(worker->loop);
    free(worker);
}

/* Accepted sockets inherit these from the listener. */
static void set_keepalive(int fd)
{
    const int on = 1, idle_s = 30;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
}

/* A thread with all signals blocked: they are the main thread's. */
static int start_thread(Worker *worker)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&worker->thread, NULL, worker_main, worker);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -r;
}

/* Takes the fd; -1 is no listener. */
static int listen_on(Worker *worker, HttpAcceptor *acceptor, int fd, HttpAcceptFn fn)
{
    if (fd < 0) {
        return 0;
    }
    set_keepalive(fd);
    return http_acceptor_start(acceptor, worker->loop, fd, fn);
}

static int start_listening(Worker *worker, const WorkerSockets *sockets)
{
    int r = listen_on(worker, &worker->acceptor, sockets->plain, on_accept);
    int t = listen_on(worker, &worker->tls_acceptor, sockets->tls, on_accept_tls);

    return r < 0 ? r : t;
}

static void close_sockets(const WorkerSockets *sockets)
{
    const int fds[] = {sockets->plain, sockets->tls};

    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

int worker_start(const RouterShared *shared, const WorkerSockets *sockets, LoopWake *done,
                 Worker **ret_worker, Err *reterr)
{
    Worker *worker = xcalloc(1, sizeof(*worker));
    int r;

    worker->shared = shared;
    worker->done = done;
    list_init(&worker->fronts);
    list_init(&worker->waiters);
    r = loop_new(clock_system(), &worker->loop);
    if (r < 0) {
        close_sockets(sockets);
        free(worker);
        return err_set_errno(reterr, -r, "start a worker");
    }
    rng_init_os(&worker->rng);
    access_init(&worker->access, shared->observe, worker->loop);
    upstreams_init(&worker->upstreams, worker->loop, &worker->bufs, exchange_back_event);
    suspects_init(&worker->suspects, worker->upstreams.seed);
    r = start_listening(worker, sockets);
    r = r < 0 ? r : loop_wake_init(worker->loop, &worker->wake, on_wake);
    if (r == 0) {
        worker->dns = shared->dns ? dns_inbox_new(shared->dns, worker->loop) : NULL;
        worker->waking = shared->wake ? wake_inbox_new(shared->wake, worker->loop) : NULL;
        worker->reviews =
            shared->authz.review ? review_inbox_new(shared->authz.review, worker->loop) : NULL;
        worker->table = route_board_get(shared->board);
        take_tuning(worker);
        r = start_thread(worker);
    }
    if (r < 0) {
        worker_free(worker);
        return err_set_errno(reterr, -r, "start a worker");
    }
    *ret_worker = worker;
    return 0;
}

void worker_command(Worker *worker, int command)
{
    atomic_store(&worker->command, command);
    loop_wake_signal(&worker->wake);
}

void worker_wake(Worker *worker)
{
    loop_wake_signal(&worker->wake);
}

void worker_join(Worker *worker)
{
    pthread_join(worker->thread, NULL);
    worker_free(worker);
}
