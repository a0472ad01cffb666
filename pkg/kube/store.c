/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See store.h. An entry is one allocation with one link per index. A link whose object has no value
 * in that index is in no bucket. Buckets live while they have entries.
 */
#include "kube/store.h"

#include <stdlib.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/hmap.h"
#include "base/mem.h"

typedef struct Bucket {
    HMapNode node;
    List entries;
    size_t count;
    size_t value_len;
    char value[];
} Bucket;

typedef struct IndexLink {
    ListNode node;
    Bucket *bucket; /* NULL = not in this index */
    struct KubeStoreEntry *entry;
} IndexLink;

struct KubeStoreEntry {
    HMapNode by_key;
    ListNode all;
    KubeObj *obj;
    uint32_t epoch;
    bool older; /* the running list had an older version of it */
    bool lost;  /* from before kube_store_rewind() and not seen since */
    IndexLink link[];
};

typedef struct Tombstone {
    HMapNode by_uid;
    ListNode fifo;
    uint64_t rv;  /* nothing up to this version comes back */
    bool listed;  /* the running list had it all the same */
    bool doubted; /* a complete list had it, and no event has told of its end */
    size_t uid_len;
    char uid[];
} Tombstone;

struct KubeStore {
    const KubeKind *kind;
    const KubeIndex *indexes;
    size_t n_indexes;
    uint64_t seed;
    uint32_t epoch;
    uint64_t highest;
    uint64_t list_rv; /* of the last complete list, 0 = none or unknown */
    bool telling;     /* listeners run: no change now */
    HMap by_key;
    List all;
    HMap buckets[KUBE_STORE_INDEXES_MAX];
    HMap dead;
    List dead_fifo;
    List listeners;
};

static uint64_t key_hash(const KubeStore *store, KubeKey key)
{
    return hash_str(hash_str(store->seed, key.ns), key.name);
}

static KubeStoreEntry *entry_find(const KubeStore *store, KubeKey key)
{
    for (HMapNode *n = hmap_first(&store->by_key, key_hash(store, key)); n; n = hmap_next(n)) {
        KubeStoreEntry *entry = container_of(n, KubeStoreEntry, by_key);

        if (kube_key_eq(kube_obj_key(entry->obj), key)) {
            return entry;
        }
    }
    return NULL;
}

/* ---- indexes ---- */

static Str bucket_value(const Bucket *bucket)
{
    return (Str){bucket->value, bucket->value_len};
}

static Bucket *bucket_find(const KubeStore *store, unsigned index, Str value)
{
    const HMap *map = &store->buckets[index];

    for (HMapNode *n = hmap_first(map, hash_str(store->seed, value)); n; n = hmap_next(n)) {
        Bucket *bucket = container_of(n, Bucket, node);

        if (str_eq(bucket_value(bucket), value)) {
            return bucket;
        }
    }
    return NULL;
}

static Bucket *bucket_get(KubeStore *store, unsigned index, Str value)
{
    Bucket *bucket = bucket_find(store, index, value);

    if (!bucket) {
        bucket = xcalloc(1, sizeof(*bucket) + value.len + 1);
        list_init(&bucket->entries);
        bucket->value_len = value.len;
        memcpy(bucket->value, value.ptr, value.len);
        hmap_insert(&store->buckets[index], &bucket->node, hash_str(store->seed, value));
    }
    return bucket;
}

static void link_remove(KubeStore *store, unsigned index, IndexLink *link)
{
    Bucket *bucket = TAKE(link->bucket);

    if (!bucket) {
        return;
    }
    list_remove(&link->node);
    if (--bucket->count == 0) {
        hmap_remove(&store->buckets[index], &bucket->node);
        free(bucket);
    }
}

/* An unchanged value costs one comparison and keeps its place in the list. */
static void entry_index(KubeStore *store, KubeStoreEntry *entry)
{
    for (unsigned i = 0; i < store->n_indexes; i++) {
        IndexLink *link = &entry->link[i];
        Str value = store->indexes[i].fn(entry->obj);

        if (link->bucket && value.ptr && str_eq(bucket_value(link->bucket), value)) {
            continue;
        }
        link_remove(store, i, link);
        if (value.ptr) {
            link->bucket = bucket_get(store, i, value);
            link->bucket->count++;
            list_push_back(&link->bucket->entries, &link->node);
        }
    }
}

/* ---- tombstones ---- */

