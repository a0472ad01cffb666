/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Metric registry and Prometheus text 0.0.4.
 *
 * A family is a name, a help text, a type and label names; a series is one combination of label
 * values. Families are registered at start, from one thread; names and labels are literals and are
 * CHECKed. Series are found or made at any time from any thread and live as long as the registry;
 * updates are relaxed atomics, so workers never wait for each other or for a scrape. Lookup of an
 * existing series takes no lock either; keep the handle where it is used often.
 *
 * A family holds at most `series_max` series. When it is full, new combinations share one series
 * whose label values are all METRICS_OVERFLOW, so the total stays right and memory bounded.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/str.h"

#define METRICS_LABELS_MAX 8
#define METRICS_LABEL_VALUE_MAX 256 /* bytes; longer values are cut at a character */
#define METRICS_BUCKETS_MAX 40
#define METRICS_SERIES_MAX 65536 /* ceiling for series_max */
#define METRICS_OVERFLOW "_overflow"
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef struct Metrics Metrics;
typedef struct Counter Counter;     /* one series of a counter family */
typedef struct Gauge Gauge;         /* ... of a gauge family */
typedef struct Histogram Histogram; /* ... of a histogram family */
typedef struct CounterFamily CounterFamily;
typedef struct GaugeFamily GaugeFamily;
typedef struct HistogramFamily HistogramFamily;

Metrics *metrics_new(void);
void metrics_free(Metrics *metrics); /* NULL is fine; frees families and series */
DEFINE_AUTO_PTR(metrics, Metrics, metrics_free)

/* ---- families with series ---- */

typedef struct MetricSpec {
    const char *name;
    const char *help;
    const char *const *labels; /* NULL-terminated, NULL = no labels; must outlive the registry */
    size_t series_max;         /* 0 = 1 without labels, 1000 with */
    const double *buckets;     /* histograms: ascending upper bounds without +Inf, copied */
    size_t n_buckets;
} MetricSpec;

CounterFamily *metrics_counter(Metrics *metrics, const MetricSpec *spec);
GaugeFamily *metrics_gauge(Metrics *metrics, const MetricSpec *spec);
HistogramFamily *metrics_histogram(Metrics *metrics, const MetricSpec *spec);

/* Finds or makes a series; one value per label name, in order. Never NULL. */
Counter *counter_series(CounterFamily *family, const Str *values);
Gauge *gauge_series(GaugeFamily *family, const Str *values);
Histogram *histogram_series(HistogramFamily *family, const Str *values);
/* counter_with(requests, STR("GET"), code) */
#define counter_with(family, ...) counter_series((family), (const Str[]){__VA_ARGS__})
#define gauge_with(family, ...) gauge_series((family), (const Str[]){__VA_ARGS__})
#define histogram_with(family, ...) histogram_series((family), (const Str[]){__VA_ARGS__})
/* The series of a family without labels. */
Counter *counter_only(CounterFamily *family);
Gauge *gauge_only(GaugeFamily *family);
Histogram *histogram_only(HistogramFamily *family);

void counter_inc(Counter *counter);
void counter_add(Counter *counter, uint64_t n);
uint64_t counter_value(const Counter *counter);
void gauge_set(Gauge *gauge, double value);
void gauge_add(Gauge *gauge, double delta);
double gauge_value(const Gauge *gauge);
void histogram_observe(Histogram *histogram, double value); /* NaN is ignored */
uint64_t histogram_count(const Histogram *histogram);
double histogram_sum(const Histogram *histogram);

/* Prometheus' default latency buckets, .005 to 10 seconds. */
extern const double METRICS_BUCKETS_DEFAULT[];
extern const size_t METRICS_BUCKETS_DEFAULT_LEN;

/* ---- values computed at scrape, in the thread that scrapes ---- */

typedef enum MetricType {
    METRIC_COUNTER,
    METRIC_GAUGE,
    METRIC_HISTOGRAM,
} MetricType;

typedef struct MetricSink MetricSink;
/* Called once a scrape; emits any number of series of this family with metric_emit. */
typedef void (*MetricCollect)(MetricSink *sink, void *ctx);
/* type: METRIC_COUNTER or METRIC_GAUGE. spec->series_max bounds what one scrape may emit; the rest
 * is left out. The order of families in the output is the order of registration. */
void metrics_collect(Metrics *metrics, MetricType type, const MetricSpec *spec,
                     MetricCollect collect, void *ctx);
void metric_emit(MetricSink *sink, const Str *values,
                 double value); /* values NULL without labels */

/* ---- output ---- */

/* Writes all families. 0, or -E2BIG when `out` is full (nothing of the text is then to be used). */
int metrics_write(Metrics *metrics, StrBuf *out);
