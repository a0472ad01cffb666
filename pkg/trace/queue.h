/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Encoded spans between the threads that make them and the one that sends them. Thread-safe. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/str.h"

typedef struct TraceItem {
    ListNode node;
    size_t len;
    char bytes[];
} TraceItem;

typedef struct TraceQueue {
    pthread_mutex_t lock;
    List items;
    size_t len;
    size_t max;
    uint64_t dropped;
} TraceQueue;

void trace_queue_init(TraceQueue *queue, size_t max);
void trace_queue_deinit(TraceQueue *queue); /* frees what is in it */
/* Copies the bytes. Returns how many items there are now; 0 when it was full and the span dropped.
 */
size_t trace_queue_push(TraceQueue *queue, Str bytes);
/* Moves up to n items of at most bytes_max together (but at least one) to the end of `to`. */
size_t trace_queue_take(TraceQueue *queue, size_t n, size_t bytes_max, List *to);
void trace_queue_drop(TraceQueue *queue); /* counts a span that did not get this far */
size_t trace_queue_len(TraceQueue *queue);
uint64_t trace_queue_dropped(TraceQueue *queue);
