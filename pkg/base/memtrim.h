/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Gives memory back after a burst. glibc raises its thresholds with the largest block that was ever
 * freed and keeps what lies between blocks in use for ever; here the thresholds are fixed, and
 * every MEMTRIM_INTERVAL_NS free pages go back to the kernel when there are many.
 *
 * One a process, of the thread that allocates most. Does nothing under sanitizers, whose allocator
 * is another.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/loop.h"

#define MEMTRIM_INTERVAL_NS (10ull * 1000000000ull)
#define MEMTRIM_FREE_MIN ((size_t)256 << 10) /* bytes that are not worth a system call */
#define MEMTRIM_BLOCK_MAX (256 << 10)        /* larger blocks are mappings of their own */

typedef struct MemTrim {
    LoopTimer timer;
    Loop *loop;
    size_t free_then; /* bytes free after the last trim: they count as free for ever */
} MemTrim;

/* Sets the thresholds and arms the timer. loop is borrowed until memtrim_stop(). */
void memtrim_start(MemTrim *trim, Loop *loop);
void memtrim_stop(MemTrim *trim); /* fine on one that is zero */

/* Whether it is worth it: enough is free, absolutely and beside what is in use, and it is not what
 * was free after the last time. */
bool memtrim_is_due(size_t in_use, size_t free_now, size_t free_then);
