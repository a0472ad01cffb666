/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Allocation. The x-functions are for small sizes that this program chooses: they abort when memory
 * is out. Sizes that a peer controls go through mem_try_*, which take a named maximum and fail.
 */
#include <stddef.h>

#include "base/attr.h"

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t len); /* copies exactly len bytes and adds NUL */
void *xmemdup(const void *p, size_t len);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* NULL when size > max (errno E2BIG) or memory is out (errno ENOMEM). */
void *mem_try_alloc(size_t size, size_t max) MUST_USE;
void *mem_try_realloc(void *p, size_t size, size_t max) MUST_USE;

static inline void mem_free_indirect(void *pp)
{
    extern void free(void *);
    free(*(void **)pp);
}

/* AUTO(mem) char *s = xstrdup(...); works for any pointer type. */
#define mem_autofree mem_free_indirect
