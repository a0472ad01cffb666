/* SPDX-License-Identifier: Apache-2.0 */
/* See table.h. A shard is an open-addressing hash array that is at most half full. */
#include "router/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"

typedef struct Shard {
    _Atomic uint32_t refs;
    uint32_t n;
    uint32_t slots; /* power of two */
    Route *routes[];
} Shard;

struct RouteTable {
    _Atomic uint32_t refs;
    uint64_t seed;
    size_t n;
    Shard *shards[ROUTE_SHARDS]; /* NULL = empty */
};

#define SHARD_SLOTS_MIN 4

/* True when the caller dropped the last reference. */
static bool unref(_Atomic uint32_t *refs)
{
    if (atomic_fetch_sub_explicit(refs, 1, memory_order_release) != 1) {
        return false;
    }
    /* Pairs with the release above; the load makes it visible to thread sanitizers, too. */
    return atomic_load_explicit(refs, memory_order_acquire) == 0;
}

static void ref(_Atomic uint32_t *refs)
{
    atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

static uint64_t route_hash(uint64_t seed, Str ns, Str name)
{
    return hash_str(hash_str(seed, ns), name);
}

typedef struct RouteBody {
    Route route;
    RouteUse use;
} RouteBody;

static Route *route_new(uint64_t hash, Str ns, Str name, const Address *address, Str uid)
{
    RouteBody *body = xcalloc(1, sizeof(*body) + ns.len + name.len + uid.len + 3);
    Route *route = &body->route;
    char *text = (char *)(body + 1);

    memcpy(text, ns.ptr, ns.len);
    memcpy(text + ns.len + 1, name.ptr, name.len);
    memcpy(text + ns.len + name.len + 2, uid.ptr, uid.len);
    atomic_init(&route->refs, 1);
    route->hash = hash;
    route->ns = (Str){text, ns.len};
    route->name = (Str){text + ns.len + 1, name.len};
    route->uid = (Str){text + ns.len + name.len + 2, uid.len};
    route->address = *address;
    route->address.port = 0;
    route->use = &body->use;
    return route;
}

const Route *route_ref(const Route *route)
{
    RouteBody *body = container_of(route, RouteBody, route);

    ref(&body->route.refs);
    return route;
}

void route_unref(const Route *route)
{
    RouteBody *body = container_of(route, RouteBody, route);

    if (unref(&body->route.refs)) {
        free(body);
    }
}

static Shard *shard_new(uint32_t slots)
{
    Shard *shard = xcalloc(1, sizeof(*shard) + slots * sizeof(Route *));

    atomic_init(&shard->refs, 1);
    shard->slots = slots;
    return shard;
}

static void shard_unref(Shard *shard)
{
    if (!shard || !unref(&shard->refs)) {
        return;
    }
    for (uint32_t i = 0; i < shard->slots; i++) {
        if (shard->routes[i]) {
            route_unref(shard->routes[i]);
        }
    }
    free(shard);
}

/* Takes the reference of `route`; its key is not there yet. */
static void shard_put(Shard *shard, Route *route)
{
    uint32_t at = (uint32_t)(route->hash >> 8) & (shard->slots - 1);

    while (shard->routes[at]) {
        at = (at + 1) & (shard->slots - 1);
    }
    shard->routes[at] = route;
    shard->n++;
}

static Route *shard_find(const Shard *shard, uint64_t hash, Str ns, Str name)
{
    uint32_t at = (uint32_t)(hash >> 8) & (shard->slots - 1);

    for (; shard->routes[at]; at = (at + 1) & (shard->slots - 1)) {
        Route *route = shard->routes[at];

        if (route->hash == hash && str_eq(route->name, name) && str_eq(route->ns, ns)) {
            return route;
        }
    }
    return NULL;
}

/* A copy of `from` (may be NULL) without `without`, with `with` (either may be NULL). */
static Shard *shard_copy(const Shard *from, const Route *without, Route *with)
{
    uint32_t n = (from ? from->n : 0) + (with ? 1 : 0);
    uint32_t slots = SHARD_SLOTS_MIN;
    Shard *shard;

    while (slots < 2 * n) {
        slots *= 2;
    }
    shard = shard_new(slots);
    for (uint32_t i = 0; from && i < from->slots; i++) {
        Route *route = from->routes[i];

        if (route && route != without) {
            ref(&route->refs);
            shard_put(shard, route);
        }
    }
    if (with) {
        shard_put(shard, with);
    }
    return shard;
}

RouteTable *route_table_new(uint64_t seed)
{
    RouteTable *table = xcalloc(1, sizeof(*table));

    atomic_init(&table->refs, 1);
    table->seed = seed;
    return table;
}

RouteTable *route_table_ref(RouteTable *table)
{
    ref(&table->refs);
    return table;
}

RouteTable *route_table_unref(RouteTable *table)
{
    if (table && unref(&table->refs)) {
        for (size_t i = 0; i < ROUTE_SHARDS; i++) {
            shard_unref(table->shards[i]);
        }
        free(table);
    }
    return NULL;
}

size_t route_table_len(const RouteTable *table)
{
    return table->n;
}

const Route *route_table_find(const RouteTable *table, Str ns, Str name)
{
    uint64_t hash = route_hash(table->seed, ns, name);
    const Shard *shard = table->shards[hash % ROUTE_SHARDS];

    return shard ? shard_find(shard, hash, ns, name) : NULL;
}

RouteTable *route_table_set(RouteTable *table, Str ns, Str name, const Address *address, Str uid)
{
    uint64_t hash = route_hash(table->seed, ns, name);
    size_t at = hash % ROUTE_SHARDS;
    const Shard *old = table->shards[at];
    const Route *before = old ? shard_find(old, hash, ns, name) : NULL;
    RouteTable *next;

    if (before ? address && address_same_host(&before->address, address) && str_eq(before->uid, uid)
               : !address) {
        return table;
    }
    next = xcalloc(1, sizeof(*next));
    atomic_init(&next->refs, 1);
    next->seed = table->seed;
    next->n = table->n - (before ? 1 : 0) + (address ? 1 : 0);
    for (size_t i = 0; i < ROUTE_SHARDS; i++) {
        if (i == at) {
            next->shards[i] =
                shard_copy(old, before, address ? route_new(hash, ns, name, address, uid) : NULL);
        } else if (table->shards[i]) {
            ref(&table->shards[i]->refs);
            next->shards[i] = table->shards[i];
        }
    }
    route_table_unref(table);
    return next;
}

const Route *route_table_next(const RouteTable *table, RouteCursor *cursor)
{
    for (; cursor->shard < ROUTE_SHARDS; cursor->shard++, cursor->slot = 0) {
        const Shard *shard = table->shards[cursor->shard];

        while (shard && cursor->slot < shard->slots) {
            const Route *route = shard->routes[cursor->slot++];

            if (route) {
                return route;
            }
        }
    }
    return NULL;
}

void route_board_init(RouteBoard *board)
{
    *board = (RouteBoard){.table = NULL};
    CHECK(pthread_mutex_init(&board->lock, NULL) == 0);
}

void route_board_deinit(RouteBoard *board)
{
    board->table = route_table_unref(board->table);
    pthread_mutex_destroy(&board->lock);
}

void route_board_publish(RouteBoard *board, RouteTable *table)
{
    RouteTable *old;

    route_table_ref(table);
    pthread_mutex_lock(&board->lock);
    old = board->table;
    board->table = table;
    pthread_mutex_unlock(&board->lock);
    route_table_unref(old);
}

RouteTable *route_board_get(RouteBoard *board)
{
    RouteTable *table;

    pthread_mutex_lock(&board->lock);
    table = board->table ? route_table_ref(board->table) : NULL;
    pthread_mutex_unlock(&board->lock);
    return table;
}
