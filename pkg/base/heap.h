/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Intrusive binary min-heap ordered by (key, order of insertion), so that equal deadlines fire in
 * the order in which they were set and a replay with the same seed does the same thing.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

typedef struct HeapNode {
    size_t pos; /* 1-based place in the heap, 0 = not in it */
    uint64_t key;
    uint64_t seq;
} HeapNode;

typedef struct Heap {
    HeapNode **nodes;
    size_t len;
    size_t cap;
    uint64_t seq;
} Heap;

void heap_init(Heap *heap);
void heap_deinit(Heap *heap); /* CHECKs that it is empty */
void heap_insert(Heap *heap, HeapNode *node, uint64_t key);
void heap_remove(Heap *heap, HeapNode *node); /* does nothing when it is not in the heap */
HeapNode *heap_first(const Heap *heap);       /* NULL when empty */
HeapNode *heap_pop(Heap *heap);

/*
 * Reads a heap in order without changing it: the first k nodes cost O(k log k), however many there
 * are. The heap must not change meanwhile.
 */
typedef struct HeapWalk {
    const Heap *heap;
    size_t *front; /* places whose parents were given; a heap by the order of their nodes */
    size_t len;
    size_t cap;
} HeapWalk;

HeapWalk heap_walk(const Heap *heap);
HeapNode *heap_walk_next(HeapWalk *walk); /* NULL at the end */
void heap_walk_deinit(HeapWalk *walk);

DEFINE_AUTO(heap_walk, HeapWalk, heap_walk_deinit)

static inline bool heap_contains(const HeapNode *node)
{
    return node->pos != 0;
}
