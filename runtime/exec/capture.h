/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is kept of an output stream of any length: the first half of the maximum and the last half,
 * so that a reader sees how it began and how it ended. Memory grows with what was written and never
 * beyond the maximum.
 *
 * One buffer: [0, head_max) is filled once, the rest becomes a ring when it is full.
 *
 * Captures may share a budget. When it is used up, a capture stops growing and what it has becomes
 * its maximum, but CAPTURE_RESERVED bytes are always there.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define CAPTURE_MAX_DEFAULT (4u << 20) /* bytes kept of one stream */
#define CAPTURE_MAX_LIMIT (64u << 20)
#define CAPTURE_MAX_LEAST 16u
#define CAPTURE_RESERVED (32u << 10) /* a capture may grow to this without asking its budget */

typedef struct CaptureBudget {
    size_t max;
    size_t used; /* memory of all captures that share it */
} CaptureBudget;

typedef struct Capture {
    CaptureBudget *budget; /* NULL = none; outlives the capture */
    size_t max;
    size_t head_max;
    uint64_t total; /* bytes written to the stream */
    char *mem;
    size_t len;
    size_t cap;
    size_t ring; /* where the next byte goes once len == max */
} Capture;

void capture_init(Capture *capture, size_t max, CaptureBudget *budget);
void capture_deinit(Capture *capture);
void capture_append(Capture *capture, Str bytes);
/* Gives the content to the caller's capture and leaves an empty one behind. */
Capture capture_take(Capture *capture);

bool capture_is_truncated(const Capture *capture);
/*
 * Puts the ring in order and returns the kept bytes: all in *ret_head, or, when some were dropped,
 * what came before them in *ret_head and what came after in *ret_tail. Borrowed.
 */
void capture_content(Capture *capture, Str *ret_head, Str *ret_tail);
