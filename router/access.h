/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A worker's own end of observing: access log lines are gathered and written once per turn of the
 * loop, and the series of the last request are kept at hand. Lines go out in pieces that pipes take
 * whole (PIPE_BUF), cut between lines, so those of several workers do not mix.
 */
#include "base/loop.h"
#include "router/observe.h"

#define ACCESS_LINES_MAX (64 * 1024) /* gathered bytes; more are written at once */

typedef struct Access {
    Observe *observe;
    Loop *loop;
    StrBuf lines;
    LoopDefer flush;
    int64_t ts_s; /* what `ts` says */
    char ts[40];
    /* series of the last request */
    HttpMethod method;
    int status;
    char ns[64];
    uint8_t ns_len;
    Counter *requests;
    Histogram *duration;
} Access;

void access_init(Access *access, Observe *observe, Loop *loop);
void access_deinit(Access *access); /* writes what is left */
void access_request(Access *access, const ObserveRequest *request);
