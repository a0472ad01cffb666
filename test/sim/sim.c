/* SPDX-License-Identifier: Apache-2.0 */
/* One run: the loops, the parts, the phases. */
#include "test/sim/sim.h"

#include <stdarg.h>

#include "base/hash.h"
#include "base/mem.h"

/* ---- what a run leaves behind ---- */

uint64_t sim_now(const Sim *sim)
{
    return sim->clock.now_mono_ns - 1000 * NS_PER_S;
}

void sim_hash(Sim *sim, Str text)
{
    sim->result.hash = hash_bytes(sim->result.hash, text.ptr ? text.ptr : "", text.len);
}

void sim_hash_u64(Sim *sim, uint64_t value)
{
    sim->result.hash = hash_bytes(sim->result.hash, &value, sizeof(value));
}

bool sim_tells(const Sim *sim)
{
    return sim->options.story != NULL;
}

void sim_tell(const Sim *sim, const char *fmt, ...)
{
    va_list ap;

    if (!sim->options.story) {
        return;
    }
    (void)fprintf(sim->options.story, "%10.4f  ", (double)sim_now(sim) / 1e9);
    va_start(ap, fmt);
    (void)vfprintf(sim->options.story, fmt, ap);
    va_end(ap);
    (void)fputc('\n', sim->options.story);
}

void sim_fail(Sim *sim, const char *fmt, ...)
{
    va_list ap;

    if (sim->result.failed) {
        return;
    }
    sim->result.failed = true;
    sim->result.at_s = (double)sim_now(sim) / 1e9;
    va_start(ap, fmt);
    (void)vsnprintf(sim->result.failure, sizeof(sim->result.failure), fmt, ap);
    va_end(ap);
    sim_tell(sim, "!!!  %s", sim->result.failure);
}

/* ---- hooks of the API server ---- */

static void on_change(void *ctx, const FakeChange *change)
{
    Sim *sim = ctx;

    sim_hash_u64(sim, change->rv);
    sim_hash_u64(sim, (uint64_t)change->kind->id);
    if (!sim->restoring) {
        sim->changed_ns[change->rv % ARRAY_LEN(sim->changed_ns)] = sim->clock.now_mono_ns;
    }
    kubelet_on_change(sim->kubelet, change);
    oracle_on_change(sim->oracle, change);
}

/* ---- knobs that come by themselves ---- */

static Replica *any_replica(Sim *sim, SimKnob knob)
{
    Replica *replica = sim->replicas[sim_between(sim, knob, 0, SIM_REPLICAS - 1)];

    return replica && replica_is_up(replica) ? replica : sim->replicas[0];
}

static void steal_lease(Sim *sim)
{
    const json_t *lease = fakeapi_get(sim->api, KUBE_LEASE, "system", MANAGER_LEASE_NAME);

    if (lease) {
        sim_tell(sim, "fault  the Lease is deleted");
        (void)fakeapi_delete(sim->api, KUBE_LEASE, "system", MANAGER_LEASE_NAME);
    }
}

/* Backups are taken and played back in turn. */
static void restore(Sim *sim)
{
    /* Versions that jump right after they went back hide that: docs/sim.md, what it does not see.
     */
    if (!sim->backup && sim->restored_ns != 0 &&
        sim->clock.now_mono_ns < sim->restored_ns + SIM_NOTICE_NS) {
        return;
    }
    if (!sim->backup) {
        sim_tell(sim, "fault  a backup is taken at version %llu",
                 (unsigned long long)fakeapi_rv(sim->api));
        sim->backup = fakeapi_backup(sim->api);
        /* A server is busy with much that is not ours: versions that are lost are many. */
        fakeapi_skip_versions(sim->api, 100000);
        return;
    }
    sim_tell(sim, "fault  the storage goes back from version %llu",
             (unsigned long long)fakeapi_rv(sim->api));
    sim->restored_ns = sim->clock.now_mono_ns;
    sim->restoring = true;
    fakeapi_restore(sim->api, sim->backup);
    sim->restoring = false;
    sim->backup = fakeapi_backup_free(sim->backup);
    link_ghosts_free(sim);
    for (size_t i = 0; i < SIM_REPLICAS; i++) {
        replica_reset(sim->replicas[i]);
    }
}

static void jump_clock(Sim *sim, Replica *replica)
{
    uint64_t ns = sim_between(sim, SIM_CLOCK_JUMP, NS_PER_S, 40 * NS_PER_S);
    bool back = sim_between(sim, SIM_CLOCK_JUMP, 0, 1) == 1;

    replica_jump(replica, back ? -(int64_t)ns : (int64_t)ns);
}

