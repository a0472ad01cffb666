/* SPDX-License-Identifier: Apache-2.0 */
/* See scale.h. */
#include "controller/warmpool/scale.h"

#define SURGE_DIVISOR 4

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t over(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

size_t scale_surge(size_t desired)
{
    return desired / SURGE_DIVISOR > 0 ? desired / SURGE_DIVISOR : 1;
}

ScaleDecision scale_decide(const ScaleInput *in)
{
    size_t stale = in->stale_ready + in->stale_unready;
    size_t allowed = in->desired + (stale > 0 && in->desired > 0 ? scale_surge(in->desired) : 0);
    size_t keep_stale = min_of(in->stale_ready, over(in->desired, in->fresh_ready));
    size_t keep_fresh = min_of(in->fresh, min_of(in->desired, over(allowed, keep_stale)));
    size_t there = in->fresh + stale + in->terminating;
    ScaleDecision out = {
        .create = min_of(over(in->desired, in->fresh), over(allowed, there)),
        .delete_stale = stale - keep_stale,
        .delete_fresh = in->fresh - keep_fresh,
    };

    out.create = min_of(out.create, in->batch_max);
    out.delete_stale = min_of(out.delete_stale, in->batch_max);
    out.delete_fresh = min_of(out.delete_fresh, in->batch_max - out.delete_stale);
    return out;
}
