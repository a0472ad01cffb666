/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the frames of a WebSocket (RFC 6455, section 5.2) end, seen from the bytes that pass: only
 * there may the router put in a close frame of its own. Knows lengths only; payloads are skipped
 * unread, at a cost per frame and not per byte. What is no WebSocket is never at a boundary.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define FRAMES_HEAD_MAX 10 /* without the mask, which is skipped with the payload */

typedef struct Frames {
    bool on;     /* this is a WebSocket */
    bool closed; /* a close frame began: nothing may follow it */
    bool broken; /* a length no peer may send: no boundary is known any more */
    uint8_t have;
    uint8_t head[FRAMES_HEAD_MAX];
    uint64_t left; /* of mask and payload */
} Frames;

void frames_pass(Frames *frames, Str bytes);
/* All that passed is whole frames, and one more may follow. */
bool frames_at_boundary(const Frames *frames);
/* Close frame of a server, status 1001: the endpoint goes away. */
#define FRAMES_GOING_AWAY ((Str){"\x88\x02\x03\xe9", 4})
