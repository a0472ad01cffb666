/* SPDX-License-Identifier: Apache-2.0 */
/* See limits.h. */
#include "router/limits.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/hmap.h"
#include "base/list.h"
#include "base/mem.h"

typedef struct Shard Shard;

typedef struct LimitEntry {
    HMapNode node;
    ListNode idle; /* linked while nothing is held */
    Shard *shard;
    uint32_t holds;
    int64_t counts[LIMIT_COUNTS];
    bool fresh; /* the bucket has never been used: it is full */
    double tokens;
    uint64_t filled_ns;
    uint8_t scope;
    uint8_t key_len;
    char key[];
} LimitEntry;

struct Shard {
    pthread_mutex_t lock;
    HMap entries;
    List idle; /* least recently used first */
    size_t n;
    LimitEntry *shared[LIMIT_SCOPES]; /* for keys there is no room for */
};

_Static_assert(LIMIT_SHARDS == 16, "the upper four bits of a hash choose");

struct Limits {
    uint64_t seed;
    size_t shard_max;
    _Atomic size_t n;
    _Atomic uint64_t overflows;
    Shard shards[LIMIT_SHARDS];
};

static const char *const flags[LIMIT_SCOPES][LIMIT_COUNTS + 1] = {
    [LIMIT_CLIENT] = {"--max-connections-per-client", "--max-requests-per-client",
                      "--max-upgrades-per-client", "--request-rate-per-client"},
    [LIMIT_SANDBOX] = {"--max-connections-per-sandbox", "--max-requests-per-sandbox",
                       "--max-upgrades-per-sandbox", "--request-rate-per-sandbox"},
};

const char *limits_flag(LimitScope scope, LimitWhat what)
{
    return flags[scope][what];
}

bool limit_rule_is_off(const LimitRule *rule)
{
    for (int i = 0; i < LIMIT_COUNTS; i++) {
        if (rule->most[i] > 0) {
            return false;
        }
    }
    return !(rule->rate > 0);
}

static LimitEntry *entry_new(Shard *shard, LimitScope scope, Str key)
{
    LimitEntry *entry = xcalloc(1, sizeof(*entry) + key.len);

    entry->shard = shard;
    entry->scope = (uint8_t)scope;
    entry->key_len = (uint8_t)key.len;
    entry->fresh = true;
    memcpy(entry->key, key.ptr, key.len);
    return entry;
}

Limits *limits_new(size_t entries_max, uint64_t seed)
{
    Limits *limits = xcalloc(1, sizeof(*limits));

    limits->seed = seed;
    limits->shard_max = (entries_max + LIMIT_SHARDS - 1) / LIMIT_SHARDS;
    for (size_t i = 0; i < LIMIT_SHARDS; i++) {
        Shard *shard = &limits->shards[i];

        CHECK(pthread_mutex_init(&shard->lock, NULL) == 0);
        hmap_init(&shard->entries);
        list_init(&shard->idle);
        for (int scope = 0; scope < LIMIT_SCOPES; scope++) {
            shard->shared[scope] = entry_new(shard, (LimitScope)scope, STR(""));
        }
    }
    return limits;
}

Limits *limits_free(Limits *limits)
{
    if (!limits) {
        return NULL;
    }
    for (size_t i = 0; i < LIMIT_SHARDS; i++) {
        Shard *shard = &limits->shards[i];

        hmap_foreach (&shard->entries, node) {
            LimitEntry *entry = container_of(node, LimitEntry, node);

            CHECK(entry->holds == 0);
            list_remove(&entry->idle);
            hmap_remove(&shard->entries, node);
            free(entry);
        }
        hmap_deinit(&shard->entries);
        for (int scope = 0; scope < LIMIT_SCOPES; scope++) {
            CHECK(shard->shared[scope]->holds == 0);
            free(shard->shared[scope]);
        }
        pthread_mutex_destroy(&shard->lock);
    }
    free(limits);
    return NULL;
}

/* ---- entries, under the lock of their part ---- */

static LimitEntry *find(const Shard *shard, uint64_t hash, LimitScope scope, Str key)
{
    for (HMapNode *n = hmap_first(&shard->entries, hash); n; n = hmap_next(n)) {
        LimitEntry *entry = container_of(n, LimitEntry, node);

        if (entry->scope == scope && str_eq((Str){entry->key, entry->key_len}, key)) {
            return entry;
        }
    }
    return NULL;
}

