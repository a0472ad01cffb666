/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Objects of one kind by namespace/name, with static indexes. Lookups are O(1); iteration is in
 * order of first insertion (never by hash or address), so whoever lets order decide sorts.
 *
 * Versions: an object replaces another of the same name only when it is newer, so watch events that
 * arrive after the answer to our own write change nothing (read-your-writes). A delete we know to
 * be complete leaves a tombstone by UID, so that a late event cannot bring the object back. A
 * relist marks what it sees with a new epoch and sweeps the rest, except objects newer than the
 * list. All that is only sound while versions grow: kube_store_rewind() is for when they do not.
 *
 * Listeners are told after each change, in order of registration, and may read the store but not
 * change it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/list.h"
#include "kube/object.h"

#define KUBE_STORE_INDEXES_MAX 8
#define KUBE_STORE_TOMBSTONES_MAX 4096 /* the oldest is forgotten first */

/* Positive outcomes of kube_store_upsert(). */
enum {
    KUBE_STORE_SAME = 1,  /* that version is there already */
    KUBE_STORE_OLD,       /* a newer version is there */
    KUBE_STORE_DEAD,      /* this UID was deleted */
    KUBE_STORE_WENT_BACK, /* of a relist: versions have gone back, see kube_store_rewind() */
};

typedef struct KubeStore KubeStore;
typedef struct KubeStoreEntry KubeStoreEntry;

/* Value of an object in an index, borrowed from it; STR_NULL = not in this index. */
typedef Str (*KubeIndexFn)(const KubeObj *obj);

typedef struct KubeIndex {
    const char *name;
    KubeIndexFn fn;
} KubeIndex;

typedef enum KubeChangeOrigin {
    KUBE_CHANGE_LIVE,   /* watch event or the answer to a write of ours */
    KUBE_CHANGE_LIST,   /* initial list or relist */
    KUBE_CHANGE_RESYNC, /* nothing changed: before == after */
} KubeChangeOrigin;

/* before NULL = added, after NULL = deleted. Both are borrowed. */
typedef struct KubeChange {
    const KubeObj *before;
    const KubeObj *after;
    KubeChangeOrigin origin;
} KubeChange;

typedef struct KubeListener KubeListener;
struct KubeListener {
    void (*fn)(KubeListener *listener, const KubeStore *store, const KubeChange *change);
    ListNode node;
};

/* indexes: static table of at most KUBE_STORE_INDEXES_MAX. seed: of the hash tables. */
KubeStore *kube_store_new(const KubeKind *kind, const KubeIndex *indexes, size_t n_indexes,
                          uint64_t seed);
KubeStore *kube_store_free(KubeStore *store); /* listeners must be removed; returns NULL */
const KubeKind *kube_store_kind(const KubeStore *store);

const KubeObj *kube_store_get(const KubeStore *store, KubeKey key); /* borrowed, NULL = absent */
size_t kube_store_len(const KubeStore *store);

/* Objects with this value in index number `index` of the table; value.ptr NULL = all objects. */
typedef struct KubeStoreIter {
    const KubeStore *store;
    const ListNode *at;
    const List *list;
    unsigned index;
} KubeStoreIter;

KubeStoreIter kube_store_find(const KubeStore *store, unsigned index, Str value);
KubeStoreIter kube_store_all(const KubeStore *store);
const KubeObj *kube_store_next(KubeStoreIter *it); /* NULL at the end; no change meanwhile */
const KubeObj *kube_store_first(const KubeStore *store, unsigned index, Str value);
size_t kube_store_count(const KubeStore *store, unsigned index, Str value); /* O(1) */

/* Takes a reference when it stores. 0 or a KUBE_STORE_* outcome. */
int kube_store_upsert(KubeStore *store, KubeObj *obj, KubeChangeOrigin origin);
/* The object of this UID is gone: removes it and remembers. */
void kube_store_forget(KubeStore *store, KubeKey key, Str uid);
/*
 * A DELETED event. Removes the object when it is still this UID and no newer version (one that left
 * our label selector may have come back since), and remembers UID and version, because the answer
 * to an older write of ours may come after the event.
 */
void kube_store_deleted(KubeStore *store, const KubeObj *obj);

void kube_store_relist_begin(KubeStore *store);
/*
 * Removes what the list did not have, unless newer than list_rv (0 = unknown: nothing is newer).
 * KUBE_STORE_WENT_BACK when the list, as of list_rv, had an object in an older version than we had
 * seen before list_rv, or one that was deleted before it: the server's storage is not what it was
 * (etcd restored from a backup). Call kube_store_rewind() and list again.
 */
int kube_store_relist_end(KubeStore *store, uint64_t list_rv);
/* True when the last list had an object whose end we know from an answer alone, and no event has
 * told of that end since: when it stays so for a while, list again - that list is believed. */
bool kube_store_doubts(const KubeStore *store);
/* Highest version of an object seen since the start or the last rewind, 0 = none. */
uint64_t kube_store_highest(const KubeStore *store);
/* Versions of the server have gone back: what is held stays until the next relist or event, which
 * wins over it whatever its version; what was deleted may come back. Call before a relist. */
void kube_store_rewind(KubeStore *store);

void kube_store_listen(KubeStore *store, KubeListener *listener);
void kube_store_unlisten(KubeListener *listener);
/* Tells all listeners about every object with KUBE_CHANGE_RESYNC. */
void kube_store_resync(KubeStore *store);

DEFINE_AUTO_PTR(kube_store, KubeStore, kube_store_free)
