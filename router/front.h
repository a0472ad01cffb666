/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A client connection. It reads heads, runs one exchange at a time and keeps the time limits, or
 * leaves its bytes to h2.h when the client speaks HTTP/2. All
 * progress happens in front_step(), which is also the only place that destroys a front, so no
 * callee ever loses the ground under its feet.
 */
#include <netinet/in.h>

#include "router/exchange.h"

#define FRONT_LINGER_NS (2 * NS_PER_S)
#define FRONT_ROOM_MIN 2048 /* a head buffer grows when less is free */

typedef struct H2 H2;

typedef struct Front {
    Client client; /* of HTTP/1.1; its buffers are those of the connection */
    HttpStream stream;
    Worker *worker;
    H2 *h2; /* NULL: HTTP/1.1 */
    ListNode node;
    LoopTimer timer;
    uint64_t timer_ns; /* what it is armed for: it may be early, never late */
    uint64_t since_ns; /* idle or head or linger began */
    uint64_t born_ns;
    LimitHold hold;
    bool fresh;   /* no request yet */
    bool dead;    /* to be destroyed by front_step() */
    bool closing; /* after what is queued is sent */
    bool lingering;
    char peer[INET6_ADDRSTRLEN];
} Front;

/* hold: what the connection counts as; the front gives it back. tls: NULL = plain. */
void front_accept(Worker *worker, int fd, HttpTls *tls, const char *peer, const LimitHold *hold);
void front_step(Front *front);
void front_kill(Front *front); /* ends it now, whatever it does */
/* Ends it as the protocol wants it, if that is possible now, else at once. */
void front_finish(Front *front);
bool front_is_idle(const Front *front);
void front_drain(Front *front); /* no connection lives on */
/* Nothing more is sent; what still comes is read for a moment, so that the last bytes arrive. */
void front_linger(Front *front);