static Tombstone *tombstone_find(const KubeStore *store, Str uid)
{
    for (HMapNode *n = hmap_first(&store->dead, hash_str(store->seed, uid)); n; n = hmap_next(n)) {
        Tombstone *stone = container_of(n, Tombstone, by_uid);

        if (str_eq((Str){stone->uid, stone->uid_len}, uid)) {
            return stone;
        }
    }
    return NULL;
}

static void tombstone_free(KubeStore *store, Tombstone *stone)
{
    hmap_remove(&store->dead, &stone->by_uid);
    list_remove(&stone->fifo);
    free(stone);
}

/* The version that a DELETED event tells corrects one that was not known. */
static void tombstone_add(KubeStore *store, Str uid, uint64_t rv)
{
    Tombstone *stone = uid.len > 0 ? tombstone_find(store, uid) : NULL;

    if (stone) {
        stone->rv = rv;
        stone->listed = stone->doubted = false;
    }
    if (uid.len == 0 || stone) {
        return;
    }
    if (store->dead.len >= KUBE_STORE_TOMBSTONES_MAX) {
        ListNode *oldest = list_first(&store->dead_fifo);

        CHECK(oldest);
        tombstone_free(store, list_entry(oldest, Tombstone, fifo));
    }
    stone = xcalloc(1, sizeof(*stone) + uid.len + 1);
    stone->rv = rv;
    stone->uid_len = uid.len;
    memcpy(stone->uid, uid.ptr, uid.len);
    hmap_insert(&store->dead, &stone->by_uid, hash_str(store->seed, uid));
    list_push_back(&store->dead_fifo, &stone->fifo);
}

/* ---- changes ---- */

static void store_tell(KubeStore *store, const KubeObj *before, const KubeObj *after,
                       KubeChangeOrigin origin)
{
    KubeChange change = {before, after, origin};

    store->telling = true;
    list_foreach (&store->listeners, n) {
        KubeListener *listener = list_entry(n, KubeListener, node);

        listener->fn(listener, store, &change);
    }
    store->telling = false;
}

static void entry_add(KubeStore *store, KubeObj *obj, KubeChangeOrigin origin)
{
    KubeStoreEntry *entry = xcalloc(1, sizeof(*entry) + store->n_indexes * sizeof(entry->link[0]));

    entry->obj = kube_obj_ref(obj);
    /* Only the list itself vouches for an object; an answer to us may be older than the list. */
    entry->epoch = origin == KUBE_CHANGE_LIST ? store->epoch : store->epoch - 1;
    for (size_t i = 0; i < store->n_indexes; i++) {
        entry->link[i].entry = entry;
    }
    hmap_insert(&store->by_key, &entry->by_key, key_hash(store, kube_obj_key(obj)));
    list_push_back(&store->all, &entry->all);
    entry_index(store, entry);
    store_tell(store, NULL, obj, origin);
}

static void entry_remove(KubeStore *store, KubeStoreEntry *entry, const KubeObj *last,
                         KubeChangeOrigin origin, bool tell)
{
    AUTO(kube_obj) KubeObj *obj = entry->obj;

    for (unsigned i = 0; i < store->n_indexes; i++) {
        link_remove(store, i, &entry->link[i]);
    }
    hmap_remove(&store->by_key, &entry->by_key);
    list_remove(&entry->all);
    free(entry);
    if (tell) {
        store_tell(store, last ? last : obj, NULL, origin);
    }
}

static void entry_replace(KubeStore *store, KubeStoreEntry *entry, KubeObj *obj,
                          KubeChangeOrigin origin)
{
    AUTO(kube_obj) KubeObj *before = entry->obj;

    entry->obj = kube_obj_ref(obj);
    entry->older = false;
    entry->lost = false;
    /* The map compares keys through entry->obj, whose key is the same. */
    entry_index(store, entry);
    store_tell(store, before, obj, origin);
}

