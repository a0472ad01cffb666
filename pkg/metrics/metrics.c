/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "metrics/registry.h"

#define SERIES_MAX_DEFAULT 1000
#define TABLE_LEN_MAX 4096
#define CHAIN_LEN 4 /* series a bucket when the family is full */

const double METRICS_BUCKETS_DEFAULT[] = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
const size_t METRICS_BUCKETS_DEFAULT_LEN = ARRAY_LEN(METRICS_BUCKETS_DEFAULT);

Metrics *metrics_new(void)
{
    Metrics *metrics = xcalloc(1, sizeof(*metrics));

    metrics->last = &metrics->first;
    CHECK(pthread_mutex_init(&metrics->lock, NULL) == 0);
    CHECK(getrandom(&metrics->seed, sizeof(metrics->seed), 0) == sizeof(metrics->seed));
    return metrics;
}

static void family_free(Family *family)
{
    for (size_t i = 0; i < family->table_len; i++) {
        Series *series = atomic_load_explicit(&family->table[i], memory_order_relaxed);
        while (series) {
            Series *next = atomic_load_explicit(&series->next, memory_order_relaxed);
            free(series);
            series = next;
        }
    }
    free(family->table);
    free(family->buckets);
    free(family);
}

void metrics_free(Metrics *metrics)
{
    if (!metrics) {
        return;
    }
    for (Family *family = metrics->first; family;) {
        Family *next = family->next;
        family_free(family);
        family = next;
    }
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

/* ---- registration ---- */

static bool is_name(const char *name, bool colon)
{
    const char *p = name;

    for (; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool digit = *p >= '0' && *p <= '9';
        if (!letter && !(digit && p > name) && !(colon && *p == ':')) {
            return false;
        }
    }
    return p > name;
}

static size_t count_labels(const MetricSpec *spec)
{
    size_t n = 0;

    for (; spec->labels && spec->labels[n]; n++) {
        CHECK(n < METRICS_LABELS_MAX && is_name(spec->labels[n], false));
        CHECK(strcmp(spec->labels[n], "le") != 0);
    }
    return n;
}

static void copy_buckets(Family *family, const MetricSpec *spec)
{
    CHECK(spec->n_buckets <= METRICS_BUCKETS_MAX);
    for (size_t i = 0; i < spec->n_buckets; i++) {
        CHECK(isfinite(spec->buckets[i]) && (i == 0 || spec->buckets[i] > spec->buckets[i - 1]));
    }
    family->n_buckets = spec->n_buckets;
    family->buckets = xcalloc(spec->n_buckets, sizeof(double));
    for (size_t i = 0; i < spec->n_buckets; i++) {
        family->buckets[i] = spec->buckets[i];
    }
}

static Family *family_new(Metrics *metrics, MetricType type, const MetricSpec *spec)
{
    Family *family = xcalloc(1, sizeof(*family));

    CHECK(is_name(spec->name, true) && spec->help);
    for (const Family *other = metrics->first; other; other = other->next) {
        CHECK(strcmp(other->name, spec->name) != 0);
    }
    family->metrics = metrics;
    family->type = type;
    family->name = spec->name;
    family->help = spec->help;
    family->labels = spec->labels;
    family->n_labels = count_labels(spec);
    family->series_max = spec->series_max        ? spec->series_max
                         : family->n_labels == 0 ? 1
                                                 : SERIES_MAX_DEFAULT;
    CHECK(family->series_max <= METRICS_SERIES_MAX);
    *metrics->last = family;
    metrics->last = &family->next;
    return family;
}

/* ---- series ---- */

void metric_clean_values(const Str *values, size_t n, LabelSpace *space, Str *ret)
{
    for (size_t i = 0; i < n; i++) {
        Str s = values[i];
        if (s.len > METRICS_LABEL_VALUE_MAX) {
            s.len = METRICS_LABEL_VALUE_MAX;
            while (s.len > 0 && ((unsigned char)s.ptr[s.len] & 0xc0) == 0x80) {
                s.len--;
            }
        }
        if (!str_is_utf8(s)) {
            for (size_t k = 0; k < s.len; k++) {
                space->text[i][k] = (unsigned char)s.ptr[k] < 0x80 ? s.ptr[k] : '?';
            }
            s.ptr = space->text[i];
        }
        ret[i] = s;
    }
}

static uint64_t hash_values(const Family *family, const Str *values)
{
    uint64_t hash = family->metrics->seed;

    for (size_t i = 0; i < family->n_labels; i++) {
        hash = hash_str(hash, values[i]);
    }
    return hash;
}

static bool same_values(const Series *series, const Str *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(series->values[i], values[i])) {
            return false;
        }
    }
    return true;
}

static Series *find_series(const Family *family, const Str *values, uint64_t hash)
{
    _Atomic(Series *) *slot = &family->table[hash & (family->table_len - 1)];
    Series *series = atomic_load_explicit(slot, memory_order_acquire);

    while (series && (series->hash != hash || !same_values(series, values, family->n_labels))) {
        series = atomic_load_explicit(&series->next, memory_order_acquire);
    }
    return series;
}

