/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See arena.h. Chunks form a list, newest first; a request larger than the chunk size gets a chunk
 * of its own behind the head, so that the head's free tail is not lost.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

#define ARENA_CHUNK_MAX (256 * 1024) /* chunks double up to this size */

struct ArenaChunk {
    ArenaChunk *next;
    size_t size;
    size_t used;
    alignas(max_align_t) char data[];
};

static ArenaChunk *chunk_new(size_t size)
{
    ArenaChunk *chunk;

    CHECK(size <= SIZE_MAX - sizeof(*chunk));
    chunk = xmalloc(sizeof(*chunk) + size);
    chunk->next = NULL;
    chunk->size = size;
    chunk->used = 0;
    return chunk;
}

void arena_init(Arena *arena, size_t chunk)
{
    *arena = (Arena){.chunk = chunk > 0 ? chunk : ARENA_CHUNK_DEFAULT};
}

void arena_deinit(Arena *arena)
{
    while (arena->head) {
        ArenaChunk *next = arena->head->next;

        free(arena->head);
        arena->head = next;
    }
    arena->used = 0;
}

void arena_reset(Arena *arena)
{
    while (arena->head && arena->head->next) {
        ArenaChunk *next = arena->head->next;

        free(arena->head);
        arena->head = next;
    }
    if (arena->head) {
        arena->head->used = 0;
    }
    arena->used = 0;
}

static ArenaChunk *arena_room(Arena *arena, size_t size)
{
    ArenaChunk *chunk;

    if (arena->head && arena->head->size - arena->head->used >= size) {
        return arena->head;
    }
    if (size > arena->chunk && arena->head) {
        chunk = chunk_new(size);
        chunk->next = arena->head->next;
        arena->head->next = chunk;
        return chunk;
    }
    chunk = chunk_new(size > arena->chunk ? size : arena->chunk);
    chunk->next = arena->head;
    arena->head = chunk;
    if (arena->chunk < ARENA_CHUNK_MAX) {
        arena->chunk *= 2;
    }
    return chunk;
}

void *arena_alloc(Arena *arena, size_t size)
{
    size_t align = alignof(max_align_t);
    ArenaChunk *chunk;
    void *p;

    CHECK(size <= SIZE_MAX - align);
    size = (size + align - 1) / align * align;
    if (size == 0) {
        size = align;
    }
    chunk = arena_room(arena, size);
    p = chunk->data + chunk->used;
    chunk->used += size;
    arena->used += size;
    memset(p, 0, size);
    return p;
}

char *arena_dup(Arena *arena, Str s)
{
    char *p;

    CHECK(s.len < SIZE_MAX);
    p = arena_alloc(arena, s.len + 1);
    if (s.len > 0) {
        memcpy(p, s.ptr, s.len);
    }
    return p;
}

Str arena_str(Arena *arena, Str s)
{
    return (Str){arena_dup(arena, s), s.len};
}

char *arena_printf(Arena *arena, const char *fmt, ...)
{
    va_list ap;
    va_list again;
    char *p;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    CHECK(n >= 0);
    p = arena_alloc(arena, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
