/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "router/table.h"
#include "test/harness/t.h"

static Address ip(uint32_t n)
{
    Address a = {.set = true, .bytes = {10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n}};

    return a;
}

static bool has(const RouteTable *table, const char *ns, const char *name, uint32_t n)
{
    const Route *route = route_table_find(table, str_from(ns), str_from(name));
    Address want = ip(n);

    return route && address_same_host(&route->address, &want);
}

T_TEST(set_find_replace_remove)
{
    RouteTable *table = route_table_new(7);
    Address one = ip(1), two = ip(2);

    T_CHECK(!route_table_find(table, STR("ns"), STR("a")));
    table = route_table_set(table, STR("ns"), STR("a"), &one, STR(""));
    T_CHECK(has(table, "ns", "a", 1));
    T_CHECK(!route_table_find(table, STR("ns"), STR("b")));
    T_CHECK(!route_table_find(table, STR("a"), STR("ns")));
    T_CHECK(!route_table_find(table, STR("nsa"), STR("")));
    table = route_table_set(table, STR("ns"), STR("a"), &two, STR(""));
    T_CHECK(has(table, "ns", "a", 2));
    T_EQ_INT(route_table_len(table), 1);
    table = route_table_set(table, STR("ns"), STR("a"), NULL, STR(""));
    T_CHECK(!route_table_find(table, STR("ns"), STR("a")));
    T_EQ_INT(route_table_len(table), 0);
    route_table_unref(table);
}

T_TEST(nothing_new_makes_no_new_table)
{
    RouteTable *table = route_table_new(7);
    Address one = ip(1);

    T_CHECK(route_table_set(table, STR("ns"), STR("a"), NULL, STR("")) == table);
    table = route_table_set(table, STR("ns"), STR("a"), &one, STR(""));
    T_CHECK(route_table_set(table, STR("ns"), STR("a"), &one, STR("")) == table);
    route_table_unref(table);
}

T_TEST(a_snapshot_does_not_change)
{
    RouteTable *table = route_table_new(7);
    RouteTable *old;
    Address one = ip(1), two = ip(2);

    table = route_table_set(table, STR("ns"), STR("a"), &one, STR(""));
    old = route_table_ref(table);
    table = route_table_set(table, STR("ns"), STR("a"), &two, STR(""));
    table = route_table_set(table, STR("ns"), STR("b"), &two, STR(""));
    T_CHECK(has(old, "ns", "a", 1));
    T_CHECK(!route_table_find(old, STR("ns"), STR("b")));
    route_table_unref(table);
    T_CHECK(has(old, "ns", "a", 1));
    route_table_unref(old);
}

/* Random changes against an array that is the truth. */
T_TEST(like_a_plain_array)
{
    enum { NAMES = 3000, STEPS = 30000 };
    uint32_t *truth = calloc(NAMES, sizeof(*truth));
    RouteTable *table = route_table_new(99);
    size_t len = 0;
    char name[16];
    Rng rng;

    rng_init(&rng, 42);
    for (int i = 0; i < STEPS; i++) {
        size_t at = rng_below(&rng, NAMES);
        uint32_t value = rng_below(&rng, 3) == 0 ? 0 : 1 + (uint32_t)rng_below(&rng, 1000);
        Address address = ip(value);

        snprintf(name, sizeof(name), "s%zu", at);
        table = route_table_set(table, STR("ns"), str_from(name), value ? &address : NULL, STR(""));
        len = len - (truth[at] != 0) + (value != 0);
        truth[at] = value;
    }
    T_EQ_INT(route_table_len(table), len);
    for (size_t at = 0; at < NAMES; at++) {
        snprintf(name, sizeof(name), "s%zu", at);
        T_EQ_INT(truth[at] ? has(table, "ns", name, truth[at])
                           : !route_table_find(table, STR("ns"), str_from(name)),
                 1);
    }
    route_table_unref(table);
    free(truth);
}

static void *reader(void *arg)
{
    RouteBoard *board = arg;
    bool seen_last = false;

    while (!seen_last) {
        RouteTable *table = route_board_get(board);
        const Route *route = table ? route_table_find(table, STR("ns"), STR("x")) : NULL;

        /* Two routes of one table always agree. */
        if (route) {
            const Route *twin = route_table_find(table, STR("ns"), STR("y"));

            if (!twin || !address_same_host(&route->address, &twin->address)) {
                return (void *)1;
            }
            seen_last = route->address.bytes[3] == 200;
        }
        route_table_unref(table);
    }
    return NULL;
}

T_TEST(readers_in_other_threads_see_whole_tables)
{
    RouteBoard board;
    RouteTable *table = route_table_new(1);
    pthread_t threads[3];
    void *result;

    route_board_init(&board);
    T_CHECK(route_board_get(&board) == NULL);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        T_OK(pthread_create(&threads[i], NULL, reader, &board));
    }
    for (uint32_t n = 1; n <= 200; n++) {
        Address address = ip(n);

        table = route_table_set(table, STR("ns"), STR("x"), &address, STR(""));
        table = route_table_set(table, STR("ns"), STR("y"), &address, STR(""));
        route_board_publish(&board, table);
    }
    for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
        T_OK(pthread_join(threads[i], &result));
        T_CHECK(result == NULL);
    }
    route_table_unref(table);
    route_board_deinit(&board);
}

T_TEST(a_walk_sees_every_route_once)
{
    RouteTable *table = route_table_new(3);
    RouteCursor cursor = {0};
    Address address = {.set = true};
    bool seen[500] = {0};
    const Route *route;
    size_t n = 0;
    char name[16];

    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        table = route_table_set(table, STR("ns"), str_from(name), &address, STR(""));
    }
    while ((route = route_table_next(table, &cursor))) {
        uint64_t i;

        T_OK(str_to_u64(str_drop(route->name, 1), &i));
        T_CHECK(!seen[i]);
        seen[i] = true;
        n++;
    }
    T_EQ_INT(n, 500);
    route = route_table_find(table, STR("ns"), STR("n7"));
    route_ref(route);
    route_table_unref(table);
    T_EQ_INT(route->use->open, 0); /* outlives its table */
    route_unref(route);
}
