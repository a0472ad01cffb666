/* SPDX-License-Identifier: Apache-2.0 */
#include "json/quantity.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/attr.h"

#define NANO 1000000000
#define DIGITS_MAX                                                                                 \
    19 /* significant digits: 10^19 * 2^60 fits 124 bits; more only decide about rounding */
#define EXPONENT_MAX 1000
#define TEXT_MAX 256

__extension__ typedef unsigned __int128 Wide;

/* digits * 10^exp10 * 2^exp2 */
typedef struct Decimal {
    uint64_t digits;
    int n;
    int exp10;
    int exp2;
    bool lost; /* a digit that is not zero was cut off */
} Decimal;

static const struct {
    Str suffix;
    int exp10;
    int exp2;
} SUFFIXES[] = {
    {{"", 0}, 0, 0},    {{"n", 1}, -9, 0},  {{"u", 1}, -6, 0},  {{"m", 1}, -3, 0},
    {{"k", 1}, 3, 0},   {{"M", 1}, 6, 0},   {{"G", 1}, 9, 0},   {{"T", 1}, 12, 0},
    {{"P", 1}, 15, 0},  {{"E", 1}, 18, 0},  {{"Ki", 2}, 0, 10}, {{"Mi", 2}, 0, 20},
    {{"Gi", 2}, 0, 30}, {{"Ti", 2}, 0, 40}, {{"Pi", 2}, 0, 50}, {{"Ei", 2}, 0, 60},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add_digit(Decimal *d, char c, bool fraction)
{
    if (d->n == DIGITS_MAX) {
        d->lost |= c != '0';
        d->exp10 += !fraction;
        return;
    }
    d->digits = d->digits * 10 + (uint64_t)(c - '0');
    d->n += d->digits != 0;
    d->exp10 -= fraction;
}

/* Digits with at most one point. Returns what follows; NULL ptr when there is no digit. */
static Str parse_digits(Str s, Decimal *d)
{
    bool fraction = false, any = false;
    size_t i = 0;

    for (; i < s.len; i++) {
        if (is_digit(s.ptr[i])) {
            add_digit(d, s.ptr[i], fraction);
            any = true;
        } else if (s.ptr[i] == '.' && !fraction) {
            fraction = true;
        } else {
            break;
        }
    }
    return any ? (Str){s.ptr + i, s.len - i} : STR_NULL;
}

static int parse_scale(Str s, Decimal *d)
{
    for (size_t i = 0; i < ARRAY_LEN(SUFFIXES); i++) {
        if (str_eq(s, SUFFIXES[i].suffix)) {
            d->exp10 += SUFFIXES[i].exp10;
            d->exp2 = SUFFIXES[i].exp2;
            return 0;
        }
    }
    if (s.len < 2 || (s.ptr[0] != 'e' && s.ptr[0] != 'E')) {
        return -EINVAL;
    }
    bool minus = s.ptr[1] == '-';
    s = str_drop(s, s.ptr[1] == '-' || s.ptr[1] == '+' ? 2 : 1);
    uint64_t exponent;
    int r = str_to_u64(s, &exponent);
    if (r == -EINVAL) {
        return r;
    }
    int e = r < 0 || exponent > EXPONENT_MAX ? EXPONENT_MAX : (int)exponent;
    d->exp10 += minus ? -e : e;
    return 0;
}

/* |value| in nanos, rounded up, capped at INT64_MAX units. */
static Wide to_nanos(const Decimal *d)
{
    const Wide cap = (Wide)INT64_MAX * NANO;
    Wide v = (Wide)d->digits << d->exp2;
    int exp10 = d->exp10 + 9;
    bool lost = d->lost;

    for (; exp10 > 0 && v > 0 && v <= cap; exp10--) {
        v *= 10;
    }
    for (; exp10 < 0 && v > 0; exp10++) {
        lost |= v % 10 != 0;
        v /= 10;
    }
    v += lost;
    return v > cap ? cap : v;
}

int quantity_parse(Str text, Quantity *ret)
{
    Decimal d = {0};
    bool minus = str_starts(text, STR("-"));

    if (text.len > TEXT_MAX) {
        return -EINVAL;
    }
    if (minus || str_starts(text, STR("+"))) {
        text = str_drop(text, 1);
    }
    Str scale = parse_digits(text, &d);
    if (!scale.ptr || parse_scale(scale, &d) < 0) {
        return -EINVAL;
    }
    Wide nanos = to_nanos(&d);
    int64_t units = (int64_t)(nanos / NANO);
    int32_t rest = (int32_t)(nanos % NANO);
    *ret = (Quantity){minus ? -units : units, minus ? -rest : rest};
    return 0;
}

int quantity_cmp(Quantity a, Quantity b)
{
    if (a.units != b.units) {
        return a.units < b.units ? -1 : 1;
    }
    return (a.nanos > b.nanos) - (a.nanos < b.nanos);
}

size_t quantity_format(Quantity q, char dst[QUANTITY_TEXT_MAX])
{
    bool minus = q.units < 0 || q.nanos < 0;
    uint64_t units = minus ? (uint64_t)-q.units : (uint64_t)q.units;
    int nanos = minus ? -q.nanos : q.nanos;
    int n = snprintf(dst, QUANTITY_TEXT_MAX, "%s%llu.%09d", minus ? "-" : "",
                     (unsigned long long)units, nanos);

    while (dst[n - 1] == '0') {
        n--;
    }
    n -= dst[n - 1] == '.';
    dst[n] = '\0';
    return (size_t)n;
}
