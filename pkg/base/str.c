/* SPDX-License-Identifier: Apache-2.0 */
/* See str.h: slices. The growing buffer is in strbuf.c. */
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STR_NUMBER_MAX 64 /* longest text taken for a floating point number */

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool str_eq_nocase(Str a, Str b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i])) {
            return false;
        }
    }
    return true;
}

int str_cmp(Str a, Str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int r = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;

    return r ? r : (a.len > b.len) - (a.len < b.len);
}

bool str_starts(Str s, Str prefix)
{
    return s.len >= prefix.len && str_eq(str_take(s, prefix.len), prefix);
}

bool str_ends(Str s, Str suffix)
{
    return s.len >= suffix.len && str_eq(str_drop(s, s.len - suffix.len), suffix);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

Str str_trim(Str s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s = str_drop(s, 1);
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

Str str_drop(Str s, size_t n)
{
    if (n > s.len) {
        n = s.len;
    }
    return n > 0 ? (Str){s.ptr + n, s.len - n} : s;
}

Str str_take(Str s, size_t n)
{
    return (Str){s.ptr, n < s.len ? n : s.len};
}

ptrdiff_t str_find(Str s, char c)
{
    const char *p = s.len > 0 ? memchr(s.ptr, c, s.len) : NULL;

    return p ? p - s.ptr : -1;
}

Str str_cut(Str s, char sep, Str *ret_rest)
{
    ptrdiff_t at = str_find(s, sep);

    if (at < 0) {
        *ret_rest = STR_NULL;
        return s;
    }
    *ret_rest = str_drop(s, (size_t)at + 1);
    return str_take(s, (size_t)at);
}

/* Bytes of the well-formed sequence at `p` (Unicode 15, table 3-7), or 0. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char lo = 0x80;
    unsigned char hi = 0xBF;
    size_t n;

    if (p[0] < 0x80) {
        return 1;
    }
    if (p[0] < 0xC2 || p[0] > 0xF4) {
        return 0;
    }
    n = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
    if (p[0] == 0xE0) {
        lo = 0xA0;
    } else if (p[0] == 0xED) {
        hi = 0x9F;
    } else if (p[0] == 0xF0) {
        lo = 0x90;
    } else if (p[0] == 0xF4) {
        hi = 0x8F;
    }
    if (left < n || p[1] < lo || p[1] > hi) {
        return 0;
    }
    for (size_t i = 2; i < n; i++) {
        if (p[i] < 0x80 || p[i] > 0xBF) {
            return 0;
        }
    }
    return n;
}

bool str_is_utf8(Str s)
{
    size_t i = 0;

    while (i < s.len) {
        size_t n = utf8_sequence((const unsigned char *)s.ptr + i, s.len - i);

        if (n == 0) {
            return false;
        }
        i += n;
    }
    return true;
}

int str_to_u64(Str s, uint64_t *ret)
{
    uint64_t v = 0;

    if (s.len == 0) {
        return -EINVAL;
    }
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9') {
            return -EINVAL;
        }
    }
    for (size_t i = 0; i < s.len; i++) {
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.ptr[i] - '0'), &v)) {
            return -ERANGE;
        }
    }
    *ret = v;
    return 0;
}

int str_to_i64(Str s, int64_t *ret)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    bool sign = negative || (s.len > 0 && s.ptr[0] == '+');
    uint64_t v;
    int r = str_to_u64(str_drop(s, sign), &v);

    if (r < 0) {
        return r;
    }
    if (v > (uint64_t)INT64_MAX + negative) {
        return -ERANGE;
    }
    *ret = negative ? (int64_t)(0 - v) : (int64_t)v;
    return 0;
}

int str_to_double(Str s, double *ret)
{
    char text[STR_NUMBER_MAX + 1];
    char *end;
    double v;

    if (s.len == 0 || s.len > STR_NUMBER_MAX || is_space(s.ptr[0])) {
        return -EINVAL;
    }
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    errno = 0;
    v = strtod(text, &end);
    if (*end || end != text + s.len || isnan(v)) {
        return -EINVAL;
    }
    if (!isfinite(v)) {
        return -ERANGE;
    }
    *ret = v;
    return 0;
}
