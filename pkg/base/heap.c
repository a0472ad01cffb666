/* SPDX-License-Identifier: Apache-2.0 */
/* See heap.h. nodes[0] is unused, so that a node's pos of 0 means "not in the heap". */
#include "base/heap.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

#define HEAP_CAP_MIN 16

void heap_init(Heap *heap)
{
    *heap = (Heap){0};
}

void heap_deinit(Heap *heap)
{
    CHECK(heap->len == 0);
    free(heap->nodes);
    heap->nodes = NULL;
    heap->cap = 0;
}

static bool before(const HeapNode *a, const HeapNode *b)
{
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static void place(Heap *heap, HeapNode *node, size_t pos)
{
    heap->nodes[pos] = node;
    node->pos = pos;
}

static void sift_up(Heap *heap, HeapNode *node, size_t pos)
{
    while (pos > 1 && before(node, heap->nodes[pos / 2])) {
        place(heap, heap->nodes[pos / 2], pos);
        pos /= 2;
    }
    place(heap, node, pos);
}

static void sift_down(Heap *heap, HeapNode *node, size_t pos)
{
    for (;;) {
        size_t child = pos * 2;

        if (child > heap->len) {
            break;
        }
        if (child < heap->len && before(heap->nodes[child + 1], heap->nodes[child])) {
            child++;
        }
        if (!before(heap->nodes[child], node)) {
            break;
        }
        place(heap, heap->nodes[child], pos);
        pos = child;
    }
    place(heap, node, pos);
}

void heap_insert(Heap *heap, HeapNode *node, uint64_t key)
{
    CHECK(node->pos == 0);
    if (heap->len + 2 > heap->cap) {
        heap->cap = heap->cap > 0 ? heap->cap * 2 : HEAP_CAP_MIN;
        heap->nodes = xrealloc(heap->nodes, heap->cap * sizeof(HeapNode *));
    }
    node->key = key;
    node->seq = heap->seq++;
    heap->len++;
    sift_up(heap, node, heap->len);
}

void heap_remove(Heap *heap, HeapNode *node)
{
    size_t pos = node->pos;
    HeapNode *last;

    if (pos == 0) {
        return;
    }
    CHECK(pos <= heap->len && heap->nodes[pos] == node);
    last = heap->nodes[heap->len--];
    node->pos = 0;
    if (last == node) {
        return;
    }
    if (pos > 1 && before(last, heap->nodes[pos / 2])) {
        sift_up(heap, last, pos);
    } else {
        sift_down(heap, last, pos);
    }
}

HeapNode *heap_first(const Heap *heap)
{
    return heap->len > 0 ? heap->nodes[1] : NULL;
}

HeapNode *heap_pop(Heap *heap)
{
    HeapNode *node = heap_first(heap);

    if (node) {
        heap_remove(heap, node);
    }
    return node;
}

/* ---- walking ---- */

static bool front_before(const HeapWalk *walk, size_t a, size_t b)
{
    return before(walk->heap->nodes[walk->front[a]], walk->heap->nodes[walk->front[b]]);
}

static void front_swap(HeapWalk *walk, size_t a, size_t b)
{
    size_t pos = walk->front[a];

    walk->front[a] = walk->front[b];
    walk->front[b] = pos;
}

static void front_push(HeapWalk *walk, size_t pos)
{
    size_t at = walk->len;

    if (pos > walk->heap->len) {
        return;
    }
    if (walk->len == walk->cap) {
        walk->cap = walk->cap > 0 ? walk->cap * 2 : HEAP_CAP_MIN;
        walk->front = xrealloc(walk->front, walk->cap * sizeof(walk->front[0]));
    }
    walk->front[walk->len++] = pos;
    while (at > 0 && front_before(walk, at, (at - 1) / 2)) {
        front_swap(walk, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static size_t front_pop(HeapWalk *walk)
{
    size_t pos = walk->front[0];
    size_t at = 0;

    walk->front[0] = walk->front[--walk->len];
    for (;;) {
        size_t child = at * 2 + 1;

        if (child + 1 < walk->len && front_before(walk, child + 1, child)) {
            child++;
        }
        if (child >= walk->len || !front_before(walk, child, at)) {
            return pos;
        }
        front_swap(walk, at, child);
        at = child;
    }
}

HeapWalk heap_walk(const Heap *heap)
{
    HeapWalk walk = {.heap = heap};

    front_push(&walk, 1);
    return walk;
}

HeapNode *heap_walk_next(HeapWalk *walk)
{
    size_t pos;

    if (walk->len == 0) {
        return NULL;
    }
    pos = front_pop(walk);
    front_push(walk, pos * 2);
    front_push(walk, pos * 2 + 1);
    return walk->heap->nodes[pos];
}

void heap_walk_deinit(HeapWalk *walk)
{
    free(walk->front);
    *walk = (HeapWalk){.heap = walk->heap};
}
