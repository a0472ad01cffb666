/* SPDX-License-Identifier: Apache-2.0 */
/* See memtrim.h. */
#include "base/memtrim.h"

#include <malloc.h>

#define IN_USE_SHARE                                                                               \
    8 /* free memory below an eighth of what is in use is what it takes to work                    \
       */

bool memtrim_is_due(size_t in_use, size_t free_now, size_t free_then)
{
    size_t changed = free_now > free_then ? free_now - free_then : free_then - free_now;

    return free_now >= MEMTRIM_FREE_MIN && free_now >= in_use / IN_USE_SHARE &&
           changed >= MEMTRIM_FREE_MIN / 2;
}

static void on_timer(LoopTimer *timer)
{
    MemTrim *trim = container_of(timer, MemTrim, timer);
    struct mallinfo2 now = mallinfo2();

    if (memtrim_is_due(now.uordblks, now.fordblks, trim->free_then)) {
        malloc_trim(0);
        trim->free_then = mallinfo2().fordblks;
    }
    loop_timer_arm(trim->loop, timer, loop_now(trim->loop) + MEMTRIM_INTERVAL_NS);
}

void memtrim_start(MemTrim *trim, Loop *loop)
{
    mallopt(M_MMAP_THRESHOLD, MEMTRIM_BLOCK_MAX);
    mallopt(M_TRIM_THRESHOLD, MEMTRIM_BLOCK_MAX);
    trim->loop = loop;
    trim->free_then = 0;
    loop_timer_init(&trim->timer, on_timer);
    loop_timer_arm(loop, &trim->timer, loop_now(loop) + MEMTRIM_INTERVAL_NS);
}

void memtrim_stop(MemTrim *trim)
{
    if (trim->loop) {
        loop_timer_disarm(&trim->timer);
        trim->loop = NULL;
    }
}
