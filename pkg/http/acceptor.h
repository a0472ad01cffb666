/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Accepts connections of one listening socket on a loop. When the process is out of descriptors it
 * rests for a moment instead of spinning on a listener that stays readable.
 */
#include "base/loop.h"

#define HTTP_ACCEPTS_PER_EVENT 64
#define HTTP_ACCEPT_REST_NS (100 * NS_PER_MS)

typedef struct HttpAcceptor HttpAcceptor;
/* Takes the non-blocking fd. `peer` is the numeric address, IPv4-mapped ones as IPv4. */
typedef void (*HttpAcceptFn)(HttpAcceptor *acceptor, int fd, const char *peer);

struct HttpAcceptor {
    LoopIo io;
    LoopTimer rest;
    HttpAcceptFn fn;
};

/* Takes the listening fd (closed on failure). -errno. */
int http_acceptor_start(HttpAcceptor *acceptor, Loop *loop, int fd, HttpAcceptFn fn);
void http_acceptor_stop(HttpAcceptor *acceptor); /* closes the fd; does nothing when stopped */
