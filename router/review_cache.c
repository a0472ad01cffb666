/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of reviews, with a maximum. See review.h. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "router/review_impl.h"

static uint64_t hash_of(const ReviewKey *key)
{
    uint64_t hash; /* the key is a digest already */

    memcpy(&hash, key->bytes, sizeof(hash));
    return hash;
}

ReviewEntry *review_cache_find(Review *review, ReviewKind kind, const ReviewKey *key)
{
    HMap *map = &review->map[kind];

    for (HMapNode *n = hmap_first(map, hash_of(key)); n; n = hmap_next(n)) {
        ReviewEntry *entry = container_of(n, ReviewEntry, node);

        if (memcmp(&entry->key, key, sizeof(*key)) == 0) {
            return entry;
        }
    }
    return NULL;
}

static void forget(Review *review, ReviewEntry *entry)
{
    hmap_remove(&review->map[entry->kind], &entry->node);
    list_remove(&entry->age);
    free(entry->user);
    free(entry);
}

ReviewEntry *review_cache_add(Review *review, ReviewKind kind, const ReviewKey *key)
{
    ReviewEntry *entry;

    if (review->map[kind].len >= review->config.cache_size) {
        ListNode *oldest = list_first(&review->refused[kind]);

        oldest = oldest ? oldest : list_first(&review->allowed[kind]);
        if (!oldest) {
            return NULL;
        }
        forget(review, list_entry(oldest, ReviewEntry, age));
    }
    entry = xcalloc(1, sizeof(*entry));
    entry->kind = kind;
    entry->key = *key;
    list_init(&entry->queries);
    list_push_back(&review->refused[kind], &entry->age);
    hmap_insert(&review->map[kind], &entry->node, hash_of(key));
    return entry;
}

void review_cache_settle(Review *review, ReviewEntry *entry, ReviewVerdict verdict,
                         uint64_t until_ns)
{
    uint64_t now = loop_now(review->loop);
    uint64_t most = verdict == REVIEW_ALLOWED       ? review->config.ttl_ns
                    : verdict == REVIEW_UNAVAILABLE ? REVIEW_TROUBLE_NS
                                                    : REVIEW_REFUSED_NS;

    most = most < review->config.ttl_ns ? most : review->config.ttl_ns;
    entry->verdict = verdict;
    entry->until_ns = until_ns < now + most ? until_ns : now + most;
    list_remove(&entry->age);
    list_push_back(verdict == REVIEW_ALLOWED ? &review->allowed[entry->kind]
                                             : &review->refused[entry->kind],
                   &entry->age);
}

void review_cache_clear(Review *review)
{
    for (int kind = 0; kind < REVIEW_KINDS; kind++) {
        hmap_foreach (&review->map[kind], node) {
            forget(review, container_of(node, ReviewEntry, node));
        }
        hmap_deinit(&review->map[kind]);
    }
}
