/* SPDX-License-Identifier: Apache-2.0 */
/* See clock.h. */
#include "base/clock.h"

#include <time.h>

#include "base/attr.h"
#include "base/check.h"

static uint64_t read_ns(clockid_t id)
{
    struct timespec ts;

    CHECK(clock_gettime(id, &ts) == 0);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static uint64_t system_mono_ns(const Clock *clock)
{
    UNUSED(clock);
    return read_ns(CLOCK_MONOTONIC);
}

static int64_t system_wall_ns(const Clock *clock)
{
    UNUSED(clock);
    return (int64_t)read_ns(CLOCK_REALTIME);
}

const Clock *clock_system(void)
{
    static const Clock system_clock = {system_mono_ns, system_wall_ns};

    return &system_clock;
}

static uint64_t fake_mono_ns(const Clock *clock)
{
    return container_of(clock, FakeClock, clock)->now_mono_ns;
}

static int64_t fake_wall_ns(const Clock *clock)
{
    return container_of(clock, FakeClock, clock)->now_wall_ns;
}

void fake_clock_init(FakeClock *fake, uint64_t mono_ns, int64_t wall_ns)
{
    *fake = (FakeClock){{fake_mono_ns, fake_wall_ns}, mono_ns, wall_ns};
}

void fake_clock_advance(FakeClock *fake, uint64_t ns)
{
    fake->now_mono_ns += ns;
    fake->now_wall_ns += (int64_t)ns;
}
