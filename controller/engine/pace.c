/* SPDX-License-Identifier: Apache-2.0 */
/* See pace.h. */
#include "controller/engine/pace.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

#define DOUBLINGS_MAX 16

typedef struct PaceEntry {
    HMapNode node;
    ListNode age;
    KubeKindId kind;
    char *ns;
    char *name;
    uint64_t last_ns;
    uint32_t n;
} PaceEntry;

void pace_init(Pace *pace, uint64_t seed)
{
    hmap_init(&pace->objects);
    list_init(&pace->by_age);
    pace->seed = seed;
}

static void drop(Pace *pace, PaceEntry *entry)
{
    hmap_remove(&pace->objects, &entry->node);
    list_remove(&entry->age);
    free(entry->ns);
    free(entry->name);
    free(entry);
}

void pace_deinit(Pace *pace)
{
    hmap_foreach (&pace->objects, it) {
        drop(pace, container_of(it, PaceEntry, node));
    }
    hmap_deinit(&pace->objects);
}

static uint64_t hash_of(const Pace *pace, KubeKindId kind, KubeKey key)
{
    return hash_str(hash_str(pace->seed + (uint64_t)kind, key.ns), key.name);
}

static PaceEntry *find(const Pace *pace, KubeKindId kind, KubeKey key)
{
    for (HMapNode *n = hmap_first(&pace->objects, hash_of(pace, kind, key)); n; n = hmap_next(n)) {
        PaceEntry *entry = container_of(n, PaceEntry, node);

        if (entry->kind == kind && str_eq(str_from(entry->name), key.name) &&
            str_eq(str_from(entry->ns), key.ns)) {
            return entry;
        }
    }
    return NULL;
}

static uint64_t wait_after(uint32_t n)
{
    uint32_t over = n >= PACE_FREE ? n - PACE_FREE : 0;
    uint64_t wait = PACE_WAIT_MIN_NS << (over < DOUBLINGS_MAX ? over : DOUBLINGS_MAX);

    if (n < PACE_FREE) {
        return 0;
    }
    return wait < PACE_WAIT_MAX_NS ? wait : PACE_WAIT_MAX_NS;
}

uint64_t pace_wait_ns(const Pace *pace, KubeKindId kind, KubeKey key, uint64_t now_ns)
{
    const PaceEntry *entry = find(pace, kind, key);
    uint64_t at = entry ? entry->last_ns + wait_after(entry->n) : 0;

    return at > now_ns ? at - now_ns : 0;
}

static void forget_quiet(Pace *pace, uint64_t now_ns)
{
    for (ListNode *n = list_first(&pace->by_age); n; n = list_first(&pace->by_age)) {
        PaceEntry *entry = list_entry(n, PaceEntry, age);

        if (entry->last_ns + PACE_QUIET_NS > now_ns) {
            return;
        }
        drop(pace, entry);
    }
}

void pace_note(Pace *pace, KubeKindId kind, KubeKey key, uint64_t now_ns)
{
    PaceEntry *entry;

    forget_quiet(pace, now_ns);
    entry = find(pace, kind, key);
    if (!entry) {
        entry = xcalloc(1, sizeof(*entry));
        entry->kind = kind;
        entry->ns = xstrndup(key.ns.len ? key.ns.ptr : "", key.ns.len);
        entry->name = xstrndup(key.name.ptr, key.name.len);
        hmap_insert(&pace->objects, &entry->node, hash_of(pace, kind, key));
    }
    list_remove(&entry->age);
    list_push_back(&pace->by_age, &entry->age);
    entry->last_ns = now_ns;
    entry->n++;
}
