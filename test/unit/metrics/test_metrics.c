/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/metrics.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "test/harness/t.h"

static const char *const VERB[] = {"verb", NULL};
static const char *const TWO[] = {"a", "b", NULL};

T_TEST(a_series_is_found_again)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    CounterFamily *family =
        metrics_counter(metrics, &(MetricSpec){.name = "x_total", .help = "", .labels = TWO});
    Counter *one = counter_with(family, STR("p"), STR("q"));

    counter_inc(one);
    counter_add(one, 41);
    T_CHECK(counter_with(family, STR("p"), STR("q")) == one);
    T_CHECK(counter_with(family, STR("q"), STR("p")) != one);
    T_CHECK(counter_with(family, STR("pq"), STR("")) != one);
    T_EQ_INT(counter_value(one), 42);
    T_EQ_INT(counter_value(counter_with(family, STR("pq"), STR(""))), 0);
}

T_TEST(a_full_family_overflows_into_one_series)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    CounterFamily *family = metrics_counter(
        metrics, &(MetricSpec){.name = "x_total", .help = "", .labels = VERB, .series_max = 3});
    char value[16];

    for (int i = 0; i < 1000; i++) {
        snprintf(value, sizeof(value), "v%d", i % 100);
        counter_inc(counter_with(family, str_from(value)));
    }
    T_EQ_INT(counter_value(counter_with(family, STR("v0"))), 10);
    T_EQ_INT(counter_value(counter_with(family, STR("v2"))), 10);
    T_EQ_INT(counter_value(counter_with(family, STR("v3"))), 970);
    T_CHECK(counter_with(family, STR("v3")) == counter_with(family, STR(METRICS_OVERFLOW)));
}

T_TEST(many_series_share_a_small_table)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    CounterFamily *family = metrics_counter(
        metrics, &(MetricSpec){.name = "x_total", .help = "", .labels = VERB, .series_max = 20000});
    char value[16];

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20000; i++) {
            snprintf(value, sizeof(value), "v%d", i);
            counter_inc(counter_with(family, str_from(value)));
        }
    }
    T_EQ_INT(counter_value(counter_with(family, STR("v19999"))), 2);
    T_EQ_INT(counter_value(counter_with(family, STR("v0"))), 2);
}

T_TEST(label_values_are_cut_and_cleaned)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    CounterFamily *family =
        metrics_counter(metrics, &(MetricSpec){.name = "x_total", .help = "", .labels = VERB});
    char longer[METRICS_LABEL_VALUE_MAX + 100];

    memset(longer, 'x', sizeof(longer));
    Counter *cut = counter_with(family, ((Str){longer, METRICS_LABEL_VALUE_MAX}));
    T_CHECK(counter_with(family, ((Str){longer, sizeof(longer)})) == cut);
    memcpy(longer + METRICS_LABEL_VALUE_MAX - 1, "\xc3\xa9", 2);
    Counter *shorter = counter_with(family, ((Str){longer, METRICS_LABEL_VALUE_MAX - 1}));
    T_CHECK(counter_with(family, ((Str){longer, sizeof(longer)})) == shorter);
    T_CHECK(counter_with(family, STR("a\xff")) == counter_with(family, STR("a?")));
    T_CHECK(counter_with(family, STR_NULL) == counter_with(family, STR("")));
}

T_TEST(gauges_are_set_and_moved)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    Gauge *gauge = gauge_only(metrics_gauge(metrics, &(MetricSpec){.name = "g", .help = ""}));

    gauge_set(gauge, 2.5);
    gauge_add(gauge, -4);
    T_CHECK(gauge_value(gauge) == -1.5);
}

T_TEST(observations_fall_into_their_bucket)
{
    static const double BOUNDS[] = {1, 2, 5};
    AUTO(metrics) Metrics *metrics = metrics_new();
    Histogram *histogram = histogram_only(metrics_histogram(
        metrics,
        &(MetricSpec){.name = "h", .help = "", .buckets = BOUNDS, .n_buckets = ARRAY_LEN(BOUNDS)}));
    AUTO(strbuf) StrBuf out = STRBUF_INIT(10000);

    histogram_observe(histogram, 1); /* a bound belongs to its bucket */
    histogram_observe(histogram, 1.5);
    histogram_observe(histogram, 5.0001);
    histogram_observe(histogram, -3);
    histogram_observe(histogram, NAN);
    T_EQ_INT(histogram_count(histogram), 4);
    T_CHECK(fabs(histogram_sum(histogram) - 4.5001) < 1e-9);
    T_OK(metrics_write(metrics, &out));
    T_CONTAINS(strbuf_str(&out), "h_bucket{le=\"1\"} 2\nh_bucket{le=\"2\"} 3\n"
                                 "h_bucket{le=\"5\"} 3\nh_bucket{le=\"+Inf\"} 4\n");
}

/* ---- threads: run under the thread sanitizer too ---- */

#define THREADS 4
#define ROUNDS 20000

typedef struct Shared {
    Metrics *metrics;
    CounterFamily *counters;
    HistogramFamily *histograms;
    Gauge *gauge;
} Shared;

static void *work(void *ctx)
{
    const Shared *shared = ctx;
    Histogram *histogram = histogram_only(shared->histograms);
    char value[16];

    for (int i = 0; i < ROUNDS; i++) {
        snprintf(value, sizeof(value), "v%d", i % 64);
        counter_inc(counter_with(shared->counters, str_from(value)));
        histogram_observe(histogram, i % 2);
        gauge_add(shared->gauge, 1);
        gauge_add(shared->gauge, -1);
    }
    return NULL;
}

T_TEST(threads_lose_no_update_while_a_scrape_runs)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    Shared shared = {
        .metrics = metrics,
        .counters = metrics_counter(
            metrics,
            &(MetricSpec){.name = "c_total", .help = "", .labels = VERB, .series_max = 40}),
        .histograms =
            metrics_histogram(metrics, &(MetricSpec){.name = "h",
                                                     .help = "",
                                                     .buckets = METRICS_BUCKETS_DEFAULT,
                                                     .n_buckets = METRICS_BUCKETS_DEFAULT_LEN}),
        .gauge = gauge_only(metrics_gauge(metrics, &(MetricSpec){.name = "g", .help = ""})),
    };
    pthread_t threads[THREADS];
    uint64_t total = 0;
    char value[16];

    for (int i = 0; i < THREADS; i++) {
        T_OK(pthread_create(&threads[i], NULL, work, &shared));
    }
    for (int i = 0; i < 50; i++) {
        AUTO(strbuf) StrBuf out = STRBUF_INIT(100000);
        T_OK(metrics_write(metrics, &out));
    }
    for (int i = 0; i < THREADS; i++) {
        T_OK(pthread_join(threads[i], NULL));
    }
    for (int i = 0; i < 64; i++) {
        snprintf(value, sizeof(value), "v%d", i);
        Counter *counter = counter_with(shared.counters, str_from(value));
        bool overflow = counter == counter_with(shared.counters, STR(METRICS_OVERFLOW));
        total += overflow ? 0 : counter_value(counter);
    }
    total += counter_value(counter_with(shared.counters, STR(METRICS_OVERFLOW)));
    T_EQ_INT(total, THREADS * ROUNDS);
    T_EQ_INT(histogram_count(histogram_only(shared.histograms)), THREADS * ROUNDS);
    T_CHECK(histogram_sum(histogram_only(shared.histograms)) == THREADS * ROUNDS / 2);
    T_CHECK(gauge_value(shared.gauge) == 0);
}