static void act(Sim *sim, SimKnob knob)
{
    Replica *replica = sim_knob(knob)->user ? NULL : any_replica(sim, knob);

    switch (knob) {
    case SIM_COMPACTION:
        sim_tell(sim, "fault  history is compacted");
        fakeapi_compact(sim->api);
        break;
    case SIM_LEASE_STOLEN:
        steal_lease(sim);
        break;
    case SIM_CRASH:
        replica_crash(replica, "killed", sim_between(sim, knob, NS_PER_MS, 8 * NS_PER_S));
        break;
    case SIM_PAUSE:
        replica_pause(replica, sim_between(sim, knob, 10 * NS_PER_MS, 20 * NS_PER_S));
        break;
    case SIM_CLOCK_JUMP:
        jump_clock(sim, replica);
        break;
    case SIM_RESTORE:
        restore(sim);
        break;
    case SIM_POD_DISRUPTED:
    case SIM_POD_EVICTED:
    case SIM_POD_BLINKS:
        kubelet_trouble(sim->kubelet, knob);
        break;
    default:
        if (sim_knob(knob)->user) {
            users_act(sim->users, knob);
        } else {
            replica_trouble(replica, knob);
        }
        break;
    }
}

static void on_timer(LoopTimer *timer)
{
    const SimTimer *self = container_of(timer, SimTimer, timer);
    Sim *sim = self->sim;
    SimKnob knob = self->knob;

    if (sim->phase == SIM_STORM) {
        act(sim, knob);
        loop_timer_arm(sim->loop, timer, loop_now(sim->loop) + sim_period(sim, knob));
    }
}

static void timers_arm(Sim *sim)
{
    for (int i = 0; i < SIM_KNOBS_; i++) {
        SimTimer *timer = &sim->timers[i];

        loop_timer_init(&timer->timer, on_timer);
        timer->sim = sim;
        timer->knob = (SimKnob)i;
        if (sim_knob((SimKnob)i)->class == SIM_CLASS_TIMED && sim_is_on(sim, (SimKnob)i)) {
            loop_timer_arm(sim->loop, &timer->timer,
                           loop_now(sim->loop) + sim_period(sim, (SimKnob)i));
        }
    }
}

static void timers_disarm(Sim *sim)
{
    for (int i = 0; i < SIM_KNOBS_; i++) {
        loop_timer_disarm(&sim->timers[i].timer);
    }
}

/* ---- time ---- */

static uint64_t next_deadline(const Sim *sim)
{
    uint64_t next = loop_next_deadline(sim->loop);

    for (size_t i = 0; i < SIM_REPLICAS; i++) {
        uint64_t at = sim->replicas[i] ? replica_deadline(sim->replicas[i]) : LOOP_NEVER;

        next = at < next ? at : next;
    }
    return next;
}

/* Everything that is due now, and what follows from it at once. */
static void settle(Sim *sim)
{
    bool calm = false;

    while (!calm && !sim->result.failed) {
        (void)loop_step(sim->loop, 0);
        calm = loop_is_calm(sim->loop);
        for (size_t i = 0; i < SIM_REPLICAS; i++) {
            if (sim->replicas[i]) {
                replica_step(sim->replicas[i]);
                calm = calm && replica_is_calm(sim->replicas[i]);
            }
        }
        calm = calm && loop_is_calm(sim->loop);
        if (++sim->result.steps > SIM_STEPS_MAX) {
            sim_fail(sim, "more than %d steps: something runs in a circle", SIM_STEPS_MAX);
        }
    }
}

static void run_for(Sim *sim, uint64_t ns)
{
    uint64_t end = sim->clock.now_mono_ns + ns;

    settle(sim);
    while (!sim->result.failed && sim->clock.now_mono_ns < end) {
        uint64_t next = next_deadline(sim);
        uint64_t to = next < end ? next : end;
        uint64_t now = sim->clock.now_mono_ns;

        fake_clock_advance(&sim->clock, to > now ? to - now : 0);
        settle(sim);
    }
}

/* ---- phases ---- */

static void storm(Sim *sim)
{
    Rng rng;

    rng_init(&rng, sim->options.seed);
    sim->storm_ns = (20 + rng_below(&rng, 60)) * NS_PER_S;
    timers_arm(sim);
    replica_start(sim->replicas[0]);
    if (sim_is_on(sim, SIM_STANDBY)) {
        replica_start(sim->replicas[1]);
    }
    run_for(sim, sim->storm_ns);
}

static void calm(Sim *sim)
{
    sim_tell(sim, "---- calm: no more faults, no more users ----");
    sim->phase = SIM_CALM;
    timers_disarm(sim);
    users_heal(sim->users);
    kubelet_heal(sim->kubelet);
    for (size_t i = 0; i < SIM_REPLICAS; i++) {
        replica_heal(sim->replicas[i]);
    }
    run_for(sim, SIM_CALM_NS);
}

