/* SPDX-License-Identifier: Apache-2.0 */
/* Updates and reads of single series: relaxed atomics, safe from any thread. */
#include <math.h>
#include <string.h>

#include "metrics/registry.h"

double metric_bits_to_double(uint64_t bits)
{
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

uint64_t metric_double_to_bits(double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static uint64_t load(const _Atomic uint64_t *p)
{
    return atomic_load_explicit(p, memory_order_relaxed);
}

static void add_double(_Atomic uint64_t *p, double delta)
{
    uint64_t old = load(p), new;

    do {
        new = metric_double_to_bits(metric_bits_to_double(old) + delta);
    } while (!atomic_compare_exchange_weak_explicit(p, &old, new, memory_order_relaxed,
                                                    memory_order_relaxed));
}

void counter_inc(Counter *counter)
{
    counter_add(counter, 1);
}

void counter_add(Counter *counter, uint64_t n)
{
    atomic_fetch_add_explicit(&((Series *)counter)->bits, n, memory_order_relaxed);
}

uint64_t counter_value(const Counter *counter)
{
    return load(&((const Series *)counter)->bits);
}

void gauge_set(Gauge *gauge, double value)
{
    atomic_store_explicit(&((Series *)gauge)->bits, metric_double_to_bits(value),
                          memory_order_relaxed);
}

void gauge_add(Gauge *gauge, double delta)
{
    add_double(&((Series *)gauge)->bits, delta);
}

double gauge_value(const Gauge *gauge)
{
    return metric_bits_to_double(load(&((const Series *)gauge)->bits));
}

void histogram_observe(Histogram *histogram, double value)
{
    Series *series = (Series *)histogram;
    const Family *family = series->family;
    size_t i = 0;

    if (isnan(value)) {
        return;
    }
    while (i < family->n_buckets && value > family->buckets[i]) {
        i++;
    }
    atomic_fetch_add_explicit(&series->buckets[i], 1, memory_order_relaxed);
    add_double(&series->bits, value);
}

uint64_t histogram_count(const Histogram *histogram)
{
    const Series *series = (const Series *)histogram;
    uint64_t n = 0;

    for (size_t i = 0; i <= series->family->n_buckets; i++) {
        n += load(&series->buckets[i]);
    }
    return n;
}

double histogram_sum(const Histogram *histogram)
{
    return metric_bits_to_double(load(&((const Series *)histogram)->bits));
}
