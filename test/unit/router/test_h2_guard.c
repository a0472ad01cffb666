/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "router/h2_guard.h"
#include "test/harness/t.h"

static int charges_until_overdrawn(H2Guard *guard, int price, uint64_t now_ns)
{
    int n = 0;

    while (h2_guard_charge(guard, price, now_ns)) {
        n++;
    }
    return n;
}

T_TEST(guard_has_a_burst_and_a_rate)
{
    H2Guard guard;

    h2_guard_init(&guard, 5);
    T_EQ_INT(charges_until_overdrawn(&guard, H2_GUARD_RESET, 5),
             H2_GUARD_CREDIT_MAX / H2_GUARD_RESET);
    h2_guard_init(&guard, 5);
    for (uint64_t s = 1; s < 1000; s++) { /* at the rate for ever */
        for (int i = 0; i < H2_GUARD_REFILL_PER_S / H2_GUARD_PING; i++) {
            T_CHECK(h2_guard_charge(&guard, H2_GUARD_PING, 5 + s * NS_PER_S));
        }
    }
}

T_TEST(guard_refills_with_time_and_not_beyond_its_maximum)
{
    H2Guard guard;

    h2_guard_init(&guard, 0);
    charges_until_overdrawn(&guard, 100, 0);
    T_CHECK(h2_guard_charge(&guard, 100, 5 * NS_PER_S));
    T_EQ_INT(charges_until_overdrawn(&guard, 1, 1000 * NS_PER_S), H2_GUARD_CREDIT_MAX);
}

T_TEST(guard_refills_fractions_of_time)
{
    H2Guard guard;

    h2_guard_init(&guard, 0);
    charges_until_overdrawn(&guard, 1, 0);
    for (uint64_t at = 1; at <= 10; at++) { /* each step is less than a credit */
        h2_guard_charge(&guard, 0, at * NS_PER_S / H2_GUARD_REFILL_PER_S / 2);
    }
    T_EQ_INT(guard.credit, -1 + 5);
}

T_TEST(guard_is_filled_by_useful_work)
{
    H2Guard guard;

    h2_guard_init(&guard, 0);
    charges_until_overdrawn(&guard, 1, 0);
    for (int i = 0; i < 2 * H2_GUARD_BYTES_PER_CREDIT; i++) {
        h2_guard_payload(&guard, 1);
    }
    T_EQ_INT(guard.credit, 1);
    h2_guard_finished(&guard);
    T_EQ_INT(guard.credit, 1 + H2_GUARD_RESET);
    h2_guard_payload(&guard, SIZE_MAX / 2);
    T_EQ_INT(guard.credit, H2_GUARD_CREDIT_MAX);
}