/* Memory that was of use is gone now: what is stored has to be enough. */
static void replace_all(Sim *sim)
{
    sim_tell(sim, "---- rest: a controller with empty memory ----");
    for (size_t i = 0; i < SIM_REPLICAS; i++) {
        if (replica_is_up(sim->replicas[i])) {
            replica_crash(sim->replicas[i], "replaced", NS_PER_MS);
        }
    }
    run_for(sim, SIM_REST_NS);
}

static void rest(Sim *sim)
{
    uint64_t before;

    oracle_check_rest(sim);
    sim->phase = SIM_REST;
    if (sim->lazy) {
        replace_all(sim);
    }
    before = sim->result.writes;
    replace_all(sim);
    if (!sim->result.failed && !replica_leads(sim->replicas[0]) &&
        !replica_leads(sim->replicas[1])) {
        sim_fail(sim, "nobody leads at rest");
    }
    if (!sim->result.failed && sim->result.writes != before) {
        sim_fail(sim, "%d writes at rest", (int)(sim->result.writes - before));
    }
}

/* ---- life ---- */

static void options_draw(Sim *sim)
{
    Rng rng;

    rng_init(&rng, sim->options.seed + 77);
    options_defaults(&sim->controller);
    sim->controller.label_domains[0] = OPTIONS_LABEL_DOMAIN_DEFAULT;
    sim->controller.n_label_domains = 1;
    sim->controller.extensions = true;
    sim->controller.leader_elect = sim_is_on(sim, SIM_STANDBY) || !sim_is_on(sim, SIM_NO_ELECTION);
    /* The calm has to be longer than what the controller is told to wait. */
    sim->controller.pool_readiness_grace_ns = 40 * (int64_t)NS_PER_S;
    sim->controller.pool_workers = 1 + (int64_t)rng_below(&rng, 3);
    sim->controller.disable_claim_observability = rng_below(&rng, 4) == 0;
    sim->controller.warm_pool_eviction = rng_below(&rng, 4) == 0;
    if (rng_below(&rng, 4) == 0) {
        sim->controller.sandbox_write_behind_ns = (int64_t)NS_PER_S;
    }
    fakeapi_set_pod_grace(sim->api, rng_below(&rng, 3) * 700 * NS_PER_MS);
    fakeapi_set_streams(sim->api, rng_below(&rng, 3) > 0 && !sim_is_on(sim, SIM_PAGES));
    if (sim_is_on(sim, SIM_PAGES)) {
        fakeapi_set_page_max(sim->api, 1 + sim_between(sim, SIM_PAGES, 0, 4));
    }
}

static void sim_init(Sim *sim, const SimOptions *options)
{
    *sim = (Sim){.options = *options, .result.hash = options->seed};
    fake_clock_init(&sim->clock, 1000 * NS_PER_S, SIM_WALL_NS);
    CHECK(loop_new_virtual(&sim->clock.clock, &sim->loop) == 0);
    sim->api = fakeapi_new(sim->loop, options->seed);
    sim_knobs_draw(sim);
    options_draw(sim);
    fakeapi_set_trace(sim->api, false);
    fakeapi_set_hook(sim->api, link_judge, sim);
    fakeapi_set_observer(sim->api, on_change, sim);
    sim->oracle = oracle_new(sim);
    sim->kubelet = kubelet_new(sim);
    sim->users = users_new(sim);
    list_init(&sim->ghosts);
    for (unsigned i = 0; i < SIM_REPLICAS; i++) {
        sim->replicas[i] = replica_new(sim, i);
    }
}

static void sim_deinit(Sim *sim)
{
    timers_disarm(sim);
    for (size_t i = 0; i < SIM_REPLICAS; i++) {
        sim->replicas[i] = replica_free(sim->replicas[i]);
    }
    link_ghosts_free(sim);
    sim->users = users_free(sim->users);
    sim->kubelet = kubelet_free(sim->kubelet);
    fakeapi_set_observer(sim->api, NULL, NULL);
    sim->backup = fakeapi_backup_free(sim->backup);
    sim->api = fakeapi_free(sim->api);
    sim->oracle = oracle_free(sim->oracle);
    sim->loop = loop_free(sim->loop);
    options_deinit(&sim->controller);
}

void sim_run(const SimOptions *options, SimResult *ret_result)
{
    Sim *sim = xcalloc(1, sizeof(*sim));

    sim_init(sim, options);
    storm(sim);
    if (!sim->result.failed) {
        calm(sim);
    }
    if (!sim->result.failed) {
        rest(sim);
    }
    sim->result.simulated_s = (double)sim_now(sim) / 1e9;
    sim_deinit(sim);
    *ret_result = sim->result;
    free(sim);
}
