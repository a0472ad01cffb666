/* SPDX-License-Identifier: Apache-2.0 */
/* See census.h. */
#include "router/census.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/hmap.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/rng.h"

#define SERIES_MAX ((size_t)METRICS_SERIES_MAX)

typedef struct CodeCount {
    int code; /* 0 = other */
    uint64_t n;
} CodeCount;

typedef struct Person {
    HMapNode node;
    ListNode age;
    CodeCount codes[CENSUS_CODES + 1]; /* the last one is "other" */
    uint64_t to_sandbox;
    uint64_t to_client;
    Str ns; /* both stored behind the struct */
    Str name;
} Person;

struct Census {
    pthread_mutex_t lock;
    HMap persons;
    List ages; /* used longest ago first */
    size_t n;
    size_t max;
    uint64_t seed;
    Person *rest;
};

static Person *person_new(Str ns, Str name)
{
    Person *person = xcalloc(1, sizeof(*person) + ns.len + name.len);
    char *text = (char *)(person + 1);

    memcpy(text, ns.ptr, ns.len);
    memcpy(text + ns.len, name.ptr, name.len);
    person->ns = (Str){text, ns.len};
    person->name = (Str){text + ns.len, name.len};
    return person;
}

static void add_code(Person *person, int code, uint64_t n)
{
    size_t i = code == 0 ? CENSUS_CODES : 0;

    while (i < CENSUS_CODES && person->codes[i].n > 0 && person->codes[i].code != code) {
        i++;
    }
    person->codes[i].code = i < CENSUS_CODES ? code : 0;
    person->codes[i].n += n;
}

/* The oldest leaves; its numbers stay, without its name. */
static void retire(Census *census, Person *person)
{
    for (size_t i = 0; i <= CENSUS_CODES; i++) {
        if (person->codes[i].n > 0) {
            add_code(census->rest, person->codes[i].code, person->codes[i].n);
        }
    }
    census->rest->to_sandbox += person->to_sandbox;
    census->rest->to_client += person->to_client;
    hmap_remove(&census->persons, &person->node);
    list_remove(&person->age);
    census->n--;
    free(person);
}

static Person *get(Census *census, Str ns, Str name)
{
    uint64_t hash = hash_str(hash_str(census->seed, ns), name);
    ListNode *oldest = list_first(&census->ages);
    Person *person;

    for (HMapNode *n = hmap_first(&census->persons, hash); n; n = hmap_next(n)) {
        person = container_of(n, Person, node);
        if (str_eq(person->name, name) && str_eq(person->ns, ns)) {
            return person;
        }
    }
    if (census->n >= census->max && oldest) {
        retire(census, list_entry(oldest, Person, age));
    }
    person = person_new(ns, name);
    hmap_insert(&census->persons, &person->node, hash);
    census->n++;
    return person;
}

void census_count(Census *census, Str ns, Str name, int code, uint64_t to_sandbox,
                  uint64_t to_client)
{
    Person *person;

    pthread_mutex_lock(&census->lock);
    person = get(census, ns, name);
    list_remove(&person->age);
    list_push_back(&census->ages, &person->age);
    add_code(person, code, 1);
    person->to_sandbox += to_sandbox;
    person->to_client += to_client;
    pthread_mutex_unlock(&census->lock);
}

/* ---- at scrape ---- */

typedef void (*EmitFn)(MetricSink *sink, const Person *person);

static void emit_codes(MetricSink *sink, const Person *person)
{
    for (size_t i = 0; i <= CENSUS_CODES; i++) {
        char code[12] = "other";
        const CodeCount *count = &person->codes[i];

        if (count->n == 0) {
            continue;
        }
        if (count->code != 0) {
            snprintf(code, sizeof(code), "%d", count->code);
        }
        metric_emit(sink, (const Str[]){person->ns, person->name, str_from(code)},
                    (double)count->n);
    }
}

static void emit_bytes(MetricSink *sink, const Person *person)
{
    metric_emit(sink, (const Str[]){person->ns, person->name, STR("to_client")},
                (double)person->to_client);
    metric_emit(sink, (const Str[]){person->ns, person->name, STR("to_sandbox")},
                (double)person->to_sandbox);
}

static void emit_all(Census *census, MetricSink *sink, EmitFn emit)
{
    pthread_mutex_lock(&census->lock);
    emit(sink, census->rest);
    list_foreach (&census->ages, node) {
        emit(sink, list_entry(node, Person, age));
    }
    pthread_mutex_unlock(&census->lock);
}

static void collect_codes(MetricSink *sink, void *ctx)
{
    emit_all(ctx, sink, emit_codes);
}

static void collect_bytes(MetricSink *sink, void *ctx)
{
    emit_all(ctx, sink, emit_bytes);
}

Census *census_new(size_t sandboxes_max, Metrics *metrics)
{
    static const char *const code_labels[] = {"sandbox_namespace", "sandbox", "code", NULL};
    static const char *const byte_labels[] = {"sandbox_namespace", "sandbox", "direction", NULL};
    MetricSpec codes = {.name = "sandbox_router_sandbox_requests_total",
                        .help = "Requests to one sandbox, by status code.",
                        .labels = code_labels,
                        .series_max = SERIES_MAX};
    MetricSpec bytes = {.name = "sandbox_router_sandbox_bytes_total",
                        .help = "Bytes of bodies and upgrades of one sandbox.",
                        .labels = byte_labels,
                        .series_max = SERIES_MAX};
    Census *census = xcalloc(1, sizeof(*census));

    _Static_assert((CENSUS_MAX + 1) * (CENSUS_CODES + 1) <= METRICS_SERIES_MAX,
                   "a scrape has room for every series");
    CHECK(pthread_mutex_init(&census->lock, NULL) == 0);
    hmap_init(&census->persons);
    list_init(&census->ages);
    rng_os_fill(&census->seed, sizeof(census->seed));
    census->max = sandboxes_max;
    census->rest = person_new(STR(METRICS_OVERFLOW), STR(METRICS_OVERFLOW));
    metrics_collect(metrics, METRIC_COUNTER, &codes, collect_codes, census);
    metrics_collect(metrics, METRIC_COUNTER, &bytes, collect_bytes, census);
    return census;
}

Census *census_free(Census *census)
{
    ListNode *node;

    if (!census) {
        return NULL;
    }
    while ((node = list_first(&census->ages))) {
        retire(census, list_entry(node, Person, age));
    }
    hmap_deinit(&census->persons);
    free(census->rest);
    pthread_mutex_destroy(&census->lock);
    free(census);
    return NULL;
}