static Series *series_new(const Family *family, const Str *values, uint64_t hash)
{
    bool histogram = family->type == METRIC_HISTOGRAM;
    size_t fixed = sizeof(Series) + (histogram ? family->n_buckets + 1 : 0) * sizeof(uint64_t);
    size_t size = fixed;

    for (size_t i = 0; i < family->n_labels; i++) {
        size += values[i].len;
    }
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    Series *series = aligned_alloc(CACHE_LINE, size);
    CHECK(series);
    memset((void *)series, 0, size);
    series->hash = hash;
    series->family = family;
    char *text = (char *)series + fixed;
    for (size_t i = 0; i < family->n_labels; i++) {
        if (values[i].len > 0) {
            memcpy(text, values[i].ptr, values[i].len);
        }
        series->values[i] = (Str){text, values[i].len};
        text += values[i].len;
    }
    return series;
}

/* Under the lock: finds it after all, or adds it while there is room; NULL when the family is full.
 */
static Series *add_series(Family *family, const Str *values, uint64_t hash, size_t max)
{
    Series *series = find_series(family, values, hash);

    if (series || family->n_series >= max) {
        return series;
    }
    _Atomic(Series *) *slot = &family->table[hash & (family->table_len - 1)];
    series = series_new(family, values, hash);
    Series *head = atomic_load_explicit(slot, memory_order_relaxed);
    atomic_store_explicit(&series->next, head, memory_order_relaxed);
    atomic_store_explicit(slot, series, memory_order_release);
    family->n_series++;
    return series;
}

static Series *get_series(Family *family, const Str *values)
{
    Str clean[METRICS_LABELS_MAX], overflow[METRICS_LABELS_MAX];
    LabelSpace space;

    metric_clean_values(values, family->n_labels, &space, clean);
    uint64_t hash = hash_values(family, clean);
    Series *series = find_series(family, clean, hash);
    if (series) {
        return series;
    }
    CHECK(pthread_mutex_lock(&family->metrics->lock) == 0);
    series = add_series(family, clean, hash, family->series_max);
    if (!series) {
        for (size_t i = 0; i < family->n_labels; i++) {
            overflow[i] = STR(METRICS_OVERFLOW);
        }
        series =
            add_series(family, overflow, hash_values(family, overflow), family->series_max + 1);
    }
    CHECK(pthread_mutex_unlock(&family->metrics->lock) == 0);
    CHECK(series);
    return series;
}

/* ---- the typed faces ---- */

static Family *family_with_table(Metrics *metrics, MetricType type, const MetricSpec *spec)
{
    Family *family = family_new(metrics, type, spec);

    CHECK(type == METRIC_HISTOGRAM || spec->n_buckets == 0);
    copy_buckets(family, spec);
    family->table_len = 1;
    while (family->table_len * CHAIN_LEN < family->series_max &&
           family->table_len < TABLE_LEN_MAX) {
        family->table_len *= 2;
    }
    family->table = xcalloc(family->table_len, sizeof(*family->table));
    if (family->n_labels == 0) {
        get_series(family, NULL); /* shown as 0 before the first event */
    }
    return family;
}

CounterFamily *metrics_counter(Metrics *metrics, const MetricSpec *spec)
{
    return (CounterFamily *)family_with_table(metrics, METRIC_COUNTER, spec);
}

GaugeFamily *metrics_gauge(Metrics *metrics, const MetricSpec *spec)
{
    return (GaugeFamily *)family_with_table(metrics, METRIC_GAUGE, spec);
}

HistogramFamily *metrics_histogram(Metrics *metrics, const MetricSpec *spec)
{
    return (HistogramFamily *)family_with_table(metrics, METRIC_HISTOGRAM, spec);
}

void metrics_collect(Metrics *metrics, MetricType type, const MetricSpec *spec,
                     MetricCollect collect, void *ctx)
{
    Family *family = family_new(metrics, type, spec);

    CHECK(type != METRIC_HISTOGRAM && collect);
    family->collect = collect;
    family->ctx = ctx;
}

Counter *counter_series(CounterFamily *family, const Str *values)
{
    return (Counter *)get_series((Family *)family, values);
}

Gauge *gauge_series(GaugeFamily *family, const Str *values)
{
    return (Gauge *)get_series((Family *)family, values);
}

Histogram *histogram_series(HistogramFamily *family, const Str *values)
{
    return (Histogram *)get_series((Family *)family, values);
}

static Series *only_series(Family *family)
{
    CHECK(family->n_labels == 0);
    return get_series(family, NULL);
}

Counter *counter_only(CounterFamily *family)
{
    return (Counter *)only_series((Family *)family);
}

Gauge *gauge_only(GaugeFamily *family)
{
    return (Gauge *)only_series((Family *)family);
}

Histogram *histogram_only(HistogramFamily *family)
{
    return (Histogram *)only_series((Family *)family);
}
