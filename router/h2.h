/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * HTTP/2 on a client's connection (RFC 9113), by nghttp2. A Front whose first bytes are the client
 * preface, or that agreed on "h2" in its TLS handshake, hands its buffers to an H2; each stream is
 * a Client (client.h) with an exchange of its own, and sandboxes are spoken to as for any other
 * client.
 *
 * Constant memory: a stream's `in` is bounded by its window, which opens only as its exchange
 * consumes; all streams together by H2_WINDOW_CONNECTION; `out` by one block a stream. Nothing is
 * read from a connection that does not take what is written to it.
 *
 * Work is done in h2_advance() only: bytes in, then the exchanges something happened to, then bytes
 * out, until nothing moves. Callbacks of the library note what happened and start nothing, so a
 * stream that is reset in the same breath (CVE-2023-44487) costs no connection to a sandbox.
 */
#include "router/front.h"
#include "router/h2_guard.h"
#include "router/h2_head.h"

#define H2_STREAMS_MAX 100             /* open streams of one connection */
#define H2_WINDOW_STREAM 65535         /* bytes of a request body that wait for the sandbox */
#define H2_WINDOW_CONNECTION (1 << 20) /* the same, all streams of a connection together */
#define H2_OUT_HIGH (64 * 1024)        /* frames that wait for the client's socket */
#define H2_CONTINUATIONS_MAX 8         /* frames that continue one head */
#define H2_RESETS_KEPT 128   /* own resets remembered: their streams' frames are ignored */
#define H2_ACKS_MAX 1000     /* SETTINGS and PING answers that wait to be sent */
#define H2_SETTINGS_MAX 32   /* entries of one SETTINGS frame */
#define H2_RESETS_BURST 1000 /* second line behind the guard, in the library */
#define H2_RESETS_PER_S 100

struct H2 {
    Front *front;
    Worker *worker;
    nghttp2_session *session;
    List streams;
    List dirty; /* streams whose exchange has to run */
    size_t n_streams;
    LoopDefer defer;
    H2Guard guard;
    H2Head head;                    /* the block being received: there is one at a time */
    int32_t head_stream;            /* of whom, 0 = none */
    uint64_t head_ns;               /* when it began */
    int32_t resets[H2_RESETS_KEPT]; /* stream ids, the oldest is overwritten */
    size_t n_resets;
    uint64_t next_ns; /* earliest deadline of a stream, maybe too early */
    bool draining;    /* GOAWAY was sent */
    bool broken;      /* the library cannot go on */
    bool calmed;      /* ENHANCE_YOUR_CALM was sent */
};

typedef struct H2Stream {
    Client client;
    H2 *h2;
    int32_t id;
    ListNode node;
    ListNode dirty;
    bool started;  /* the exchange was made once */
    bool closed;   /* the library has forgotten the stream */
    bool deferred; /* the library waits for bytes in client.out */
    bool shut;     /* a tunnel's sandbox has ended its side */
    int refused;   /* the head broke a rule: -errno of the parser */
    const char *refusal;
    uint64_t received; /* payload bytes that came */
    uint64_t credited; /* of these, given back to the windows */
    Buf trailers;      /* of the reply, as field lines with the empty line */
} H2Stream;

/* How much of `bytes` is the client preface: 0 it is not, 1 so far, 2 all of it. */
int h2_preface(Str bytes);
/* Takes the front over; its buffers keep what has been read. */
H2 *h2_new(Front *front);
H2 *h2_free(H2 *h2); /* ends all exchanges; NULL is fine; returns NULL */
/* Everything that can be done now. Sets front->dead when the connection is over. */
void h2_advance(H2 *h2);
void h2_drain(H2 *h2);  /* no new streams; the connection ends with the last one */
void h2_finish(H2 *h2); /* WebSockets end properly, all other streams now */
bool h2_has_room(const H2 *h2);
uint64_t h2_deadline(const H2 *h2);
void h2_timeout(H2 *h2); /* the deadline may have passed */

/* ---- between h2.c and h2_stream.c ---- */
H2Stream *h2_stream_new(H2 *h2, int32_t id);
void h2_stream_free(H2Stream *stream);
void h2_stream_touch(H2Stream *stream); /* its exchange has to run */
void h2_stream_run(H2Stream *stream);
void h2_stream_finish(H2Stream *stream);
void h2_stream_received(H2Stream *stream, Str bytes);