int kube_store_upsert(KubeStore *store, KubeObj *obj, KubeChangeOrigin origin)
{
    Tombstone *stone = tombstone_find(store, obj->uid);
    KubeStoreEntry *entry;

    CHECK(!store->telling && obj->kind == store->kind);
    if (stone && stone->doubted && origin == KUBE_CHANGE_LIST) { /* for the second time: it lives */
        tombstone_free(store, stone);
        stone = NULL;
    }
    store->highest = obj->rv > store->highest ? obj->rv : store->highest;
    if (stone && (obj->rv == 0 || obj->rv <= stone->rv)) {
        stone->listed = stone->listed || origin == KUBE_CHANGE_LIST;
        return KUBE_STORE_DEAD;
    }
    entry = entry_find(store, kube_obj_key(obj));
    /* A late answer about an object that the list did not have any more. */
    if (!entry && origin == KUBE_CHANGE_LIVE && obj->rv != 0 && obj->rv <= store->list_rv) {
        return KUBE_STORE_DEAD;
    }
    if (!entry) {
        entry_add(store, obj, origin);
        return 0;
    }
    if (origin == KUBE_CHANGE_LIST) {
        entry->epoch = store->epoch;
    }
    if (!entry->lost && obj->rv_text.len > 0 && str_eq(entry->obj->rv_text, obj->rv_text)) {
        entry->older = false;
        return KUBE_STORE_SAME;
    }
    if (!entry->lost && !kube_rv_newer(obj->rv, entry->obj->rv)) {
        entry->older = entry->older || origin == KUBE_CHANGE_LIST;
        return KUBE_STORE_OLD;
    }
    if (!str_eq(entry->obj->uid, obj->uid)) { /* deleted and created again: two changes */
        entry_remove(store, entry, NULL, origin, true);
        entry_add(store, obj, origin);
        return 0;
    }
    entry_replace(store, entry, obj, origin);
    return 0;
}

void kube_store_forget(KubeStore *store, KubeKey key, Str uid)
{
    KubeStoreEntry *entry = entry_find(store, key);

    CHECK(!store->telling);
    tombstone_add(store, uid, UINT64_MAX);
    if (entry && str_eq(entry->obj->uid, uid)) {
        entry_remove(store, entry, NULL, KUBE_CHANGE_LIVE, true);
    }
}

void kube_store_deleted(KubeStore *store, const KubeObj *obj)
{
    KubeStoreEntry *entry = entry_find(store, kube_obj_key(obj));

    CHECK(!store->telling);
    /* The answer to a write of ours may still be on its way. */
    tombstone_add(store, obj->uid, obj->rv != 0 ? obj->rv : UINT64_MAX);
    if (entry && str_eq(entry->obj->uid, obj->uid) &&
        (entry->lost || obj->rv == 0 || entry->obj->rv <= obj->rv)) {
        entry_remove(store, entry, obj, KUBE_CHANGE_LIVE, true);
    }
}

void kube_store_relist_begin(KubeStore *store)
{
    store->epoch++;
    list_foreach (&store->all, n) {
        list_entry(n, KubeStoreEntry, all)->older = false;
    }
    list_foreach (&store->dead_fifo, n) {
        list_entry(n, Tombstone, fifo)->listed = false;
    }
}

/* The list, as of list_rv, has back what was deleted before that. */
static bool has_risen(const KubeStore *store, uint64_t list_rv)
{
    for (ListNode *n = list_first(&store->dead_fifo); n; n = list_next(&store->dead_fifo, n)) {
        const Tombstone *stone = list_entry(n, Tombstone, fifo);

        if (stone->listed && stone->rv <= list_rv) {
            return true;
        }
    }
    return false;
}

bool kube_store_doubts(const KubeStore *store)
{
    for (ListNode *n = list_first(&store->dead_fifo); n; n = list_next(&store->dead_fifo, n)) {
        if (list_entry(n, Tombstone, fifo)->doubted) {
            return true;
        }
    }
    return false;
}

int kube_store_relist_end(KubeStore *store, uint64_t list_rv)
{
    bool back = has_risen(store, list_rv);

    CHECK(!store->telling);
    store->list_rv = list_rv;
    list_foreach (&store->dead_fifo, n) {
        Tombstone *stone = list_entry(n, Tombstone, fifo);

        stone->doubted = stone->listed && stone->rv == UINT64_MAX;
    }
    list_foreach (&store->all, n) {
        KubeStoreEntry *entry = list_entry(n, KubeStoreEntry, all);
        bool newer =
            !entry->lost && list_rv != 0 && entry->obj->rv != 0 && entry->obj->rv > list_rv;

        back = back || (entry->older && !newer);
        if (entry->epoch != store->epoch && !newer) {
            entry_remove(store, entry, NULL, KUBE_CHANGE_LIST, true);
        }
    }
    return back ? KUBE_STORE_WENT_BACK : 0;
}

