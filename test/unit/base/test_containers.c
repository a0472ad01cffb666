/* SPDX-License-Identifier: Apache-2.0 */
/* Heap, hash map, list, vector, arena: each against a plain model on random operations. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/hmap.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/vec.h"
#include "test/harness/t.h"

#define ITEMS 200

typedef struct Item {
    HeapNode heap;
    HMapNode map;
    ListNode list;
    uint64_t key;
} Item;

T_TEST(heap_pops_in_order_of_key_then_insertion)
{
    static Item items[ITEMS];
    Heap heap;
    Rng rng;
    uint64_t last_key = 0;
    uint64_t last_seq = 0;
    size_t popped = 0;

    heap_init(&heap);
    rng_init(&rng, 1);
    memset(items, 0, sizeof(items));
    for (size_t i = 0; i < ITEMS; i++) {
        heap_insert(&heap, &items[i].heap, rng_below(&rng, 20));
    }
    for (size_t i = 0; i < ITEMS; i += 3) {
        heap_remove(&heap, &items[i].heap);
        heap_remove(&heap, &items[i].heap); /* twice does nothing */
    }
    for (HeapNode *n; (n = heap_pop(&heap)); popped++) {
        T_CHECK(popped == 0 || n->key > last_key || (n->key == last_key && n->seq > last_seq));
        last_key = n->key;
        last_seq = n->seq;
    }
    T_EQ_INT(popped, ITEMS - (ITEMS + 2) / 3);
    heap_deinit(&heap);
}

static Item *map_find(const HMap *map, uint64_t key)
{
    for (HMapNode *n = hmap_first(map, key % 7); n; n = hmap_next(n)) {
        Item *item = container_of(n, Item, map);

        if (item->key == key) {
            return item;
        }
    }
    return NULL;
}

T_TEST(map_finds_what_is_in_it_and_nothing_else)
{
    static Item items[ITEMS];
    bool in[ITEMS] = {false};
    HMap map;
    Rng rng;

    hmap_init(&map);
    rng_init(&rng, 2);
    T_CHECK(!hmap_first(&map, 0));
    for (int step = 0; step < 5000; step++) {
        size_t i = rng_below(&rng, ITEMS);

        items[i].key = i;
        if (in[i]) {
            hmap_remove(&map, &items[i].map);
        } else {
            hmap_insert(&map, &items[i].map, i % 7); /* many collisions */
        }
        in[i] = !in[i];
        i = rng_below(&rng, ITEMS);
        T_CHECK(map_find(&map, i) == (in[i] ? &items[i] : NULL));
    }
    hmap_foreach (&map, node) {
        hmap_remove(&map, node);
    }
    T_EQ_INT(map.len, 0);
    hmap_deinit(&map);
}

T_TEST(list_keeps_order_and_survives_removal_while_walking)
{
    Item items[5] = {0};
    List list;
    uint64_t sum = 0;

    list_init(&list);
    T_CHECK(list_is_empty(&list));
    for (size_t i = 0; i < 5; i++) {
        items[i].key = i;
        list_push_back(&list, &items[i].list);
    }
    list_foreach (&list, node) {
        if (list_entry(node, Item, list)->key % 2) {
            list_remove(node);
        }
    }
    list_push_front(&list, &items[1].list);
    for (ListNode *n = list_first(&list); n; n = list_next(&list, n)) {
        sum = sum * 10 + list_entry(n, Item, list)->key;
    }
    T_EQ_INT(sum, 1024);
    T_CHECK(list_pop_front(&list) == &items[1].list);
    list_remove(&items[3].list); /* not linked: nothing happens */
}

T_TEST(vector_grows_pops_and_removes)
{
    VEC(int) v = {0};

    for (int i = 0; i < 10; i++) {
        vec_push(&v, i);
    }
    vec_remove(&v, 0);
    T_EQ_INT(v.ptr[0], 1);
    T_EQ_INT(vec_pop(&v), 9);
    T_EQ_INT(v.len, 8);
    vec_free(&v);
    T_CHECK(!v.ptr);
}

