/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Time is injected. A loop reads the clock once per tick and hands out that value; nothing else
 * asks the kernel for the time. Durations are uint64_t nanoseconds named *_ns; wall time is int64_t
 * nanoseconds since 1970 named *_wall_ns.
 */
#include <stdint.h>

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

typedef struct Clock Clock;
struct Clock {
    uint64_t (*mono_ns)(const Clock *clock);
    int64_t (*wall_ns)(const Clock *clock);
};

const Clock *clock_system(void);

static inline uint64_t clock_mono_ns(const Clock *clock)
{
    return clock->mono_ns(clock);
}

static inline int64_t clock_wall_ns(const Clock *clock)
{
    return clock->wall_ns(clock);
}

/* A clock that moves only when told to, for tests and the simulator. */
typedef struct FakeClock {
    Clock clock;
    uint64_t now_mono_ns;
    int64_t now_wall_ns;
} FakeClock;

void fake_clock_init(FakeClock *fake, uint64_t mono_ns, int64_t wall_ns);
void fake_clock_advance(FakeClock *fake, uint64_t ns); /* both clocks */
