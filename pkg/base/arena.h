/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bump allocator for everything that dies together: one reconcile, one HTTP exchange.
 * Memory from an arena is never freed singly and never stored in a longer-lived object.
 */
#include <stddef.h>

#include "base/attr.h"
#include "base/str.h"

typedef struct ArenaChunk ArenaChunk;

typedef struct Arena {
    ArenaChunk *head;
    size_t used;  /* bytes handed out, for limits and tests */
    size_t chunk; /* size of the next chunk */
} Arena;

#define ARENA_CHUNK_DEFAULT 4096

void arena_init(Arena *arena, size_t chunk); /* chunk 0 = ARENA_CHUNK_DEFAULT */
void arena_deinit(Arena *arena);
void arena_reset(Arena *arena); /* forgets all, keeps the first chunk */

void *arena_alloc(Arena *arena, size_t size); /* aligned for any type; zeroed; aborts on OOM */
char *arena_dup(Arena *arena, Str s);         /* NUL-terminated copy */
Str arena_str(Arena *arena, Str s);
char *arena_printf(Arena *arena, const char *fmt, ...) PRINTF_LIKE(2, 3);

DEFINE_AUTO(arena, Arena, arena_deinit)
