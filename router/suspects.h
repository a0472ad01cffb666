/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Hosts that did not answer when they were dialled: left alone for a while, so that a dead pod
 * costs the first request its time and the next ones an answer at once. A refused connection is an
 * answer and suspects nobody. Keyed by address: a sandbox that has moved is not suspect. When the
 * time is over one request tries; the others wait for its result.
 *
 * One table a worker, bounded; the longest unused is forgotten first.
 */
#include "base/hmap.h"
#include "base/list.h"
#include "router/address.h"

#define SUSPECTS_MAX 1024

typedef struct Suspects {
    HMap hosts;
    List ages; /* least recently blamed first */
    size_t n;
    uint64_t seed;
} Suspects;

void suspects_init(Suspects *suspects, uint64_t seed);
void suspects_deinit(Suspects *suspects);
/* 0: dial. Else the time until it is tried again. probe_ns: how long one attempt may take. */
uint64_t suspects_ask(Suspects *suspects, const Address *host, uint64_t now_ns, uint64_t probe_ns);
/* It did not answer. True when it was not suspect before. */
bool suspects_blame(Suspects *suspects, const Address *host, uint64_t now_ns, uint64_t wait_ns);
void suspects_clear(Suspects *suspects, const Address *host); /* it answered */
