/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/queue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/hmap.h"
#include "base/mem.h"

typedef enum ItemState {
    ITEM_IDLE, /* remembered only for its failures */
    ITEM_QUEUED,
    ITEM_DELAYED,
    ITEM_RUNNING,
    ITEM_DIRTY,
} ItemState;

struct KubeQueueItem {
    HMapNode by_key;
    ListNode fifo;  /* QUEUED */
    HeapNode delay; /* DELAYED */
    ItemState state;
    KubePriority priority;
    uint32_t failures;
    uint64_t due_ns; /* QUEUED: since; DELAYED, DIRTY: not before */
    KubePriority dirty_priority;
    size_t ns_len;
    size_t name_len;
    char text[]; /* namespace, then name */
};

struct KubeQueue {
    KubeQueueConfig config;
    uint64_t seed;
    Rng rng;
    HMap items;
    List fifo[KUBE_PRIO_MAX_];
    Heap delayed;
    LoopTimer timer;
    LoopDefer ready;
    KubeQueueStats stats;
};

static uint64_t key_hash(const KubeQueue *queue, KubeKey key)
{
    return hash_str(hash_str(queue->seed, key.ns), key.name);
}

KubeKey kube_queue_item_key(const KubeQueueItem *item)
{
    return (KubeKey){{item->text, item->ns_len}, {item->text + item->ns_len, item->name_len}};
}

KubePriority kube_queue_item_priority(const KubeQueueItem *item)
{
    return item->priority;
}

uint64_t kube_queue_item_queued_ns(const KubeQueueItem *item)
{
    return item->due_ns;
}

static KubeQueueItem *item_find(const KubeQueue *queue, KubeKey key)
{
    for (HMapNode *n = hmap_first(&queue->items, key_hash(queue, key)); n; n = hmap_next(n)) {
        KubeQueueItem *item = container_of(n, KubeQueueItem, by_key);

        if (kube_key_eq(kube_queue_item_key(item), key)) {
            return item;
        }
    }
    return NULL;
}

static KubeQueueItem *item_get(KubeQueue *queue, KubeKey key)
{
    KubeQueueItem *item = item_find(queue, key);

    if (item || queue->items.len >= KUBE_QUEUE_KEYS_MAX) {
        return item;
    }
    item = xcalloc(1, sizeof(*item) + key.ns.len + key.name.len + 1);
    item->ns_len = key.ns.len;
    item->name_len = key.name.len;
    memcpy(item->text, key.ns.len ? key.ns.ptr : "", key.ns.len);
    memcpy(item->text + key.ns.len, key.name.len ? key.name.ptr : "", key.name.len);
    hmap_insert(&queue->items, &item->by_key, key_hash(queue, key));
    return item;
}

static void item_free(KubeQueue *queue, KubeQueueItem *item)
{
    CHECK(!list_node_is_linked(&item->fifo) && !heap_contains(&item->delay));
    hmap_remove(&queue->items, &item->by_key);
    free(item);
}

static void item_make_idle(KubeQueue *queue, KubeQueueItem *item)
{
    item->state = ITEM_IDLE;
    if (item->failures == 0) {
        item_free(queue, item);
    }
}

static void queue_arm(KubeQueue *queue)
{
    HeapNode *first = heap_first(&queue->delayed);

    if (first) {
        loop_timer_arm(queue->config.loop, &queue->timer, first->key);
    } else {
        loop_timer_disarm(&queue->timer);
    }
}

static void queue_announce(KubeQueue *queue)
{
    if (queue->stats.depth > 0 && queue->config.on_ready) {
        loop_defer_post(queue->config.loop, &queue->ready);
    }
}

/* From a state in which the item is in no container. */
static void item_place(KubeQueue *queue, KubeQueueItem *item, KubePriority priority, uint64_t at_ns)
{
    uint64_t now = loop_now(queue->config.loop);

    item->priority = priority;
    if (at_ns > now) {
        item->state = ITEM_DELAYED;
        item->due_ns = at_ns;
        heap_insert(&queue->delayed, &item->delay, at_ns);
        queue->stats.delayed++;
        queue_arm(queue);
        return;
    }
    item->state = ITEM_QUEUED;
    item->due_ns = now;
    list_push_back(&queue->fifo[priority], &item->fifo);
    queue->stats.depth++;
    queue_announce(queue);
}

static void item_undelay(KubeQueue *queue, KubeQueueItem *item)
{
    heap_remove(&queue->delayed, &item->delay);
    queue->stats.delayed--;
}

static void item_merge(KubeQueue *queue, KubeQueueItem *item, KubePriority priority, uint64_t at_ns)
{
    KubePriority best = priority < item->priority ? priority : item->priority;

    switch (item->state) {
    case ITEM_IDLE:
        item_place(queue, item, priority, at_ns);
        break;
    case ITEM_QUEUED:
        if (best != item->priority) {
            list_remove(&item->fifo);
            item->priority = best;
            list_push_back(&queue->fifo[best], &item->fifo);
        }
        break;
    case ITEM_DELAYED:
        item_undelay(queue, item);
        item_place(queue, item, best, at_ns < item->due_ns ? at_ns : item->due_ns);
        queue_arm(queue);
        break;
    case ITEM_RUNNING:
        item->state = ITEM_DIRTY;
        item->dirty_priority = priority;
        item->due_ns = at_ns;
        break;
    case ITEM_DIRTY:
        item->dirty_priority = priority < item->dirty_priority ? priority : item->dirty_priority;
        item->due_ns = at_ns < item->due_ns ? at_ns : item->due_ns;
        break;
    }
}

