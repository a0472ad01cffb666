/* SPDX-License-Identifier: Apache-2.0 */
/* See mem.h. */
#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

void *xmalloc(size_t size)
{
    void *p = malloc(size > 0 ? size : 1);

    CHECK(p);
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size > 0 ? size : 1);

    CHECK(p);
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size > 0 ? size : 1);

    CHECK(q);
    return q;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t len)
{
    char *p;

    CHECK(len < SIZE_MAX);
    p = xmalloc(len + 1);
    if (len > 0) {
        memcpy(p, s, len);
    }
    p[len] = '\0';
    return p;
}

void *xmemdup(const void *p, size_t len)
{
    void *q = xmalloc(len);

    if (len > 0) {
        memcpy(q, p, len);
    }
    return q;
}

char *xasprintf(const char *fmt, ...)
{
    char *p = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&p, fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    return p;
}

void *mem_try_alloc(size_t size, size_t max)
{
    return mem_try_realloc(NULL, size, max);
}

void *mem_try_realloc(void *p, size_t size, size_t max)
{
    void *q;

    if (size > max) {
        errno = E2BIG;
        return NULL;
    }
    q = realloc(p, size > 0 ? size : 1);
    if (!q) {
        errno = ENOMEM;
    }
    return q;
}
