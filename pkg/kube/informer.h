/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Keeps a store equal to what the API server has: watch machine + transport + store. Lists as a
 * stream or in pages, watches with bookmarks, heals by itself; failures are reported through
 * on_state and never end it. A server that refuses streams is no failure.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/loop.h"
#include "kube/api.h"
#include "kube/store.h"
#include "kube/watch.h"

typedef struct KubeInformer KubeInformer;

typedef struct KubeInformerConfig {
    KubeApi *api; /* borrowed */
    const KubeKind *kind;
    const char *ns;             /* NULL = all namespaces */
    const char *label_selector; /* NULL = none */
    const char *field_selector; /* NULL = none */
    const KubeIndex *indexes;
    size_t n_indexes;
    uint64_t seed;      /* of jitter and hash tables */
    bool stream;        /* lists are streamed where the server can (see kube/watch.h) */
    unsigned limit;     /* of a page, 0 = KUBE_LIST_LIMIT */
    uint64_t resync_ns; /* 0 = never; ±10 % */
    /* Called when the first list is complete, after each failure (error set) and after recovery.
     * May be NULL. */
    void (*on_state)(KubeInformer *informer, const KubeError *error, void *ctx);
    /* The server's versions went back, as after a restore from a backup: told once, before the list
     * that takes that in. Other informers of the server can be told with kube_informer_rewind(),
     * but not from inside. May be NULL. */
    void (*on_rewind)(KubeInformer *informer, void *ctx);
    void *ctx;
} KubeInformerConfig;

typedef struct KubeInformerStats {
    uint64_t lists;   /* complete ones */
    uint64_t streams; /* of those, streamed */
    uint64_t watches; /* started */
    uint64_t events;
    uint64_t failures;
    uint64_t rewinds;       /* times that the server's versions had gone back */
    uint64_t last_event_ns; /* mono time of the last byte of meaning */
} KubeInformerStats;

/* Strings of the config are borrowed and must outlive the informer. */
KubeInformer *kube_informer_new(const KubeInformerConfig *config);
/* Cancels and frees, the store too. Not from inside a listener or on_state. */
KubeInformer *kube_informer_free(KubeInformer *informer);
void kube_informer_start(KubeInformer *informer);
/* Keeps the store. Not from inside a listener; on_state may. */
void kube_informer_stop(KubeInformer *informer);

/* Versions went back, as another informer has found out: lists anew and believes it. on_rewind is
 * not called for it. Not from inside a listener, on_state or on_rewind. */
void kube_informer_rewind(KubeInformer *informer);

KubeStore *kube_informer_store(KubeInformer *informer);
bool kube_informer_synced(const KubeInformer *informer); /* the first list is complete */
void kube_informer_stats(const KubeInformer *informer, KubeInformerStats *ret_stats);

DEFINE_AUTO_PTR(kube_informer, KubeInformer, kube_informer_free)
