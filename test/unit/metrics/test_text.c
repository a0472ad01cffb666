/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics/metrics.h"
#include "metrics/process.h"
#include "metrics/registry.h"
#include "test/harness/t.h"

static const char *const CODE_METHOD[] = {"code", "method", NULL};
static const char *const POOL[] = {"pool", NULL};

static void collect_pools(MetricSink *sink, void *ctx)
{
    static const char *const NAMES[] = {"b", "a", "c \"quoted\"", "left out"};
    const double *value = ctx;

    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
        metric_emit(sink, (const Str[]){str_from(NAMES[i])}, *value + (double)i);
    }
}

T_TEST(the_text_is_exactly_the_golden_one)
{
    static const double BOUNDS[] = {0.005, 0.25, 1, 2.5, 1000000};
    double base = 7.5;
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf out = STRBUF_INIT(100000);

    CounterFamily *requests = metrics_counter(
        metrics, &(MetricSpec){.name = "router_requests_total",
                               .help = "Requests by code and method.\n\"Twice\" \\.",
                               .labels = CODE_METHOD});
    counter_add(counter_with(requests, STR("502"), STR("POST")), 3);
    counter_inc(counter_with(requests, STR("200"), STR("POST")));
    counter_inc(counter_with(requests, STR("200"), STR("GET")));
    counter_inc(counter_with(requests, STR("\\"), STR("a\"b\nc\xc3\xa9")));
    metrics_counter(metrics, &(MetricSpec){.name = "untouched_total", .help = "Starts at zero."});
    metrics_counter(metrics, &(MetricSpec){.name = "no_series_total", .help = "", .labels = POOL});
    Gauge *gauge = gauge_only(metrics_gauge(metrics, &(MetricSpec){.name = "depth", .help = "G."}));
    gauge_set(gauge, -0.25);
    HistogramFamily *latency = metrics_histogram(metrics, &(MetricSpec){.name = "latency_seconds",
                                                                        .help = "L.",
                                                                        .labels = POOL,
                                                                        .buckets = BOUNDS,
                                                                        .n_buckets = 5});
    histogram_observe(histogram_with(latency, STR("p")), 0.25);
    histogram_observe(histogram_with(latency, STR("p")), 0.5);
    histogram_observe(histogram_with(latency, STR("p")), 2e6);
    metrics_collect(metrics, METRIC_GAUGE,
                    &(MetricSpec){.name = "pools", .help = "P.", .labels = POOL, .series_max = 3},
                    collect_pools, &base);
    T_OK(metrics_write(metrics, &out));
    T_EQ_STR(strbuf_str(&out), t_read_file("test/golden/metrics.txt"));
}

T_TEST(numbers_are_short_and_read_back_the_same)
{
    static const struct {
        double v;
        const char *text;
    } ROWS[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-12.5, "-12.5"},
        {0.1, "0.1"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {1e20, "100000000000000000000"},
        {1e21, "1e+21"},
        {1234567, "1234567"},
        {1764534849.25, "1764534849.25"},
        {1.0 / 3, "0.3333333333333333"},
        {9007199254740993.0, "9007199254740992"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "+Inf"},
        {-INFINITY, "-Inf"},
        {NAN, "NaN"},
    };
    char text[METRIC_NUMBER_MAX];

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        t_row(ROWS[i].text);
        size_t n = metric_format(ROWS[i].v, text);
        T_EQ_STR(((Str){text, n}), ROWS[i].text);
        T_CHECK(isnan(ROWS[i].v) || strtod(text, NULL) == ROWS[i].v);
    }
    t_row(NULL);
}

T_TEST(a_full_buffer_is_reported)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf out = STRBUF_INIT(20);

    metrics_counter(metrics, &(MetricSpec){.name = "x_total", .help = "Some help."});
    T_EQ_INT(metrics_write(metrics, &out), -E2BIG);
}

/* The value on the line of an unlabelled metric. */
static double value_of(Str text, const char *name)
{
    Str rest = text, line;

    while (rest.ptr) {
        line = str_cut(rest, '\n', &rest);
        Str value;
        Str key = str_cut(line, ' ', &value);
        double v;
        if (str_eq(key, str_from(name)) && str_to_double(value, &v) == 0) {
            return v;
        }
    }
    T_FAIL("no %s in the text", name);
}

T_TEST(the_process_describes_itself)
{
    AUTO(metrics) Metrics *metrics = metrics_new();
    AUTO(strbuf) StrBuf out = STRBUF_INIT(100000);

    metrics_process_register(metrics);
    T_OK(metrics_write(metrics, &out));
    Str text = strbuf_str(&out);
    T_CONTAINS(text, "# TYPE process_cpu_seconds_total counter\n");
    T_CONTAINS(text, "# TYPE process_resident_memory_bytes gauge\n");
    T_CHECK(value_of(text, "process_cpu_seconds_total") >= 0);
    double rss = value_of(text, "process_resident_memory_bytes");
    T_CHECK(rss > 100e3 && rss < 10e9);
    T_CHECK(value_of(text, "process_virtual_memory_bytes") >= rss);
    double fds = value_of(text, "process_open_fds");
    T_CHECK(fds >= 1 && fds < 1000);
    T_CHECK(value_of(text, "process_max_fds") >= fds);
    double start = value_of(text, "process_start_time_seconds");
    T_CHECK(start > 1.5e9);
    /* one more descriptor is one more */
    FILE *file = fopen("/dev/null", "re");
    strbuf_clear(&out);
    T_OK(metrics_write(metrics, &out));
    fclose(file);
    T_CHECK(value_of(strbuf_str(&out), "process_open_fds") == fds + 1);
}
