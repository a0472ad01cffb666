/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * An account for each HTTP/2 connection of a client. Frames that cost the router something and the
 * client nothing are charged; time and useful work (payload, finished requests) refill it. One
 * account for all kinds of floods: resets (CVE-2023-44487), pings, settings, empty DATA frames,
 * windows opened byte by byte, priorities. An account without cover ends the connection with
 * ENHANCE_YOUR_CALM. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define H2_GUARD_CREDIT_MAX 10000    /* what an account can hold, and starts with */
#define H2_GUARD_REFILL_PER_S 1000   /* credits */
#define H2_GUARD_BYTES_PER_CREDIT 64 /* payload, either way */

/* Prices in credits. */
#define H2_GUARD_RESET 25 /* 400 at once, 40 a second, beside requests that are finished */
#define H2_GUARD_PING 5   /* gRPC measures with pings, about one for each burst of payload */
#define H2_GUARD_SETTINGS 50
#define H2_GUARD_EMPTY_DATA 10
#define H2_GUARD_SMALL_WINDOW 2 /* an update by less than H2_GUARD_WINDOW_SMALL bytes */
#define H2_GUARD_WINDOW_SMALL 256
#define H2_GUARD_MALFORMED 50 /* a request that broke the rules */
#define H2_GUARD_OTHER 2      /* PRIORITY, unknown types */

typedef struct H2Guard {
    int64_t credit;
    uint64_t refilled_ns;
    size_t bytes; /* payload not yet worth a credit */
} H2Guard;

void h2_guard_init(H2Guard *guard, uint64_t now_ns);
/* False: the account is overdrawn, the connection has to end. */
bool h2_guard_charge(H2Guard *guard, int price, uint64_t now_ns);
void h2_guard_payload(H2Guard *guard, size_t bytes);
void h2_guard_finished(H2Guard *guard); /* a request got its reply */
