/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Route table: namespace/name -> address of a ready pod.
 *
 * A RouteTable is an immutable snapshot. Changing one route copies one of ROUTE_SHARDS shards and
 * the array of shard pointers, never the rest, so a change costs the same at 20 or 20,000
 * sandboxes. Tables, shards and routes are counted atomically and shared between threads; only the
 * writer (one thread) makes new tables. Readers take a reference from a RouteBoard and look up
 * without locks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/str.h"
#include "router/address.h"

#define ROUTE_SHARDS 256

/* The only part of a route that changes: when it was used. Written by workers, read by the main
 * thread; see activity.h. */
typedef struct RouteUse {
    _Atomic uint32_t open;  /* requests, streams and upgrades that run */
    _Atomic int64_t last_s; /* wall clock, end of the last one */
    int64_t written_s;      /* the main thread's: what the Sandbox says */
} RouteUse;

typedef struct Route {
    _Atomic uint32_t refs;
    uint64_t hash;
    Str ns; /* NUL-terminated, stored behind the struct */
    Str name;
    Str uid;         /* of the Sandbox; "" = not known */
    Address address; /* port 0 */
    RouteUse *use;   /* stored with the route */
} Route;

typedef struct RouteTable RouteTable;

RouteTable *route_table_new(uint64_t seed);
RouteTable *route_table_ref(RouteTable *table);
RouteTable *route_table_unref(RouteTable *table); /* NULL is fine; returns NULL */
size_t route_table_len(const RouteTable *table);
/* Borrowed: valid while the table is held. NULL when there is none. */
const Route *route_table_find(const RouteTable *table, Str ns, Str name);

/*
 * Writer: a new table with this route set, or removed when address is NULL. Takes the reference of
 * `table`. Returns the same table when nothing changes.
 */
RouteTable *route_table_set(RouteTable *table, Str ns, Str name, const Address *address, Str uid);

/* For whoever holds on to a route beyond its table. */
const Route *route_ref(const Route *route);
void route_unref(const Route *route);

/* Every route once, in no particular order; start with a zeroed cursor. NULL at the end. */
typedef struct RouteCursor {
    uint32_t shard;
    uint32_t slot;
} RouteCursor;

const Route *route_table_next(const RouteTable *table, RouteCursor *cursor);

/* The current table, handed from the writer to any number of readers. */
typedef struct RouteBoard {
    pthread_mutex_t lock;
    RouteTable *table; /* under the lock; NULL = none published yet */
} RouteBoard;

void route_board_init(RouteBoard *board);
void route_board_deinit(RouteBoard *board);
void route_board_publish(RouteBoard *board, RouteTable *table); /* takes a reference */
RouteTable *route_board_get(RouteBoard *board); /* a new reference, NULL when none is there */
