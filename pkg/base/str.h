/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Str is a borrowed slice, passed by value, not NUL-terminated. StrBuf is an owned growing buffer
 * that always has a maximum: reaching it sets a sticky error and loses nothing that was there.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

typedef struct Str {
    const char *ptr;
    size_t len;
} Str;

#define STR(literal) ((Str){"" literal, sizeof(literal) - 1})
#define STR_NULL ((Str){NULL, 0})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).len, (s).ptr

static inline Str str_from(const char *s) /* NULL gives STR_NULL */
{
    return s ? (Str){s, strlen(s)} : STR_NULL;
}

static inline bool str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_eq_nocase(Str a, Str b); /* ASCII only */
int str_cmp(Str a, Str b);        /* byte order, shorter first on a tie */
bool str_starts(Str s, Str prefix);
bool str_ends(Str s, Str suffix);
Str str_trim(Str s); /* spaces, tabs, CR, LF at both ends */
Str str_drop(Str s, size_t n);
Str str_take(Str s, size_t n);
/* Index of the first `c`, or -1. */
ptrdiff_t str_find(Str s, char c);
/* Splits at the first `sep`: *ret_rest is what follows, empty (NULL ptr) when there is no sep. */
Str str_cut(Str s, char sep, Str *ret_rest);
bool str_is_utf8(Str s);

/* Whole-string decimal numbers. 0, -EINVAL (not a number), -ERANGE. No sign, no spaces for u64. */
int str_to_u64(Str s, uint64_t *ret);
int str_to_i64(Str s, int64_t *ret);
int str_to_double(Str s, double *ret); /* finite only */

/* ---- growing buffer ---- */

typedef struct StrBuf {
    char *ptr; /* NUL-terminated whenever non-NULL */
    size_t len;
    size_t cap;
    size_t max; /* most bytes that may be held, NUL not counted */
    int error;  /* sticky: 0 or -E2BIG */
} StrBuf;

#define STRBUF_INIT(maximum)                                                                       \
    {                                                                                              \
        .max = (maximum)                                                                           \
    }

void strbuf_init(StrBuf *buf, size_t max);
void strbuf_deinit(StrBuf *buf);
void strbuf_clear(StrBuf *buf); /* empty, keeps the memory, clears the error */

/* All appenders return 0 or -E2BIG; after an error they do nothing and keep returning it. */
int strbuf_append(StrBuf *buf, Str s);
int strbuf_append_cstr(StrBuf *buf, const char *s);
int strbuf_append_char(StrBuf *buf, char c);
int strbuf_printf(StrBuf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
int strbuf_vprintf(StrBuf *buf, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* Makes room for n more bytes; write at ptr + len, then add to len. */
int strbuf_reserve(StrBuf *buf, size_t n);
/* Drops the first n bytes. */
void strbuf_consume(StrBuf *buf, size_t n);
/* Hands the memory over (never NULL); the buffer is empty afterwards. */
char *strbuf_take(StrBuf *buf);

static inline Str strbuf_str(const StrBuf *buf)
{
    return (Str){buf->ptr ? buf->ptr : "", buf->len};
}

DEFINE_AUTO(strbuf, StrBuf, strbuf_deinit)
