/* SPDX-License-Identifier: Apache-2.0 */
/* See frames.h. */
#include "router/frames.h"

#define OPCODE_CLOSE 8
#define MASK_LEN 4

/* Bytes of the frame's head, mask not counted, as far as is known from the first two. */
static uint8_t head_len(const Frames *frames)
{
    uint8_t length = frames->have < 2 ? 0 : frames->head[1] & 0x7f;

    return length == 127 ? 10 : length == 126 ? 4 : 2;
}

static void head_done(Frames *frames, uint8_t n)
{
    uint64_t length = n == 2 ? frames->head[1] & 0x7f : 0;

    for (uint8_t i = 2; i < n; i++) {
        length = length << 8 | frames->head[i];
    }
    frames->broken = length >> 63;
    frames->closed |= (frames->head[0] & 0x0f) == OPCODE_CLOSE;
    frames->left = length + ((frames->head[1] & 0x80) ? MASK_LEN : 0);
    frames->have = 0;
}

void frames_pass(Frames *frames, Str bytes)
{
    while (frames->on && !frames->broken && bytes.len > 0) {
        if (frames->left > 0) {
            size_t n = frames->left < bytes.len ? (size_t)frames->left : bytes.len;

            frames->left -= n;
            bytes = str_drop(bytes, n);
            continue;
        }
        frames->head[frames->have++] = (uint8_t)bytes.ptr[0];
        bytes = str_drop(bytes, 1);
        if (frames->have >= 2 && frames->have == head_len(frames)) {
            head_done(frames, frames->have);
        }
    }
}

bool frames_at_boundary(const Frames *frames)
{
    return frames->on && !frames->broken && !frames->closed && frames->have == 0 &&
           frames->left == 0;
}
