/* SPDX-License-Identifier: Apache-2.0 */
/* See h2_guard.h. */
#include "router/h2_guard.h"

#include "base/clock.h"

static void add(H2Guard *guard, int64_t credits)
{
    guard->credit += credits;
    if (guard->credit > H2_GUARD_CREDIT_MAX) {
        guard->credit = H2_GUARD_CREDIT_MAX;
    }
}

void h2_guard_init(H2Guard *guard, uint64_t now_ns)
{
    *guard = (H2Guard){.credit = H2_GUARD_CREDIT_MAX, .refilled_ns = now_ns};
}

/* Whole credits only; the rest of the time counts next time. */
static void refill(H2Guard *guard, uint64_t now_ns)
{
    const uint64_t credit_ns = NS_PER_S / H2_GUARD_REFILL_PER_S;
    uint64_t credits = (now_ns - guard->refilled_ns) / credit_ns;

    guard->refilled_ns += credits * credit_ns;
    add(guard, credits > H2_GUARD_CREDIT_MAX ? H2_GUARD_CREDIT_MAX : (int64_t)credits);
}

bool h2_guard_charge(H2Guard *guard, int price, uint64_t now_ns)
{
    refill(guard, now_ns);
    guard->credit -= price;
    return guard->credit >= 0;
}

void h2_guard_payload(H2Guard *guard, size_t bytes)
{
    guard->bytes += bytes;
    add(guard, (int64_t)(guard->bytes / H2_GUARD_BYTES_PER_CREDIT));
    guard->bytes %= H2_GUARD_BYTES_PER_CREDIT;
}

void h2_guard_finished(H2Guard *guard)
{
    add(guard, H2_GUARD_RESET);
}
