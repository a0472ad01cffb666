/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The numbers a running router may be given anew: time limits, sizes, limits of clients and
 * sandboxes. The main thread puts a whole set on the board; each worker copies it in its on_wake(),
 * so that nothing changes in the middle of a step and no request takes a lock.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "router/identity.h"
#include "router/limits.h"
#include "router/options.h"

typedef struct Tuning {
    uint64_t response_header_ns;
    uint64_t proxy_ns;     /* cap of the above, and the idle limit after headers */
    uint64_t resolve_ns;   /* wait for an unknown name */
    uint64_t body_max;     /* 0 = unlimited */
    uint64_t head_max;     /* bytes of a request head, at most HTTP_HEAD_MAX */
    int64_t dial_retries;  /* additional attempts */
    uint64_t retry_min_ns; /* doubles up to retry_max_ns */
    uint64_t retry_max_ns;
    size_t idle_max;       /* idle connections of a worker to sandboxes */
    uint64_t dial_ns;      /* one attempt to connect */
    uint64_t dead_host_ns; /* how long a host that did not answer is left alone, 0 = never */
    uint64_t head_ns;      /* a request head must arrive within */
    uint64_t idle_ns;      /* an idle client connection lives */
    uint64_t lifetime_ns;  /* a client connection takes requests for, 0 = for ever */
    uint64_t upgrade_idle_ns;
    uint64_t upgrade_lifetime_ns; /* 0 = for ever, both */
    uint64_t wake_ns;             /* wait for a resumed sandbox */
    LimitRule client;
    LimitRule sandbox;
    bool client_limited; /* any of its limits is on */
    bool sandbox_limited;
    ProxyNets proxies;
} Tuning;

void tuning_from_options(const RouterOptions *options, Tuning *ret);

typedef struct TuningBoard {
    pthread_mutex_t lock;
    Tuning value; /* under the lock */
} TuningBoard;

void tuning_board_init(TuningBoard *board);
void tuning_board_deinit(TuningBoard *board);
void tuning_board_put(TuningBoard *board, const Tuning *value);
void tuning_board_get(TuningBoard *board, Tuning *ret);
