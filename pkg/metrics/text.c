/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text format 0.0.4. Families in order of registration, series sorted by label values.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "metrics/registry.h"

struct MetricSink {
    const Family *family;
    StrBuf *out;
    size_t left; /* series that may still be emitted */
};

/* Digits after the point that %.*e needs to read back the same. */
static int shortest_e(double v, char dst[METRIC_NUMBER_MAX])
{
    int digits = 0;

    do {
        snprintf(dst, METRIC_NUMBER_MAX, "%.*e", digits, v);
    } while (strtod(dst, NULL) != v && ++digits < 17);
    return digits;
}

size_t metric_format(double v, char dst[METRIC_NUMBER_MAX])
{
    if (isnan(v) || isinf(v)) {
        return (size_t)snprintf(dst, METRIC_NUMBER_MAX, "%s",
                                isnan(v) ? "NaN"
                                : v > 0  ? "+Inf"
                                         : "-Inf");
    }
    int digits = shortest_e(v, dst);
    long exponent = strtol(strchr(dst, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 21) {
        return strlen(dst);
    }
    int decimals = digits > exponent ? digits - (int)exponent : 0;
    return (size_t)snprintf(dst, METRIC_NUMBER_MAX, "%.*f", decimals, v);
}

/* Backslash and newline escaped, quotes too in label values. */
static void append_escaped(StrBuf *out, Str s, bool quotes)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '\n') {
            strbuf_append(out, STR("\\n"));
            continue;
        }
        if (c == '\\' || (quotes && c == '"')) {
            strbuf_append_char(out, '\\');
        }
        strbuf_append_char(out, c);
    }
}

static void append_header(StrBuf *out, const Family *family)
{
    static const char *const TYPES[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
    };

    strbuf_printf(out, "# HELP %s ", family->name);
    append_escaped(out, str_from(family->help), false);
    strbuf_printf(out, "\n# TYPE %s %s\n", family->name, TYPES[family->type]);
}

/* name_suffix{labels,le="bound"} and the blank before the value; le NULL = none. */
static void append_series(StrBuf *out, const Family *family, const char *suffix, const Str *values,
                          const char *le)
{
    bool braces = family->n_labels > 0 || le;

    strbuf_printf(out, "%s%s%s", family->name, suffix, braces ? "{" : "");
    for (size_t i = 0; i < family->n_labels; i++) {
        strbuf_printf(out, "%s%s=\"", i > 0 ? "," : "", family->labels[i]);
        append_escaped(out, values[i], true);
        strbuf_append_char(out, '"');
    }
    if (le) {
        strbuf_printf(out, "%sle=\"%s\"", family->n_labels > 0 ? "," : "", le);
    }
    strbuf_append_cstr(out, braces ? "} " : " ");
}

static void append_u64(StrBuf *out, uint64_t v)
{
    strbuf_printf(out, "%llu\n", (unsigned long long)v);
}

static void append_double(StrBuf *out, double v)
{
    char text[METRIC_NUMBER_MAX];

    strbuf_append(out, (Str){text, metric_format(v, text)});
    strbuf_append_char(out, '\n');
}

static void write_histogram(StrBuf *out, const Series *series)
{
    const Family *family = series->family;
    uint64_t total = 0;
    char le[METRIC_NUMBER_MAX];

    for (size_t i = 0; i <= family->n_buckets; i++) {
        total += atomic_load_explicit(&series->buckets[i], memory_order_relaxed);
        metric_format(i < family->n_buckets ? family->buckets[i] : INFINITY, le);
        append_series(out, family, "_bucket", series->values, le);
        append_u64(out, total);
    }
    append_series(out, family, "_sum", series->values, NULL);
    append_double(out, histogram_sum((const Histogram *)series));
    append_series(out, family, "_count", series->values, NULL);
    append_u64(out, total);
}

static void write_series(StrBuf *out, const Series *series)
{
    switch (series->family->type) {
    case METRIC_COUNTER:
        append_series(out, series->family, "", series->values, NULL);
        append_u64(out, counter_value((const Counter *)series));
        break;
    case METRIC_GAUGE:
        append_series(out, series->family, "", series->values, NULL);
        append_double(out, gauge_value((const Gauge *)series));
        break;
    case METRIC_HISTOGRAM:
        write_histogram(out, series);
        break;
    }
}

static int series_order(const void *pa, const void *pb)
{
    const Series *a = *(const Series *const *)pa, *b = *(const Series *const *)pb;

    for (size_t i = 0; i < a->family->n_labels; i++) {
        int r = str_cmp(a->values[i], b->values[i]);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* All series there are now, owned array. */
static const Series **list_series(Family *family, size_t *ret_n)
{
    size_t n = 0;

    CHECK(pthread_mutex_lock(&family->metrics->lock) == 0);
    const Series **list = xcalloc(family->n_series, sizeof(*list));
    for (size_t i = 0; i < family->table_len; i++) {
        Series *series = atomic_load_explicit(&family->table[i], memory_order_acquire);
        for (; series; series = atomic_load_explicit(&series->next, memory_order_acquire)) {
            list[n++] = series;
        }
    }
    CHECK(pthread_mutex_unlock(&family->metrics->lock) == 0);
    *ret_n = n;
    return list;
}

static void write_family(StrBuf *out, Family *family)
{
    size_t n = 0;

    append_header(out, family);
    if (family->collect) {
        MetricSink sink = {.family = family, .out = out, .left = family->series_max};
        family->collect(&sink, family->ctx);
        return;
    }
    AUTO(mem) const Series **list = list_series(family, &n);
    qsort(list, n, sizeof(*list), series_order);
    for (size_t i = 0; i < n; i++) {
        write_series(out, list[i]);
    }
}

void metric_emit(MetricSink *sink, const Str *values, double value)
{
    Str clean[METRICS_LABELS_MAX];
    LabelSpace space;

    if (sink->left == 0) {
        return;
    }
    sink->left--;
    metric_clean_values(values, sink->family->n_labels, &space, clean);
    append_series(sink->out, sink->family, "", clean, NULL);
    append_double(sink->out, value);
}

int metrics_write(Metrics *metrics, StrBuf *out)
{
    for (Family *family = metrics->first; family; family = family->next) {
        write_family(out, family);
    }
    return out->error;
}
