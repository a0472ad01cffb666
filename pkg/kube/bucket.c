/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/bucket.h"

#include <math.h>

#include "base/clock.h"

void kube_bucket_init(KubeBucket *bucket, double rate, double burst, uint64_t now_ns)
{
    burst = burst < 1 ? 1 : burst;
    *bucket = (KubeBucket){.rate = rate, .burst = burst, .tokens = burst, .at_ns = now_ns};
}

uint64_t kube_bucket_take(KubeBucket *bucket, uint64_t now_ns)
{
    if (bucket->rate <= 0) {
        return 0;
    }
    if (now_ns > bucket->at_ns) {
        bucket->tokens += (double)(now_ns - bucket->at_ns) / (double)NS_PER_S * bucket->rate;
        bucket->tokens = bucket->tokens > bucket->burst ? bucket->burst : bucket->tokens;
        bucket->at_ns = now_ns;
    }
    /* What is short of one by rounding is one, or a timer at the told time would find none. */
    if (bucket->tokens >= 1 - 1e-6) {
        bucket->tokens -= 1;
        return 0;
    }
    return (uint64_t)ceil((1 - bucket->tokens) / bucket->rate * (double)NS_PER_S);
}