static LimitEntry *make(Limits *limits, Shard *shard, uint64_t hash, LimitScope scope, Str key)
{
    LimitEntry *entry;

    if (shard->n >= limits->shard_max) {
        ListNode *oldest = list_pop_front(&shard->idle);

        if (!oldest) {
            atomic_fetch_add_explicit(&limits->overflows, 1, memory_order_relaxed);
            return shard->shared[scope];
        }
        entry = list_entry(oldest, LimitEntry, idle);
        hmap_remove(&shard->entries, &entry->node);
        free(entry);
        shard->n--;
        atomic_fetch_sub_explicit(&limits->n, 1, memory_order_relaxed);
    }
    entry = entry_new(shard, scope, key);
    hmap_insert(&shard->entries, &entry->node, hash);
    list_push_back(&shard->idle, &entry->idle);
    shard->n++;
    atomic_fetch_add_explicit(&limits->n, 1, memory_order_relaxed);
    return entry;
}

/* ---- deciding ---- */

static double burst_of(const LimitRule *rule)
{
    double burst = rule->burst > 0 ? (double)rule->burst : rule->rate;

    return burst < 1 ? 1 : burst;
}

static void refill(LimitEntry *entry, const LimitRule *rule, uint64_t now_ns)
{
    double burst = burst_of(rule);

    if (entry->fresh) {
        entry->tokens = burst;
        entry->filled_ns = now_ns;
        entry->fresh = false;
    } else if (now_ns > entry->filled_ns) { /* the loops of workers read the clock apart */
        double more = (double)(now_ns - entry->filled_ns) / (double)NS_PER_S * rule->rate;

        entry->tokens += more;
        entry->filled_ns = now_ns;
    }
    if (entry->tokens > burst) {
        entry->tokens = burst;
    }
}

static bool refuse(LimitRefusal *ret, LimitWhat what, double value, double wait_s)
{
    uint32_t whole;

    wait_s = wait_s < 1 ? 1 : wait_s > LIMIT_RETRY_MAX_S ? LIMIT_RETRY_MAX_S : wait_s;
    whole = (uint32_t)wait_s;
    *ret = (LimitRefusal){
        .what = what, .value = value, .retry_after_s = whole + ((double)whole < wait_s)};
    return false;
}

static bool take_all(LimitEntry *entry, const LimitRule *rule, uint32_t take, uint64_t now_ns,
                     LimitRefusal *ret)
{
    for (int i = 0; i < LIMIT_COUNTS; i++) {
        if ((take & LIMIT_BIT(i)) && rule->most[i] > 0 && entry->counts[i] >= rule->most[i]) {
            return refuse(ret, (LimitWhat)i, (double)rule->most[i], 1);
        }
    }
    if ((take & LIMIT_BIT(LIMIT_RATE)) && rule->rate > 0) {
        refill(entry, rule, now_ns);
        if (entry->tokens < 1) {
            return refuse(ret, LIMIT_RATE, rule->rate, (1 - entry->tokens) / rule->rate);
        }
        entry->tokens -= 1;
    }
    for (int i = 0; i < LIMIT_COUNTS; i++) {
        entry->counts[i] += (take >> i) & 1;
    }
    return true;
}

bool limits_enter(Limits *limits, const LimitRule *rule, Str key, uint32_t take, uint64_t now_ns,
                  LimitHold *hold, LimitRefusal *ret)
{
    uint64_t hash = hash_str(limits->seed ^ rule->scope, key);
    Shard *shard = hold->entry ? hold->entry->shard : &limits->shards[hash >> 60];
    LimitEntry *entry;
    bool ok;

    CHECK(key.len <= LIMIT_KEY_MAX);
    pthread_mutex_lock(&shard->lock);
    entry = hold->entry ? hold->entry : find(shard, hash, rule->scope, key);
    entry = entry ? entry : make(limits, shard, hash, rule->scope, key);
    ok = take_all(entry, rule, take, now_ns, ret);
    if (ok && !hold->entry) {
        entry->holds++;
        hold->entry = entry;
        list_remove(&entry->idle);
    } else if (!ok && list_node_is_linked(&entry->idle)) {
        list_remove(&entry->idle); /* who is refused was here just now */
        list_push_back(&shard->idle, &entry->idle);
    }
    pthread_mutex_unlock(&shard->lock);
    hold->taken |= ok ? take & ~LIMIT_BIT(LIMIT_RATE) : 0;
    return ok;
}

void limits_leave(LimitHold *hold)
{
    LimitEntry *entry = hold->entry;
    Shard *shard;

    if (!entry) {
        return;
    }
    shard = entry->shard;
    pthread_mutex_lock(&shard->lock);
    for (int i = 0; i < LIMIT_COUNTS; i++) {
        entry->counts[i] -= (hold->taken >> i) & 1;
    }
    entry->holds--;
    if (entry->holds == 0 && entry != shard->shared[entry->scope]) {
        list_push_back(&shard->idle, &entry->idle);
    }
    pthread_mutex_unlock(&shard->lock);
    *hold = (LimitHold){0};
}

size_t limits_entries(const Limits *limits)
{
    return atomic_load_explicit(&limits->n, memory_order_relaxed);
}

uint64_t limits_overflows(const Limits *limits)
{
    return atomic_load_explicit(&limits->overflows, memory_order_relaxed);
}
