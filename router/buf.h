/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Byte buffers of connections. A buffer has memory only while it holds bytes: an idle connection
 * costs none. Blocks of BUF_SIZE are recycled per worker; a buffer grows beyond one block only for
 * a long head, never for a body, so memory per connection is bounded.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define BUF_SIZE 16384
#define BUF_MAX (160 * 1024) /* two heads of the largest size and a block */
#define BUF_POOL_MAX 32      /* free blocks a worker keeps */

typedef struct BufPool {
    char *blocks[BUF_POOL_MAX];
    size_t n;
    size_t in_use; /* blocks and larger pieces handed out, for tests */
} BufPool;

typedef struct Buf {
    char *ptr; /* NULL when empty */
    uint32_t cap;
    uint32_t start;
    uint32_t end;
} Buf;

void buf_pool_deinit(BufPool *pool);

static inline size_t buf_len(const Buf *buf)
{
    return buf->end - buf->start;
}

static inline Str buf_str(const Buf *buf)
{
    return (Str){buf->ptr ? buf->ptr + buf->start : "", buf->end - buf->start};
}

/* Free bytes at the end, after moving what is there to the front. */
size_t buf_room(Buf *buf);
/* Makes sure of n free bytes at the end. -E2BIG beyond BUF_MAX. */
int buf_reserve(BufPool *pool, Buf *buf, size_t n);
char *buf_tail(Buf *buf);
void buf_added(Buf *buf, size_t n);
int buf_append(BufPool *pool, Buf *buf, Str bytes);
void buf_consume(Buf *buf, size_t n);
void buf_truncate(Buf *buf, size_t len);   /* keeps the first len bytes */
void buf_release(BufPool *pool, Buf *buf); /* forgets the bytes and gives the memory back */
/* A buffer of exactly these bytes, for what is kept for long. */
Buf buf_dup(BufPool *pool, Str bytes);
/* Gives the memory back when no bytes are held. */
void buf_trim(BufPool *pool, Buf *buf);
