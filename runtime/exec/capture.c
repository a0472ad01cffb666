/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/capture.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

#define CAPTURE_FIRST_ALLOC 4096

void capture_init(Capture *capture, size_t max, CaptureBudget *budget)
{
    CHECK(max >= CAPTURE_MAX_LEAST && max <= CAPTURE_MAX_LIMIT);
    *capture =
        (Capture){.budget = budget, .max = max, .head_max = max - max / 2, .ring = max - max / 2};
}

void capture_deinit(Capture *capture)
{
    if (capture->budget) {
        capture->budget->used -= capture->cap;
    }
    free(capture->mem);
    *capture = (Capture){0};
}

Capture capture_take(Capture *capture)
{
    Capture taken = *capture;

    *capture = (Capture){0};
    capture_init(capture, taken.max, taken.budget);
    return taken;
}

/* False when the budget does not allow it; the buffer is then as it was. */
static bool grow(Capture *c, size_t need)
{
    size_t size = c->cap ? c->cap : CAPTURE_FIRST_ALLOC;

    if (need <= c->cap) {
        return true;
    }
    while (size < need) {
        size *= 2;
    }
    size = size > c->max ? c->max : size;
    if (c->budget) {
        size_t used = c->budget->used + size - c->cap;

        if (size > CAPTURE_RESERVED && used > c->budget->max) {
            return false;
        }
        c->budget->used = used;
    }
    c->mem = xrealloc(c->mem, size);
    c->cap = size;
    return true;
}

/* What there is becomes the maximum. The bytes beyond the new head are in order, as a ring needs.
 */
static void freeze(Capture *c)
{
    c->max = c->cap;
    c->head_max = c->head_max < c->max - c->max / 2 ? c->head_max : c->max - c->max / 2;
    c->ring = c->head_max;
}

/* The buffer is full: the newest bytes of the tail replace the oldest. */
static void turn_ring(Capture *c, Str bytes)
{
    size_t size = c->max - c->head_max;

    if (bytes.len >= size) {
        memcpy(c->mem + c->head_max, bytes.ptr + bytes.len - size, size);
        c->ring = c->head_max;
        return;
    }
    while (bytes.len > 0) {
        Str part = str_take(bytes, c->max - c->ring);

        memcpy(c->mem + c->ring, part.ptr, part.len);
        c->ring += part.len;
        c->ring = c->ring == c->max ? c->head_max : c->ring;
        bytes = str_drop(bytes, part.len);
    }
}

/* Copies what fits behind the bytes that are there and returns the rest. */
static Str fill(Capture *c, Str bytes, size_t limit)
{
    Str part = str_take(bytes, limit - c->len);

    if (part.len > 0) {
        memcpy(c->mem + c->len, part.ptr, part.len);
        c->len += part.len;
    }
    return str_drop(bytes, part.len);
}

void capture_append(Capture *capture, Str bytes)
{
    size_t want = str_take(bytes, capture->max - capture->len).len;

    capture->total += bytes.len;
    if (want > 0 && !grow(capture, capture->len + want)) {
        /* In steps, so that nothing is dropped while the reserved memory is not full. */
        grow(capture, capture->max < CAPTURE_RESERVED ? capture->max : CAPTURE_RESERVED);
        freeze(capture);
    }
    bytes = fill(capture, bytes, capture->max);
    if (bytes.len > 0) {
        turn_ring(capture, bytes);
    }
}

bool capture_is_truncated(const Capture *capture)
{
    return capture->total > capture->len;
}

static void reverse(char *from, char *to)
{
    for (to--; from < to; from++, to--) {
        char c = *from;

        *from = *to;
        *to = c;
    }
}

void capture_content(Capture *capture, Str *ret_head, Str *ret_tail)
{
    *ret_head = (Str){capture->mem, capture->len};
    *ret_tail = STR_NULL;
    if (!capture_is_truncated(capture)) {
        return;
    }
    if (capture->ring != capture->head_max) {
        char *begin = capture->mem + capture->head_max, *end = capture->mem + capture->max;
        char *middle = capture->mem + capture->ring;

        /* Rotation by three reversals needs no second buffer. */
        reverse(begin, middle);
        reverse(middle, end);
        reverse(begin, end);
        capture->ring = capture->head_max;
    }
    *ret_head = (Str){capture->mem, capture->head_max};
    *ret_tail = (Str){capture->mem + capture->head_max, capture->max - capture->head_max};
}
