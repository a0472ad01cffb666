/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See timefmt.h. Calendar arithmetic is the days-from-civil method on the proleptic Gregorian
 * calendar; no time zone database and no locale are involved.
 */
#include "base/timefmt.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

#define S_PER_DAY 86400
#define YEAR_MIN 1700 /* what an int64 of nanoseconds holds */
#define YEAR_MAX 2261

typedef struct Civil {
    int64_t year;
    unsigned month; /* 1-12 */
    unsigned day;   /* 1-31 */
} Civil;

static int64_t days_from_civil(Civil c)
{
    int64_t y = c.month <= 2 ? c.year - 1 : c.year;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;

    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static Civil civil_from_days(int64_t days)
{
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    unsigned month = (unsigned)(mp < 10 ? mp + 3 : mp - 9);

    return (Civil){yoe + era * 400 + (month <= 2), month, (unsigned)(doy - (153 * mp + 2) / 5 + 1)};
}

static int format_seconds(int64_t wall_ns, char ret[TIMEFMT_SIZE], int64_t *ret_fraction)
{
    int64_t s = wall_ns / (int64_t)NS_PER_S;
    int64_t fraction = wall_ns % (int64_t)NS_PER_S;
    int64_t days;
    Civil c;

    if (fraction < 0) {
        fraction += (int64_t)NS_PER_S;
        s--;
    }
    days = s >= 0 ? s / S_PER_DAY : -((-s + S_PER_DAY - 1) / S_PER_DAY);
    s -= days * S_PER_DAY;
    c = civil_from_days(days);
    *ret_fraction = fraction;
    return snprintf(ret, TIMEFMT_SIZE, "%04d-%02u-%02uT%02d:%02d:%02d", (int)c.year, c.month, c.day,
                    (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

void timefmt_seconds(int64_t wall_ns, char ret[TIMEFMT_SIZE])
{
    int64_t fraction;
    int n = format_seconds(wall_ns, ret, &fraction);

    snprintf(ret + n, TIMEFMT_SIZE - (size_t)n, "Z");
}

void timefmt_micros(int64_t wall_ns, char ret[TIMEFMT_SIZE])
{
    int64_t fraction;
    int n = format_seconds(wall_ns, ret, &fraction);

    snprintf(ret + n, TIMEFMT_SIZE - (size_t)n, ".%06dZ", (int)(fraction / 1000));
}

void timefmt_nanos(int64_t wall_ns, char ret[TIMEFMT_SIZE])
{
    int64_t fraction;
    int n = format_seconds(wall_ns, ret, &fraction);

    snprintf(ret + n, TIMEFMT_SIZE - (size_t)n, ".%09dZ", (int)(fraction > 0 ? fraction : 1));
}

/* Takes exactly `digits` digits off the front. */
static int take_number(Str *s, size_t digits, unsigned *ret)
{
    unsigned v = 0;

    if (s->len < digits) {
        return -EINVAL;
    }
    for (size_t i = 0; i < digits; i++) {
        unsigned digit = (unsigned)(unsigned char)s->ptr[i] - '0';

        if (digit > 9) {
            return -EINVAL;
        }
        v = v * 10 + digit;
    }
    *s = (Str){s->ptr + digits, s->len - digits};
    *ret = v;
    return 0;
}

static int take_char(Str *s, const char *any_of)
{
    for (; s->len > 0 && *any_of; any_of++) {
        if (s->ptr[0] == *any_of) {
            *s = (Str){s->ptr + 1, s->len - 1};
            return 0;
        }
    }
    return -EINVAL;
}

static int take_fraction(Str *s, int64_t *ret_ns)
{
    int64_t ns = 0;
    int64_t unit = 100000000;

    if (take_char(s, ".") < 0) {
        *ret_ns = 0;
        return 0;
    }
    if (s->len == 0 || s->ptr[0] < '0' || s->ptr[0] > '9') {
        return -EINVAL;
    }
    while (s->len > 0 && s->ptr[0] >= '0' && s->ptr[0] <= '9') {
        ns += unit * (s->ptr[0] - '0');
        unit /= 10;
        *s = str_drop(*s, 1);
    }
    *ret_ns = ns;
    return 0;
}

/* "Z" or an offset of at most 23:59; *ret_s is what to subtract. */
static int take_zone(Str *s, int64_t *ret_s)
{
    bool negative = s->len > 0 && s->ptr[0] == '-';
    unsigned hours;
    unsigned minutes;

    if (take_char(s, "Zz") == 0) {
        *ret_s = 0;
        return s->len == 0 ? 0 : -EINVAL;
    }
    if (take_char(s, "+-") < 0 || take_number(s, 2, &hours) < 0 || take_char(s, ":") < 0 ||
        take_number(s, 2, &minutes) < 0 || s->len > 0 || hours > 23 || minutes > 59) {
        return -EINVAL;
    }
    *ret_s = (int64_t)(hours * 3600 + minutes * 60) * (negative ? -1 : 1);
    return 0;
}

static bool civil_is_valid(Civil c)
{
    static const unsigned char month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = c.year % 4 == 0 && (c.year % 100 != 0 || c.year % 400 == 0);

    return c.year >= YEAR_MIN && c.year <= YEAR_MAX && c.month >= 1 && c.month <= 12 &&
           c.day >= 1 && c.day <= month_days[c.month - 1] + (unsigned)(c.month == 2 && leap);
}

int timefmt_parse(Str s, int64_t *ret_wall_ns)
{
    unsigned year;
    Civil c;
    unsigned h;
    unsigned m;
    unsigned sec;
    int64_t fraction;
    int64_t zone;

    if (take_number(&s, 4, &year) < 0 || take_char(&s, "-") < 0 ||
        take_number(&s, 2, &c.month) < 0 || take_char(&s, "-") < 0 ||
        take_number(&s, 2, &c.day) < 0 || take_char(&s, "Tt") < 0 || take_number(&s, 2, &h) < 0 ||
        take_char(&s, ":") < 0 || take_number(&s, 2, &m) < 0 || take_char(&s, ":") < 0 ||
        take_number(&s, 2, &sec) < 0 || take_fraction(&s, &fraction) < 0 ||
        take_zone(&s, &zone) < 0) {
        return -EINVAL;
    }
    c.year = year;
    if (!civil_is_valid(c) || h > 23 || m > 59 || sec > 59) {
        return -EINVAL;
    }
    *ret_wall_ns =
        (days_from_civil(c) * S_PER_DAY + h * 3600 + m * 60 + sec - zone) * (int64_t)NS_PER_S +
        fraction;
    return 0;
}

typedef struct DurationUnit {
    const char *name;
    double ns;
} DurationUnit;

/* Longer names first, so that "ms" is not read as "m". */
static const DurationUnit duration_units[] = {
    {"ns", 1}, {"us", 1e3}, {"\xc2\xb5s", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9},
};

static const DurationUnit *take_unit(Str *s)
{
    for (size_t i = 0; i < ARRAY_LEN(duration_units); i++) {
        Str name = str_from(duration_units[i].name);

        if (str_starts(*s, name)) {
            *s = str_drop(*s, name.len);
            return &duration_units[i];
        }
    }
    return NULL;
}

static size_t number_length(Str s)
{
    size_t n = 0;

    while (n < s.len && ((s.ptr[n] >= '0' && s.ptr[n] <= '9') || s.ptr[n] == '.')) {
        n++;
    }
    return n;
}

int timefmt_parse_duration(Str s, int64_t *ret_ns)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    double total = 0;

    if (negative || (s.len > 0 && s.ptr[0] == '+')) {
        s = str_drop(s, 1);
    }
    if (str_eq(s, STR("0"))) {
        *ret_ns = 0;
        return 0;
    }
    if (s.len == 0) {
        return -EINVAL;
    }
    while (s.len > 0) {
        size_t n = number_length(s);
        const DurationUnit *unit;
        double v;

        if (str_to_double(str_take(s, n), &v) < 0) {
            return -EINVAL;
        }
        s = str_drop(s, n);
        unit = take_unit(&s);
        if (!unit) {
            return -EINVAL;
        }
        total += v * unit->ns;
    }
    if (total > 9.2e18) {
        return -ERANGE;
    }
    *ret_ns = (int64_t)(total + 0.5) * (negative ? -1 : 1);
    return 0;
}

void timefmt_duration(int64_t ns, char ret[TIMEFMT_SIZE])
{
    uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const char *sign = ns < 0 ? "-" : "";

    if (v == 0) {
        snprintf(ret, TIMEFMT_SIZE, "0s");
    } else if (v < NS_PER_MS) {
        snprintf(ret, TIMEFMT_SIZE, "%s%gus", sign, (double)v / 1e3);
    } else if (v < NS_PER_S) {
        snprintf(ret, TIMEFMT_SIZE, "%s%gms", sign, (double)v / 1e6);
    } else if (v < 60 * NS_PER_S) {
        snprintf(ret, TIMEFMT_SIZE, "%s%gs", sign, (double)v / 1e9);
    } else if (v < 3600 * NS_PER_S) {
        snprintf(ret, TIMEFMT_SIZE, "%s%dm%gs", sign, (int)(v / (60 * NS_PER_S)),
                 (double)(v % (60 * NS_PER_S)) / 1e9);
    } else {
        snprintf(ret, TIMEFMT_SIZE, "%s%dh%dm%gs", sign, (int)(v / (3600 * NS_PER_S)),
                 (int)(v / (60 * NS_PER_S) % 60), (double)(v % (60 * NS_PER_S)) / 1e9);
    }
}
