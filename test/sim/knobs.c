/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of what may go wrong and what may be done, and the drawing of weights: a random half is
 * off, the others have weights between 1 and 100, so that some seeds see one fault often and others
 * see many at once.
 */
#include <errno.h>

#include "test/sim/sim.h"

static const SimKnobSpec specs[SIM_KNOBS_] = {
    [SIM_LOST_REQUEST] = {"lost-request", SIM_CLASS_REQUEST, .most = 0.06},
    [SIM_LOST_ANSWER] = {"lost-answer", SIM_CLASS_REQUEST, .most = 0.06},
    [SIM_NOT_SENT] = {"not-sent", SIM_CLASS_REQUEST, .most = 0.06},
    [SIM_LATE_REQUEST] = {"late-request", SIM_CLASS_REQUEST, .most = 0.10},
    [SIM_LATE_ANSWER] = {"late-answer", SIM_CLASS_REQUEST, .most = 0.10},
    [SIM_CONFLICT] = {"conflict", SIM_CLASS_REQUEST, .most = 0.05},
    [SIM_TOO_MANY] = {"too-many", SIM_CLASS_REQUEST, .most = 0.06},
    [SIM_SERVER_ERROR] = {"server-error", SIM_CLASS_REQUEST, .most = 0.06},
    [SIM_INVALID] = {"invalid", SIM_CLASS_REQUEST, .most = 0.01},
    [SIM_FORBIDDEN] = {"forbidden", SIM_CLASS_REQUEST, .most = 0.03},
    [SIM_TRUNCATED] = {"truncated", SIM_CLASS_REQUEST, .most = 0.04},
    [SIM_GHOST] = {"ghost", SIM_CLASS_REQUEST, .most = 0.9},
    [SIM_WATCH_CUT] = {"watch-cut", SIM_CLASS_TIMED, .period_s = 4},
    [SIM_WATCH_LATE] = {"watch-late", SIM_CLASS_REQUEST, .most = 0.15},
    [SIM_WATCH_TWICE] = {"watch-twice", SIM_CLASS_REQUEST, .most = 0.15},
    [SIM_WATCH_STUCK] = {"watch-stuck", SIM_CLASS_TIMED, .period_s = 15},
    [SIM_COMPACTION] = {"compaction", SIM_CLASS_TIMED, .period_s = 5},
    [SIM_STALE_LIST] = {"stale-list", SIM_CLASS_REQUEST, .most = 0.5},
    [SIM_CRASH] = {"crash", SIM_CLASS_TIMED, .period_s = 8},
    [SIM_CRASH_AT_WRITE] = {"crash-at-write", SIM_CLASS_REQUEST, .most = 0.03},
    [SIM_PAUSE] = {"pause", SIM_CLASS_TIMED, .period_s = 8},
    [SIM_CLOCK_JUMP] = {"clock-jump", SIM_CLASS_TIMED, .period_s = 10},
    [SIM_STANDBY] = {"standby", SIM_CLASS_MODE, .most = 2},
    [SIM_LEASE_STOLEN] = {"lease-stolen", SIM_CLASS_TIMED, .period_s = 12},
    [SIM_POD_SLOW] = {"pod-slow", SIM_CLASS_POD, .most = 0.4},
    [SIM_POD_FAILS] = {"pod-fails", SIM_CLASS_POD, .most = 0.1},
    [SIM_POD_ENDS] = {"pod-ends", SIM_CLASS_POD, .most = 0.1},
    [SIM_POD_EVICTED] = {"pod-evicted", SIM_CLASS_TIMED, .period_s = 8},
    [SIM_POD_BLINKS] = {"pod-blinks", SIM_CLASS_TIMED, .period_s = 5},
    [SIM_POD_NO_IMAGE] = {"pod-no-image", SIM_CLASS_POD, .most = 0.2},
    [SIM_POD_UNSCHEDULABLE] = {"pod-unschedulable", SIM_CLASS_POD, .most = 0.2},
    [SIM_CLAIM_CREATE] = {"claim-create", SIM_CLASS_TIMED, .user = true, .period_s = 1.5},
    [SIM_CLAIM_DELETE] = {"claim-delete", SIM_CLASS_TIMED, .user = true, .period_s = 4},
    [SIM_CLAIM_EXPIRE] = {"claim-expire", SIM_CLASS_TIMED, .user = true, .period_s = 8},
    [SIM_POOL_SCALE] = {"pool-scale", SIM_CLASS_TIMED, .user = true, .period_s = 6},
    [SIM_POOL_REPLACE] = {"pool-replace", SIM_CLASS_TIMED, .user = true, .period_s = 20},
    [SIM_TEMPLATE_EDIT] = {"template-edit", SIM_CLASS_TIMED, .user = true, .period_s = 8},
    [SIM_TEMPLATE_REPLACE] = {"template-replace", SIM_CLASS_TIMED, .user = true, .period_s = 20},
    [SIM_SANDBOX_CREATE] = {"sandbox-create", SIM_CLASS_TIMED, .user = true, .period_s = 3},
    [SIM_SANDBOX_DELETE] = {"sandbox-delete", SIM_CLASS_TIMED, .user = true, .period_s = 5},
    [SIM_SANDBOX_SUSPEND] = {"sandbox-suspend", SIM_CLASS_TIMED, .user = true, .period_s = 3},
    [SIM_SANDBOX_SERVICE] = {"sandbox-service", SIM_CLASS_TIMED, .user = true, .period_s = 5},
    [SIM_SANDBOX_EXPIRE] = {"sandbox-expire", SIM_CLASS_TIMED, .user = true, .period_s = 8},
    [SIM_CHILD_DELETE] = {"child-delete", SIM_CLASS_TIMED, .user = true, .period_s = 3},
    [SIM_CHILD_EDIT] = {"child-edit", SIM_CLASS_TIMED, .user = true, .period_s = 4},
    [SIM_STRANGER] = {"stranger", SIM_CLASS_TIMED, .user = true, .period_s = 5},
    [SIM_CLAIM_BURST] = {"claim-burst", SIM_CLASS_TIMED, .user = true, .period_s = 5},
    [SIM_NO_ELECTION] = {"no-election", SIM_CLASS_MODE, .most = 2},
    [SIM_PAGES] = {"pages", SIM_CLASS_MODE, .most = 2},
    [SIM_CONTINUE_GONE] = {"continue-gone", SIM_CLASS_REQUEST, .most = 0.3},
    [SIM_RESTORE] = {"restore", SIM_CLASS_TIMED, .period_s = 12},
    [SIM_EXTRA_SANDBOX] = {"extra-sandbox", SIM_CLASS_TIMED, .user = true, .period_s = 6},
    [SIM_NAME_RACE] = {"name-race", SIM_CLASS_REQUEST, .user = true, .most = 0.1},
    [SIM_POD_DISRUPTED] = {"pod-disrupted", SIM_CLASS_TIMED, .period_s = 6},
    [SIM_NAMESPACE] = {"namespace", SIM_CLASS_TIMED, .user = true, .period_s = 30},
};