T_TEST(arena_memory_is_aligned_zeroed_and_separate)
{
    AUTO(arena) Arena arena;
    char *last = NULL;

    arena_init(&arena, 64);
    for (size_t size = 0; size < 300; size += 7) {
        char *p = arena_alloc(&arena, size);

        T_EQ_INT((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) {
            T_EQ_INT(p[i], 0);
            p[i] = 'x';
        }
        T_CHECK(p != last);
        last = p;
    }
    T_EQ_STR(arena_printf(&arena, "%s-%d", "pool", 7), "pool-7");
    T_EQ_STR(arena_dup(&arena, STR("abc")), "abc");
    arena_reset(&arena);
    T_EQ_INT(arena.used, 0);
    T_EQ_INT(*(char *)arena_alloc(&arena, 1), 0);
}

T_TEST(name_hash_matches_the_published_vectors)
{
    static const struct {
        const char *text;
        const char *hex;
    } rows[] = {
        {"", "811c9dc5"},           {"a", "e40c292c"},
        {"my-sandbox", "374de8f5"}, {"my-sandbox-conflict", "6da45cea"},
        {"test-pool", "59733166"},  {"test-warmpool", "abdcc27b"},
        {"warmpool", "8c6a35c6"},   {"warmpool-0", "5317cfd3"},
        {"template-0", "cd01fec6"}, {"python-sandbox-template", "d274c066"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char hex[HASH_HEX_SIZE];

        t_row(rows[i].text);
        hash_name(str_from(rows[i].text), hex);
        T_EQ_STR(hex, rows[i].hex);
    }
}

T_TEST(keyed_hash_depends_on_key_and_every_byte)
{
    uint64_t base = hash_str(1, STR("abcdefghij"));

    T_CHECK(base == hash_str(1, STR("abcdefghij")));
    T_CHECK(base != hash_str(2, STR("abcdefghij")));
    T_CHECK(base != hash_str(1, STR("abcdefghiJ")));
    T_CHECK(base != hash_str(1, STR("Abcdefghij")));
    T_CHECK(hash_str(1, STR("")) != hash_str(1, (Str){"\0", 1}));
}

T_TEST(random_streams_repeat_and_fork_apart)
{
    Rng a;
    Rng b;
    Rng child;

    rng_init(&a, 7);
    rng_init(&b, 7);
    for (int i = 0; i < 100; i++) {
        T_CHECK(rng_u64(&a) == rng_u64(&b));
        T_CHECK(rng_below(&a, 3) < 3);
        rng_below(&b, 3);
        T_CHECK(rng_unit(&a) < 1.0);
        rng_unit(&b);
    }
    child = rng_fork(&a);
    T_CHECK(rng_u64(&child) != rng_u64(&a));
}

typedef struct Walked {
    HeapNode node;
} Walked;

T_TEST(heap_walk_reads_in_order_and_changes_nothing)
{
    static Walked items[500];
    Heap heap;
    Rng rng;
    uint64_t before = 0;
    size_t n = 0;
    HeapNode *node;

    heap_init(&heap);
    rng_init(&rng, 5);
    {
        AUTO(heap_walk) HeapWalk none = heap_walk(&heap);

        T_CHECK(!heap_walk_next(&none));
    }
    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        heap_insert(&heap, &items[i].node, rng_below(&rng, 100));
    }
    for (int round = 0; round < 2; round++) {
        AUTO(heap_walk) HeapWalk walk = heap_walk(&heap);

        for (n = 0, before = 0; (node = heap_walk_next(&walk)); n++) {
            T_CHECK(node->key >= before);
            before = node->key;
        }
        T_EQ_INT(n, ARRAY_LEN(items));
    }
    {
        AUTO(heap_walk) HeapWalk walk = heap_walk(&heap);

        for (n = 0; n < 10; n++) { /* a few of many: only what is near them is looked at */
            T_CHECK(heap_walk_next(&walk));
        }
        T_CHECK(walk.len <= 11);
    }
    while (heap_pop(&heap)) {
    }
    heap_deinit(&heap);
}
