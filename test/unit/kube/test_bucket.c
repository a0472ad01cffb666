/* SPDX-License-Identifier: Apache-2.0 */
#include "test/harness/t.h"
#include "base/clock.h"
#include "kube/bucket.h"

T_TEST(bucket_gives_its_burst_and_then_its_rate)
{
    KubeBucket bucket;
    uint64_t now = 7 * NS_PER_S;
    uint64_t wait;

    kube_bucket_init(&bucket, 4, 3, now);
    for (int i = 0; i < 3; i++) {
        T_EQ_INT(kube_bucket_take(&bucket, now), 0);
    }
    wait = kube_bucket_take(&bucket, now);
    T_EQ_INT(wait, NS_PER_S / 4);
    T_CHECK(kube_bucket_take(&bucket, now + wait / 2) > 0);
    T_EQ_INT(kube_bucket_take(&bucket, now + wait), 0);
    T_CHECK(kube_bucket_take(&bucket, now + wait) > 0);
}

T_TEST(bucket_never_holds_more_than_its_burst)
{
    KubeBucket bucket;
    int taken = 0;

    kube_bucket_init(&bucket, 100, 5, 0);
    while (kube_bucket_take(&bucket, 3600 * NS_PER_S) == 0) {
        taken++;
    }
    T_EQ_INT(taken, 5);
}

T_TEST(bucket_keeps_its_rate_over_a_long_time_with_waits_as_told)
{
    KubeBucket bucket;
    uint64_t now = 0;
    int taken = 0;

    kube_bucket_init(&bucket, 3, 1, now);
    while (now < 100 * NS_PER_S) {
        uint64_t wait = kube_bucket_take(&bucket, now);

        taken += wait == 0;
        now += wait;
    }
    T_CHECK(taken >= 299 && taken <= 302);
}

T_TEST(bucket_without_a_rate_is_no_limit)
{
    KubeBucket bucket;

    kube_bucket_init(&bucket, -1, 10, 0);
    for (int i = 0; i < 1000; i++) {
        T_EQ_INT(kube_bucket_take(&bucket, 0), 0);
    }
}