const SimKnobSpec *sim_knob(SimKnob knob)
{
    return &specs[knob];
}

int sim_knob_find(Str name, SimKnob *ret_knob)
{
    for (int i = 0; i < SIM_KNOBS_; i++) {
        if (str_eq(str_from(specs[i].name), name)) {
            *ret_knob = (SimKnob)i;
            return 0;
        }
    }
    return -ENOENT;
}

void sim_knobs_text(uint64_t set, StrBuf *out)
{
    for (int i = 0; i < SIM_KNOBS_; i++) {
        if (set & (1ull << i)) {
            (void)strbuf_printf(out, "%s%s", out->len > 0 ? " " : "", specs[i].name);
        }
    }
}

void sim_knobs_draw(Sim *sim)
{
    _Static_assert(SIM_KNOBS_ <= 64, "a set of knobs is a word");

    for (int i = 0; i < SIM_KNOBS_; i++) {
        Rng *rng = &sim->rngs[i];
        bool on;

        rng_init(rng, sim->options.seed * 1000 + (uint64_t)i);
        /* Users are the more often at work: without them there is nothing to get wrong. */
        on = rng_below(rng, 4) < (specs[i].user ? 3u : 2u);
        sim->weights[i] = 1 + (unsigned)rng_below(rng, 100);
        if (!on || (sim->options.without & (1ull << i)) ||
            (specs[i].class == SIM_CLASS_MODE && rng_unit(rng) > specs[i].most)) {
            sim->weights[i] = 0;
        } else {
            sim->result.on |= 1ull << i;
        }
    }
}

bool sim_is_on(const Sim *sim, SimKnob knob)
{
    return sim->weights[knob] > 0;
}

bool sim_chance(Sim *sim, SimKnob knob)
{
    if (sim->phase != SIM_STORM || !sim_is_on(sim, knob)) {
        return false;
    }
    return rng_unit(&sim->rngs[knob]) < specs[knob].most * sim->weights[knob] / 100;
}

uint64_t sim_between(Sim *sim, SimKnob knob, uint64_t low, uint64_t high)
{
    return low + rng_below(&sim->rngs[knob], high - low + 1);
}

uint64_t sim_period(Sim *sim, SimKnob knob)
{
    double mean = specs[knob].period_s * 100 / sim->weights[knob];

    return (uint64_t)((0.1 + 1.8 * rng_unit(&sim->rngs[knob])) * mean * 1e9);
}
