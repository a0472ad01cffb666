/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "controller/engine/pace.h"
#include "test/harness/t.h"

#define START (100 * NS_PER_S)

static const KubeKey key = {{"a", 1}, {"x", 1}};

T_TEST(the_first_writes_are_free)
{
    Pace pace;

    pace_init(&pace, 1);
    for (int i = 0; i < PACE_FREE; i++) {
        T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, key, START), 0);
        pace_note(&pace, KUBE_POD, key, START);
    }
    T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, key, START), PACE_WAIT_MIN_NS);
    T_EQ_INT(pace_wait_ns(&pace, KUBE_SERVICE, key, START), 0);
    T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, (KubeKey){{"b", 1}, {"x", 1}}, START), 0);
    pace_deinit(&pace);
}

T_TEST(each_further_write_waits_twice_as_long)
{
    Pace pace;
    uint64_t now = START;
    uint64_t wait = PACE_WAIT_MIN_NS;
    int minute = 0;

    pace_init(&pace, 1);
    for (int i = 0; i < PACE_FREE; i++) {
        pace_note(&pace, KUBE_POD, key, now);
    }
    for (; now < START + 60 * NS_PER_S; minute++) {
        T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, key, now), wait);
        T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, key, now + wait), 0);
        now += wait;
        pace_note(&pace, KUBE_POD, key, now);
        wait = wait * 2 < PACE_WAIT_MAX_NS ? wait * 2 : PACE_WAIT_MAX_NS;
    }
    T_CHECK(minute < 20);
    pace_deinit(&pace);
}

T_TEST(quiet_objects_are_forgotten)
{
    Pace pace;

    pace_init(&pace, 1);
    for (int i = 0; i < 2 * PACE_FREE; i++) {
        pace_note(&pace, KUBE_POD, key, START);
    }
    T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, key, START), PACE_WAIT_MAX_NS);
    pace_note(&pace, KUBE_SERVICE, key, START + PACE_QUIET_NS);
    T_EQ_INT(pace.objects.len, 1);
    T_EQ_INT(pace_wait_ns(&pace, KUBE_POD, key, START + PACE_QUIET_NS), 0);
    pace_deinit(&pace);
}
