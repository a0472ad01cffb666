/* SPDX-License-Identifier: Apache-2.0 */
/* See coalesce.h. */
#include "controller/engine/coalesce.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

typedef struct CoalesceEntry {
    HMapNode node;
    char *ns;
    char *name;
    uint64_t since_ns;
} CoalesceEntry;

void coalesce_init(Coalesce *coalesce, uint64_t seed)
{
    hmap_init(&coalesce->by_key);
    coalesce->seed = seed;
}

static void drop(Coalesce *coalesce, CoalesceEntry *entry)
{
    hmap_remove(&coalesce->by_key, &entry->node);
    free(entry->ns);
    free(entry->name);
    free(entry);
}

void coalesce_deinit(Coalesce *coalesce)
{
    hmap_foreach (&coalesce->by_key, it) {
        drop(coalesce, container_of(it, CoalesceEntry, node));
    }
    hmap_deinit(&coalesce->by_key);
}

static uint64_t hash_key(const Coalesce *coalesce, KubeKey key)
{
    return hash_str(hash_str(coalesce->seed, key.ns), key.name);
}

static CoalesceEntry *find(const Coalesce *coalesce, KubeKey key)
{
    for (HMapNode *n = hmap_first(&coalesce->by_key, hash_key(coalesce, key)); n;
         n = hmap_next(n)) {
        CoalesceEntry *entry = container_of(n, CoalesceEntry, node);

        if (str_eq(str_from(entry->name), key.name) && str_eq(str_from(entry->ns), key.ns)) {
            return entry;
        }
    }
    return NULL;
}

uint64_t coalesce_since(Coalesce *coalesce, KubeKey key, uint64_t now_ns)
{
    CoalesceEntry *entry = find(coalesce, key);

    if (!entry) {
        entry = xcalloc(1, sizeof(*entry));
        entry->ns = xstrndup(key.ns.len ? key.ns.ptr : "", key.ns.len);
        entry->name = xstrndup(key.name.ptr, key.name.len);
        entry->since_ns = now_ns;
        hmap_insert(&coalesce->by_key, &entry->node, hash_key(coalesce, key));
    }
    return entry->since_ns;
}

void coalesce_clear(Coalesce *coalesce, KubeKey key)
{
    CoalesceEntry *entry = find(coalesce, key);

    if (entry) {
        drop(coalesce, entry);
    }
}
