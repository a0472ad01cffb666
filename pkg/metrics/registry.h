/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Inside of the registry, shared by metrics.c (series, updates), text.c (output) and nobody else.
 *
 * Series of a family hang in a hash table of fixed size. They are only ever added, at the head of a
 * chain and under the registry's lock, so readers walk the chains with acquire loads and no lock.
 * A series has a cache line of its own: two workers that count different things do not disturb each
 * other.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "metrics/metrics.h"

#define CACHE_LINE 64

typedef struct Family Family;
typedef struct Series Series;

struct Series {
    _Alignas(
        CACHE_LINE) _Atomic uint64_t bits; /* counter: the count; gauge, histogram sum: a double */
    _Atomic(Series *) next;
    uint64_t hash;
    const Family *family;
    Str values[METRICS_LABELS_MAX]; /* point behind the buckets */
    _Atomic uint64_t buckets[];     /* histograms: one a bound and one for +Inf, not cumulative */
};

struct Family {
    Metrics *metrics;
    Family *next; /* in order of registration */
    MetricType type;
    const char *name;
    const char *help;
    const char *const *labels;
    size_t n_labels;
    size_t series_max;
    size_t n_series; /* under the lock */
    double *buckets; /* owned */
    size_t n_buckets;
    _Atomic(Series *) *table; /* NULL for families computed at scrape */
    size_t table_len;         /* power of two */
    MetricCollect collect;
    void *ctx;
};

struct Metrics {
    pthread_mutex_t lock; /* adding series */
    uint64_t seed;
    Family *first;
    Family **last;
};

double metric_bits_to_double(uint64_t bits);
uint64_t metric_double_to_bits(double v);

/* Label values as they may appear: UTF-8 and not too long. Points into `space` where it had to
 * change. */
typedef struct LabelSpace {
    char text[METRICS_LABELS_MAX][METRICS_LABEL_VALUE_MAX];
} LabelSpace;
void metric_clean_values(const Str *values, size_t n, LabelSpace *space, Str *ret);

/* One number as Prometheus clients print it: shortest that reads back the same, NaN, +Inf, -Inf. */
#define METRIC_NUMBER_MAX 40
size_t metric_format(double v, char dst[METRIC_NUMBER_MAX]);
