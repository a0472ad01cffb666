/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Connections to sandboxes. A Back belongs to one exchange, or to nobody while it waits in the pool
 * of its worker for the next request to the same address. An idle connection is watched, so that
 * one the sandbox closes is gone before anybody picks it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/hmap.h"
#include "base/list.h"
#include "base/loop.h"
#include "http/stream.h"
#include "router/address.h"
#include "router/buf.h"

#define UPSTREAM_IDLE_MAX 65536 /* of --upstream-max-idle; the oldest goes first */
#define UPSTREAM_IDLE_NS                                                                           \
    (4 * NS_PER_S) /* shorter than the 5 s after which common servers close                        \
                    */

typedef struct Upstreams Upstreams;
typedef struct Back Back;
typedef struct H2Back H2Back;
typedef void (*BackFn)(Back *back); /* something happened: bytes, connected, closed */

struct Back {
    HttpStream stream;
    Upstreams *owner;
    void *exchange; /* NULL while idle */
    Address address;
    H2Back *h2; /* NULL: HTTP/1.1 */
    Buf in;
    Buf out;
    bool connected;
    bool reused;
    bool eof;
    bool got_bytes; /* anything came back since it was taken */
    int error;      /* why it cannot be used, 0 = it can */
    size_t in_max;  /* bytes `in` may hold: more while a head is expected */
    uint64_t idle_ns;
    HMapNode by_address;
    ListNode by_age;
};

struct Upstreams {
    Loop *loop;
    BufPool *bufs;
    BackFn fn;
    HMap idle;
    List ages; /* oldest first */
    size_t n_idle;
    size_t idle_max; /* 0 = no connection is kept */
    size_t n_all;
    uint64_t seed;
    LoopTimer sweep;
};

void upstreams_init(Upstreams *upstreams, Loop *loop, BufPool *bufs, BackFn fn);
void upstreams_deinit(Upstreams *upstreams); /* closes the idle ones; no other may be left */
void upstreams_close_idle(Upstreams *upstreams);

/* An idle connection, NULL when there is none. careful: make sure that it is still open. */
Back *upstreams_take(Upstreams *upstreams, const Address *address, bool http2, bool careful);
/* Starts to connect. back->error is set when that failed at once. */
Back *upstreams_dial(Upstreams *upstreams, const Address *address, bool http2);
/* Gives a connection back whose reply is complete. */
void upstreams_put(Back *back);
void back_close(Back *back);

/* Reads what fits. False: nothing more comes now. */
void back_read(Back *back);
/* Events wanted: reading while there is room, writing when asked for. */
void back_watch(Back *back, bool want_write);
