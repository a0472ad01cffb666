/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Intrusive chained hash map. Nodes are fields of the caller's objects; the caller compares keys
 * while walking the nodes of one hash. Iteration order is meaningless: never let it decide
 * anything.
 *
 *     for (HMapNode *n = hmap_first(&map, h); n; n = hmap_next(n)) { if (key equal) ... }
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

typedef struct HMapNode HMapNode;
struct HMapNode {
    HMapNode *next;
    uint64_t hash;
};

typedef struct HMap {
    HMapNode **buckets;
    size_t n_buckets; /* power of two, 0 before the first insert */
    size_t len;
} HMap;

void hmap_init(HMap *map);
void hmap_deinit(HMap *map); /* frees the table, CHECKs that it is empty */
void hmap_insert(HMap *map, HMapNode *node, uint64_t hash);
void hmap_remove(HMap *map, HMapNode *node);          /* CHECKs that it is there */
HMapNode *hmap_first(const HMap *map, uint64_t hash); /* first node with exactly this hash */
HMapNode *hmap_next(const HMapNode *node);            /* next node with the same hash */

/* Visits all nodes; the current one may be removed in the body. */
#define hmap_foreach(map, it)                                                                      \
    for (size_t it##_b = 0; it##_b < (map)->n_buckets; it##_b++)                                   \
        for (HMapNode *it = (map)->buckets[it##_b], *it##_n = it ? it->next : NULL; it;            \
             it = it##_n, it##_n = it ? it->next : NULL)
