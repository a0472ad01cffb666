/* SPDX-License-Identifier: Apache-2.0 */
/* See buf.h. */
#include "router/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

void buf_pool_deinit(BufPool *pool)
{
    while (pool->n > 0) {
        free(pool->blocks[--pool->n]);
    }
}

static char *block_get(BufPool *pool)
{
    pool->in_use++;
    return pool->n > 0 ? pool->blocks[--pool->n] : xmalloc(BUF_SIZE);
}

void buf_release(BufPool *pool, Buf *buf)
{
    if (buf->ptr) {
        pool->in_use--;
        if (buf->cap == BUF_SIZE && pool->n < BUF_POOL_MAX) {
            pool->blocks[pool->n++] = buf->ptr;
        } else {
            free(buf->ptr);
        }
        *buf = (Buf){0};
    }
}

void buf_trim(BufPool *pool, Buf *buf)
{
    if (buf->start == buf->end) {
        buf_release(pool, buf);
    }
}

size_t buf_room(Buf *buf)
{
    if (buf->start > 0) {
        memmove(buf->ptr, buf->ptr + buf->start, buf->end - buf->start);
        buf->end -= buf->start;
        buf->start = 0;
    }
    return buf->cap - buf->end;
}

int buf_reserve(BufPool *pool, Buf *buf, size_t n)
{
    size_t want;

    if (buf->cap - buf->end >= n && buf->ptr) {
        return 0;
    }
    if (buf->ptr && buf_room(buf) >= n) {
        return 0;
    }
    want = buf->end + n;
    if (want > BUF_MAX) {
        return -E2BIG;
    }
    if (!buf->ptr && want <= BUF_SIZE) {
        *buf = (Buf){.ptr = block_get(pool), .cap = BUF_SIZE};
        return 0;
    }
    if (!buf->ptr) {
        pool->in_use++;
    }
    want = (want + BUF_SIZE - 1) / BUF_SIZE * BUF_SIZE;
    buf->ptr = xrealloc(buf->ptr, want);
    buf->cap = (uint32_t)want;
    return 0;
}

Buf buf_dup(BufPool *pool, Str bytes)
{
    pool->in_use++;
    return (Buf){.ptr = xmemdup(bytes.ptr, bytes.len),
                 .cap = (uint32_t)bytes.len,
                 .end = (uint32_t)bytes.len};
}

char *buf_tail(Buf *buf)
{
    return buf->ptr + buf->end;
}

void buf_added(Buf *buf, size_t n)
{
    CHECK(n <= buf->cap - buf->end);
    buf->end += (uint32_t)n;
}

int buf_append(BufPool *pool, Buf *buf, Str bytes)
{
    int r = buf_reserve(pool, buf, bytes.len);

    if (r == 0 && bytes.len > 0) {
        memcpy(buf_tail(buf), bytes.ptr, bytes.len);
        buf_added(buf, bytes.len);
    }
    return r;
}

void buf_consume(Buf *buf, size_t n)
{
    CHECK(n <= buf_len(buf));
    buf->start += (uint32_t)n;
    if (buf->start == buf->end) {
        buf->start = buf->end = 0;
    }
}

void buf_truncate(Buf *buf, size_t len)
{
    CHECK(len <= buf_len(buf));
    buf->end = buf->start + (uint32_t)len;
}
