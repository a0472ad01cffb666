/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Work queue of object keys for one loop. A key has one entry in one state:
 *
 *     IDLE, QUEUED, DELAYED, RUNNING, DIRTY (running, and to be run again)
 *
 * so a key is never worked on twice at once and any number of adds costs one run. On a merge the
 * earliest time and the highest priority win. IDLE entries exist only to remember failures.
 * FIFO within a priority.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/loop.h"
#include "base/rng.h"
#include "kube/backoff.h"
#include "kube/object.h"
#include "kube/transport.h"

#define KUBE_QUEUE_KEYS_MAX (1u << 20)
#define KUBE_QUEUE_BASE_NS (5ull * 1000000ull)      /* 5 ms */
#define KUBE_QUEUE_CAP_NS (1000ull * 1000000000ull) /* 1000 s */

enum {
    KUBE_QUEUE_E_EMPTY = 1,
};

typedef struct KubeQueue KubeQueue;
typedef struct KubeQueueItem KubeQueueItem;

typedef struct KubeQueueConfig {
    Loop *loop;                /* borrowed */
    KubeBackoffConfig backoff; /* all zero = 5 ms .. 1000 s with 20 % jitter */
    uint64_t seed;
    /* Called from the loop, coalesced, when there is something to pop. */
    void (*on_ready)(KubeQueue *queue, void *ctx);
    void *ctx;
} KubeQueueConfig;

typedef struct KubeQueueStats {
    size_t depth; /* queued, not delayed */
    size_t delayed;
    size_t running;
    uint64_t adds;
    uint64_t retries;
} KubeQueueStats;

KubeQueue *kube_queue_new(const KubeQueueConfig *config);
KubeQueue *kube_queue_free(KubeQueue *queue);

/* All adders: 0, or -ENOSPC at KUBE_QUEUE_KEYS_MAX keys. The key is copied. */
int kube_queue_add(KubeQueue *queue, KubeKey key, KubePriority priority);
int kube_queue_add_at(KubeQueue *queue, KubeKey key, KubePriority priority, uint64_t at_ns);
int kube_queue_add_after(KubeQueue *queue, KubeKey key, KubePriority priority, uint64_t delay_ns);
/* One more failure of this key: adds it after its back-off (at most cap_ns, 0 = the queue's cap).
 */
int kube_queue_add_failed(KubeQueue *queue, KubeKey key, KubePriority priority, uint64_t cap_ns);
void kube_queue_forget(KubeQueue *queue, KubeKey key); /* its failures */
uint32_t kube_queue_failures(const KubeQueue *queue, KubeKey key);

/* The next key, now RUNNING until kube_queue_done(). KUBE_QUEUE_E_EMPTY when none is due. */
int kube_queue_pop(KubeQueue *queue, KubeQueueItem **ret_item);
KubeKey kube_queue_item_key(const KubeQueueItem *item); /* valid until done */
KubePriority kube_queue_item_priority(const KubeQueueItem *item);
uint64_t kube_queue_item_queued_ns(const KubeQueueItem *item); /* when it became due */
void kube_queue_done(KubeQueue *queue, KubeQueueItem *item);

void kube_queue_stats(const KubeQueue *queue, KubeQueueStats *ret_stats);

DEFINE_AUTO_PTR(kube_queue, KubeQueue, kube_queue_free)
