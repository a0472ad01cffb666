/* SPDX-License-Identifier: Apache-2.0 */
/* See hmap.h. The table doubles when it holds more nodes than buckets and never shrinks. */
#include "base/hmap.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

#define HMAP_BUCKETS_MIN 16

void hmap_init(HMap *map)
{
    *map = (HMap){0};
}

void hmap_deinit(HMap *map)
{
    CHECK(map->len == 0);
    free(map->buckets);
    *map = (HMap){0};
}

static void link_node(HMap *map, HMapNode *node)
{
    HMapNode **slot = &map->buckets[node->hash & (map->n_buckets - 1)];

    node->next = *slot;
    *slot = node;
}

static void grow(HMap *map)
{
    HMapNode **old = map->buckets;
    size_t n_old = map->n_buckets;

    map->n_buckets = n_old > 0 ? n_old * 2 : HMAP_BUCKETS_MIN;
    map->buckets = xcalloc(map->n_buckets, sizeof(HMapNode *));
    for (size_t i = 0; i < n_old; i++) {
        while (old[i]) {
            HMapNode *node = old[i];

            old[i] = node->next;
            link_node(map, node);
        }
    }
    free(old);
}

void hmap_insert(HMap *map, HMapNode *node, uint64_t hash)
{
    if (map->len >= map->n_buckets) {
        grow(map);
    }
    node->hash = hash;
    link_node(map, node);
    map->len++;
}

void hmap_remove(HMap *map, HMapNode *node)
{
    HMapNode **slot;

    CHECK(map->n_buckets > 0);
    slot = &map->buckets[node->hash & (map->n_buckets - 1)];
    while (*slot != node) {
        CHECK(*slot);
        slot = &(*slot)->next;
    }
    *slot = node->next;
    node->next = NULL;
    map->len--;
}

static HMapNode *same_hash(HMapNode *node, uint64_t hash)
{
    while (node && node->hash != hash) {
        node = node->next;
    }
    return node;
}

HMapNode *hmap_first(const HMap *map, uint64_t hash)
{
    return map->n_buckets > 0 ? same_hash(map->buckets[hash & (map->n_buckets - 1)], hash) : NULL;
}

HMapNode *hmap_next(const HMapNode *node)
{
    return same_hash(node->next, node->hash);
}