int kube_queue_add_at(KubeQueue *queue, KubeKey key, KubePriority priority, uint64_t at_ns)
{
    KubeQueueItem *item = item_get(queue, key);

    CHECK((unsigned)priority < KUBE_PRIO_MAX_);
    if (!item) {
        return -ENOSPC;
    }
    queue->stats.adds++;
    item_merge(queue, item, priority, at_ns);
    return 0;
}

int kube_queue_add(KubeQueue *queue, KubeKey key, KubePriority priority)
{
    return kube_queue_add_at(queue, key, priority, 0);
}

int kube_queue_add_after(KubeQueue *queue, KubeKey key, KubePriority priority, uint64_t delay_ns)
{
    uint64_t now = loop_now(queue->config.loop);

    return kube_queue_add_at(queue, key, priority,
                             delay_ns > UINT64_MAX - now ? UINT64_MAX : now + delay_ns);
}

int kube_queue_add_failed(KubeQueue *queue, KubeKey key, KubePriority priority, uint64_t cap_ns)
{
    KubeQueueItem *item = item_get(queue, key);
    uint64_t delay;

    if (!item) {
        return -ENOSPC;
    }
    delay = kube_backoff_ns(&queue->config.backoff, item->failures, &queue->rng);
    if (cap_ns > 0 && delay > cap_ns) {
        delay = cap_ns;
    }
    if (item->failures < UINT32_MAX) {
        item->failures++;
    }
    queue->stats.retries++;
    return kube_queue_add_after(queue, key, priority, delay);
}

void kube_queue_forget(KubeQueue *queue, KubeKey key)
{
    KubeQueueItem *item = item_find(queue, key);

    if (item) {
        item->failures = 0;
        if (item->state == ITEM_IDLE) {
            item_free(queue, item);
        }
    }
}

uint32_t kube_queue_failures(const KubeQueue *queue, KubeKey key)
{
    const KubeQueueItem *item = item_find(queue, key);

    return item ? item->failures : 0;
}

int kube_queue_pop(KubeQueue *queue, KubeQueueItem **ret_item)
{
    for (size_t p = 0; p < KUBE_PRIO_MAX_; p++) {
        ListNode *node = list_pop_front(&queue->fifo[p]);

        if (node) {
            KubeQueueItem *item = list_entry(node, KubeQueueItem, fifo);

            item->state = ITEM_RUNNING;
            queue->stats.depth--;
            queue->stats.running++;
            *ret_item = item;
            return 0;
        }
    }
    return KUBE_QUEUE_E_EMPTY;
}

void kube_queue_done(KubeQueue *queue, KubeQueueItem *item)
{
    CHECK(item->state == ITEM_RUNNING || item->state == ITEM_DIRTY);
    queue->stats.running--;
    if (item->state == ITEM_DIRTY) {
        item_place(queue, item, item->dirty_priority, item->due_ns);
    } else {
        item_make_idle(queue, item);
    }
    queue_announce(queue);
}

static void queue_on_timer(LoopTimer *timer)
{
    KubeQueue *queue = container_of(timer, KubeQueue, timer);
    uint64_t now = loop_now(queue->config.loop);

    for (HeapNode *n = heap_first(&queue->delayed); n && n->key <= now;
         n = heap_first(&queue->delayed)) {
        KubeQueueItem *item = container_of(n, KubeQueueItem, delay);

        item_undelay(queue, item);
        item_place(queue, item, item->priority, now);
    }
    queue_arm(queue);
}

static void queue_on_ready(LoopDefer *defer)
{
    KubeQueue *queue = container_of(defer, KubeQueue, ready);

    if (queue->stats.depth > 0) {
        queue->config.on_ready(queue, queue->config.ctx);
    }
}

KubeQueue *kube_queue_new(const KubeQueueConfig *config)
{
    KubeQueue *queue = xcalloc(1, sizeof(*queue));

    queue->config = *config;
    if (config->backoff.base_ns == 0) {
        queue->config.backoff = (KubeBackoffConfig){KUBE_QUEUE_BASE_NS, KUBE_QUEUE_CAP_NS, 0.2};
    }
    rng_init(&queue->rng, config->seed);
    queue->seed = rng_u64(&queue->rng);
    hmap_init(&queue->items);
    for (size_t p = 0; p < KUBE_PRIO_MAX_; p++) {
        list_init(&queue->fifo[p]);
    }
    heap_init(&queue->delayed);
    loop_timer_init(&queue->timer, queue_on_timer);
    loop_defer_init(&queue->ready, queue_on_ready);
    return queue;
}

KubeQueue *kube_queue_free(KubeQueue *queue)
{
    if (!queue) {
        return NULL;
    }
    loop_timer_disarm(&queue->timer);
    loop_defer_cancel(&queue->ready);
    hmap_foreach (&queue->items, n) {
        KubeQueueItem *item = container_of(n, KubeQueueItem, by_key);

        list_remove(&item->fifo);
        heap_remove(&queue->delayed, &item->delay);
        item_free(queue, item);
    }
    hmap_deinit(&queue->items);
    heap_deinit(&queue->delayed);
    free(queue);
    return NULL;
}

void kube_queue_stats(const KubeQueue *queue, KubeQueueStats *ret_stats)
{
    *ret_stats = queue->stats;
}
