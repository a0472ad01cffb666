/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/exec/capture.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

#define CAPTURE_FIRST_ALLOC 4096

void capture_init(Capture *capture, size_t max)
{
    CHECK(max >= CAPTURE_MAX_LEAST && max <= CAPTURE_MAX_LIMIT);
    *capture = (Capture){.max = max, .head_max = max - max / 2, .ring = max - max / 2};
}

void capture_deinit(Capture *capture)
{
    free(capture->mem);
    *capture = (Capture){0};
}

Capture capture_take(Capture *capture)
{
    Capture taken = *capture;

    *capture = (Capture){0};
    capture_init(capture, taken.max);
    return taken;
}

static void grow(Capture *c, size_t need)
{
    size_t size = c->cap ? c->cap : CAPTURE_FIRST_ALLOC;

    if (need <= c->cap) {
        return;
    }
    while (size < need) {
        size *= 2;
    }
    c->cap = size > c->max ? c->max : size;
    c->mem = xrealloc(c->mem, c->cap);
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

void capture_append(Capture *capture, Str bytes)
{
    Str part = str_take(bytes, capture->max - capture->len);

    capture->total += bytes.len;
    if (part.len > 0) {
        grow(capture, capture->len + part.len);
        memcpy(capture->mem + capture->len, part.ptr, part.len);
        capture->len += part.len;
    }
    if (part.len < bytes.len) {
        turn_ring(capture, str_drop(bytes, part.len));
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
