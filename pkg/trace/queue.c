/* SPDX-License-Identifier: Apache-2.0 */
/* See queue.h. */
#include "trace/queue.h"

#include <stdlib.h>

#include "base/mem.h"

void trace_queue_init(TraceQueue *queue, size_t max)
{
    *queue = (TraceQueue){.max = max};
    list_init(&queue->items);
    CHECK(pthread_mutex_init(&queue->lock, NULL) == 0);
}

void trace_queue_deinit(TraceQueue *queue)
{
    ListNode *node;

    while ((node = list_pop_front(&queue->items))) {
        free(list_entry(node, TraceItem, node));
    }
    pthread_mutex_destroy(&queue->lock);
}

size_t trace_queue_push(TraceQueue *queue, Str bytes)
{
    TraceItem *item = xmalloc(sizeof(*item) + bytes.len);
    size_t len = 0;

    *item = (TraceItem){.len = bytes.len};
    memcpy(item->bytes, bytes.ptr, bytes.len);
    pthread_mutex_lock(&queue->lock);
    if (queue->len < queue->max) {
        list_push_back(&queue->items, &item->node);
        item = NULL;
        len = ++queue->len;
    } else {
        queue->dropped++;
    }
    pthread_mutex_unlock(&queue->lock);
    free(item);
    return len;
}

size_t trace_queue_take(TraceQueue *queue, size_t n, size_t bytes_max, List *to)
{
    size_t taken = 0, bytes = 0;
    ListNode *node;

    pthread_mutex_lock(&queue->lock);
    while (taken < n && (node = list_first(&queue->items))) {
        bytes += list_entry(node, TraceItem, node)->len;
        if (taken > 0 && bytes > bytes_max) {
            break;
        }
        list_remove(node);
        list_push_back(to, node);
        queue->len--;
        taken++;
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

void trace_queue_drop(TraceQueue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->dropped++;
    pthread_mutex_unlock(&queue->lock);
}

size_t trace_queue_len(TraceQueue *queue)
{
    size_t len;

    pthread_mutex_lock(&queue->lock);
    len = queue->len;
    pthread_mutex_unlock(&queue->lock);
    return len;
}

uint64_t trace_queue_dropped(TraceQueue *queue)
{
    uint64_t dropped;

    pthread_mutex_lock(&queue->lock);
    dropped = queue->dropped;
    pthread_mutex_unlock(&queue->lock);
    return dropped;
}