uint64_t kube_store_highest(const KubeStore *store)
{
    return store->highest;
}

void kube_store_rewind(KubeStore *store)
{
    CHECK(!store->telling);
    store->list_rv = 0;
    store->highest = 0;
    list_foreach (&store->dead_fifo, n) {
        tombstone_free(store, list_entry(n, Tombstone, fifo));
    }
    list_foreach (&store->all, n) {
        list_entry(n, KubeStoreEntry, all)->lost = true;
    }
}

void kube_store_resync(KubeStore *store)
{
    CHECK(!store->telling);
    list_foreach (&store->all, n) {
        KubeStoreEntry *entry = list_entry(n, KubeStoreEntry, all);

        store_tell(store, entry->obj, entry->obj, KUBE_CHANGE_RESYNC);
    }
}

/* ---- reading ---- */

const KubeObj *kube_store_get(const KubeStore *store, KubeKey key)
{
    KubeStoreEntry *entry = entry_find(store, key);

    return entry ? entry->obj : NULL;
}

size_t kube_store_len(const KubeStore *store)
{
    return store->by_key.len;
}

const KubeKind *kube_store_kind(const KubeStore *store)
{
    return store->kind;
}

#define ITER_ALL UINT32_MAX

KubeStoreIter kube_store_all(const KubeStore *store)
{
    return (KubeStoreIter){store, list_first(&store->all), &store->all, ITER_ALL};
}

KubeStoreIter kube_store_find(const KubeStore *store, unsigned index, Str value)
{
    Bucket *bucket;

    CHECK(index < store->n_indexes);
    bucket = value.ptr ? bucket_find(store, index, value) : NULL;
    return (KubeStoreIter){store, bucket ? list_first(&bucket->entries) : NULL,
                           bucket ? &bucket->entries : NULL, index};
}

const KubeObj *kube_store_next(KubeStoreIter *it)
{
    const ListNode *at = it->at;

    if (!at) {
        return NULL;
    }
    it->at = list_next(it->list, at);
    if (it->index == ITER_ALL) {
        return list_entry(at, KubeStoreEntry, all)->obj;
    }
    return list_entry(at, IndexLink, node)->entry->obj;
}

const KubeObj *kube_store_first(const KubeStore *store, unsigned index, Str value)
{
    KubeStoreIter it = kube_store_find(store, index, value);

    return kube_store_next(&it);
}

size_t kube_store_count(const KubeStore *store, unsigned index, Str value)
{
    Bucket *bucket;

    CHECK(index < store->n_indexes);
    bucket = value.ptr ? bucket_find(store, index, value) : NULL;
    return bucket ? bucket->count : 0;
}

/* ---- life ---- */

void kube_store_listen(KubeStore *store, KubeListener *listener)
{
    list_push_back(&store->listeners, &listener->node);
}

void kube_store_unlisten(KubeListener *listener)
{
    list_remove(&listener->node);
}

KubeStore *kube_store_new(const KubeKind *kind, const KubeIndex *indexes, size_t n_indexes,
                          uint64_t seed)
{
    KubeStore *store = xcalloc(1, sizeof(*store));

    CHECK(n_indexes <= KUBE_STORE_INDEXES_MAX);
    store->kind = kind;
    store->indexes = indexes;
    store->n_indexes = n_indexes;
    store->seed = seed;
    hmap_init(&store->by_key);
    hmap_init(&store->dead);
    for (size_t i = 0; i < n_indexes; i++) {
        hmap_init(&store->buckets[i]);
    }
    list_init(&store->all);
    list_init(&store->dead_fifo);
    list_init(&store->listeners);
    return store;
}

KubeStore *kube_store_free(KubeStore *store)
{
    if (!store) {
        return NULL;
    }
    CHECK(!store->telling && list_is_empty(&store->listeners));
    list_foreach (&store->all, n) {
        entry_remove(store, list_entry(n, KubeStoreEntry, all), NULL, KUBE_CHANGE_LIVE, false);
    }
    list_foreach (&store->dead_fifo, n) {
        tombstone_free(store, list_entry(n, Tombstone, fifo));
    }
    hmap_deinit(&store->by_key);
    hmap_deinit(&store->dead);
    for (size_t i = 0; i < store->n_indexes; i++) {
        hmap_deinit(&store->buckets[i]);
    }
    free(store);
    return NULL;
}
