/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See str.h: the growing buffer. `max` bounds the content whatever a peer sends; the first append
 * that would pass it sets the sticky error and leaves what was there as it was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/str.h"

#define STRBUF_CAP_MIN 64

void strbuf_init(StrBuf *buf, size_t max)
{
    *buf = (StrBuf)STRBUF_INIT(max);
}

void strbuf_deinit(StrBuf *buf)
{
    free(buf->ptr);
    buf->ptr = NULL;
    buf->len = buf->cap = 0;
}

void strbuf_clear(StrBuf *buf)
{
    buf->len = 0;
    buf->error = 0;
    if (buf->ptr) {
        buf->ptr[0] = '\0';
    }
}

int strbuf_reserve(StrBuf *buf, size_t n)
{
    size_t cap;

    if (buf->error) {
        return buf->error;
    }
    if (n > buf->max || buf->len > buf->max - n) {
        buf->error = -E2BIG;
        return buf->error;
    }
    if (buf->ptr && buf->len + n < buf->cap) {
        return 0;
    }
    cap = buf->cap > 0 ? buf->cap : STRBUF_CAP_MIN;
    while (cap <= buf->len + n) {
        cap *= 2;
    }
    buf->ptr = xrealloc(buf->ptr, cap);
    buf->cap = cap;
    buf->ptr[buf->len] = '\0';
    return 0;
}

int strbuf_append(StrBuf *buf, Str s)
{
    int r = strbuf_reserve(buf, s.len);

    if (r < 0) {
        return r;
    }
    if (s.len > 0) {
        memcpy(buf->ptr + buf->len, s.ptr, s.len);
        buf->len += s.len;
    }
    buf->ptr[buf->len] = '\0';
    return 0;
}

int strbuf_append_cstr(StrBuf *buf, const char *s)
{
    return strbuf_append(buf, str_from(s));
}

int strbuf_append_char(StrBuf *buf, char c)
{
    return strbuf_append(buf, (Str){&c, 1});
}

int strbuf_printf(StrBuf *buf, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = strbuf_vprintf(buf, fmt, ap);
    va_end(ap);
    return r;
}

int strbuf_vprintf(StrBuf *buf, const char *fmt, va_list ap)
{
    va_list again;
    int n;
    int r;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    CHECK(n >= 0);
    r = strbuf_reserve(buf, (size_t)n);
    if (r < 0) {
        return r;
    }
    vsnprintf(buf->ptr + buf->len, (size_t)n + 1, fmt, ap);
    buf->len += (size_t)n;
    return 0;
}

void strbuf_consume(StrBuf *buf, size_t n)
{
    CHECK(n <= buf->len);
    if (n > 0) {
        buf->len -= n;
        memmove(buf->ptr, buf->ptr + n, buf->len + 1);
    }
}

char *strbuf_take(StrBuf *buf)
{
    char *p = buf->ptr ? buf->ptr : xstrdup("");

    buf->ptr = NULL;
    buf->len = buf->cap = 0;
    return p;
}
