/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A worker: one thread, one loop, one listener of its own (SO_REUSEPORT), its own upstream pool and
 * buffers. Workers share nothing that is written per request but counters.
 *
 * Invariants: a Front, Back or Exchange is touched by its worker's thread only; the table a worker
 * holds is replaced in on_wake() and nowhere else, so a lookup never races a publication.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "http/acceptor.h"
#include "http/parse.h"
#include "router/access.h"
#include "router/gauges.h"
#include "router/shared.h"
#include "router/suspects.h"
#include "router/upstream.h"

#define WORKER_CONNS_MAX 16384  /* client connections; more are answered 503 and closed */
#define WORKER_WAITERS_MAX 4096 /* requests that wait for an unknown name */

typedef struct Worker {
    const RouterShared *shared;
    Loop *loop;
    HttpAcceptor acceptor;
    HttpAcceptor tls_acceptor;
    LoopWake wake;
    pthread_t thread;
    _Atomic int command; /* WORKER_*: what the main thread wants */
    _Atomic bool drained;
    bool started;
    bool draining;
    bool finishing;
    LoopWake *done; /* of the main thread: signalled when drained */

    RouteTable *table; /* NULL until the first one is published */
    Tuning tuning;     /* replaced in on_wake(), as the table is */
    List fronts;
    size_t n_fronts;
    List waiters; /* exchanges waiting for the table */
    size_t n_waiters;
    Access access;
    Gauges gauges;
    uint64_t bytes_in; /* of exchanges that ended; gauges.h */
    uint64_t bytes_out;
    BufPool bufs;
    Buf scratch; /* heads are built here */
    Upstreams upstreams;
    Suspects suspects;
    WakeInbox *waking;    /* NULL as shared->wake */
    ReviewInbox *reviews; /* NULL without token reviews */
    DnsInbox *dns;        /* NULL without a resolver */
    Rng rng;              /* of trace ids */
    HttpHead head;        /* scratch: valid inside one call only */
} Worker;

enum {
    WORKER_RUN,
    WORKER_CLOSE_IDLE, /* answer on, but let no connection live on: shutdown is near */
    WORKER_DRAIN,      /* accept nothing more, finish what runs */
    WORKER_FINISH,     /* the time is over: close WebSockets properly, cut the rest */
    WORKER_STOP,       /* end now */
};

/* Listening sockets of one worker; -1 = none. */
typedef struct WorkerSockets {
    int plain;
    int tls;
} WorkerSockets;

/* Takes the sockets. */
int worker_start(const RouterShared *shared, const WorkerSockets *sockets, LoopWake *done,
                 Worker **ret_worker, Err *reterr);
bool worker_is_listening(const Worker *worker);   /* for its own thread */
void worker_command(Worker *worker, int command); /* from the main thread */
void worker_wake(Worker *worker);                 /* a new table is on the board */
/* Waits for the thread and frees everything. After WORKER_STOP, or once drained. */
void worker_join(Worker *worker);
