/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that runs the controller: production manager, reconcilers, executor, informers and
 * Lease on a loop and a clock of its own. It may be killed at any moment (whatever it had in memory
 * is gone), paused, and have its wall clock moved.
 *
 * A process never ends inside its own callbacks: it is marked and buried by the world's loop.
 */
#include "base/mem.h"
#include "test/sim/oracle.h"

#define REPLICA_BACK_NS (500 * NS_PER_MS)

struct Replica {
    Sim *sim;
    unsigned index;
    unsigned lives;
    struct ReplicaClock {
        Clock clock;
        const Replica *replica;
    } clock;
    int64_t wall_offset_ns;
    uint64_t paused_until_ns;
    Loop *loop; /* this and the next two: NULL while it is down */
    SimLink *link;
    Manager *manager;
    Metrics *metrics;
    Logger *log; /* NULL: silent */
    bool dying;  /* does nothing any more */
    LoopTimer start;
    LoopTimer bury;
    char identity[32];
    char name[8];
};

/* ---- time ---- */

static uint64_t mono_ns(const Clock *clock)
{
    const struct ReplicaClock *self = container_of((Clock *)clock, struct ReplicaClock, clock);

    return self->replica->sim->clock.now_mono_ns;
}

static int64_t wall_ns(const Clock *clock)
{
    const struct ReplicaClock *self = container_of((Clock *)clock, struct ReplicaClock, clock);

    return self->replica->sim->clock.now_wall_ns + self->replica->wall_offset_ns;
}

static bool is_paused(const Replica *replica)
{
    return replica->dying || replica->paused_until_ns > replica->sim->clock.now_mono_ns;
}

uint64_t replica_deadline(const Replica *replica)
{
    uint64_t next;

    if (!replica->loop || replica->dying) {
        return LOOP_NEVER;
    }
    next = loop_next_deadline(replica->loop);
    if (!loop_is_calm(replica->loop)) {
        next = replica->sim->clock.now_mono_ns;
    }
    return next > replica->paused_until_ns ? next : replica->paused_until_ns;
}

void replica_step(Replica *replica)
{
    if (replica->loop && !is_paused(replica)) {
        (void)loop_step(replica->loop, 0);
    }
}

bool replica_is_calm(const Replica *replica)
{
    return !replica->loop || is_paused(replica) || loop_is_calm(replica->loop);
}

/* ---- life ---- */

static void die_soon(Replica *replica, uint64_t after_ns)
{
    if (!loop_timer_is_armed(&replica->bury)) {
        loop_timer_arm(replica->sim->loop, &replica->bury, loop_now(replica->sim->loop) + after_ns);
    }
}

static void on_lost(void *ctx)
{
    Replica *replica = ctx;

    replica->dying = true;
    die_soon(replica, 0);
}

static void on_bury(LoopTimer *timer)
{
    Replica *replica = container_of(timer, Replica, bury);

    replica_crash(replica, replica->dying ? "lost the Lease" : "killed after a write",
                  REPLICA_BACK_NS);
}

static void on_start(LoopTimer *timer)
{
    replica_start(container_of(timer, Replica, start));
}

void replica_start(Replica *replica)
{
    ManagerConfig config = {
        .options = &replica->sim->controller,
        .lease_ns = "system",
        .identity = replica->identity,
        .seed = replica->sim->options.seed * 100 + replica->index * 50 + replica->lives,
        .on_lost = on_lost,
        .ctx = replica,
    };

    CHECK(!replica->loop);
    replica->sim->last_life_ns = replica->sim->clock.now_mono_ns;
    replica->lives++;
    replica->dying = false;
    (void)snprintf(replica->identity, sizeof(replica->identity), "c%u_%u", replica->index,
                   replica->lives);
    CHECK(loop_new_virtual(&replica->clock.clock, &replica->loop) == 0);
    replica->link = link_new(replica);
    if (replica->sim->options.log_fd > 0) {
        replica->log =
            logger_new(replica->sim->options.log_fd, replica->name, &replica->clock.clock);
        logger_set_level(replica->log, LOG_LEVEL_DEBUG);
        logger_set_encoder(replica->log, LOG_ENCODER_CONSOLE);
    }
    config.log = replica->log;
    config.loop = replica->loop;
    replica->metrics = metrics_new();
    config.metrics = replica->metrics;
    config.transport = link_transport(replica->link);
    CHECK(manager_new(&config, &replica->manager, NULL) == 0);
    sim_tell(replica->sim, "%s     starts, life %u", replica->name, replica->lives);
    manager_start(replica->manager);
}

static void end(Replica *replica)
{
    replica->sim->last_life_ns = replica->sim->clock.now_mono_ns;
    counts_take(replica->sim, replica->metrics);
    replica->manager = manager_free(replica->manager);
    metrics_free(TAKE(replica->metrics));
    replica->link = link_free(replica->link);
    replica->loop = loop_free(replica->loop);
    replica->log = logger_free(replica->log);
}

void replica_crash(Replica *replica, const char *why, uint64_t down_ns)
{
    if (!replica->loop) {
        return;
    }
    sim_tell(replica->sim, "%s     %s", replica->name, why);
    end(replica);
    replica->paused_until_ns = 0;
    loop_timer_disarm(&replica->bury);
    loop_timer_arm(replica->sim->loop, &replica->start, loop_now(replica->sim->loop) + down_ns);
}

void replica_pause(Replica *replica, uint64_t ns)
{
    sim_tell(replica->sim, "%s     is paused for %.3f s", replica->name, (double)ns / 1e9);
    replica->paused_until_ns = replica->sim->clock.now_mono_ns + ns;
}

void replica_jump(Replica *replica, int64_t ns)
{
    replica->wall_offset_ns = replica->wall_offset_ns != 0 ? 0 : ns;
    sim_tell(replica->sim, "%s     its clock is %.1f s off", replica->name,
             (double)replica->wall_offset_ns / 1e9);
}

void replica_trouble(Replica *replica, SimKnob knob)
{
    if (!replica->link) {
        return;
    }
    if (knob == SIM_WATCH_CUT) {
        sim_tell(replica->sim, "%s     its watches are cut", replica->name);
        link_cut_watches(replica->link, sim_between(replica->sim, knob, 0, 1) ? 104 : 0);
    } else {
        sim_tell(replica->sim, "%s     its watches hang", replica->name);
        link_stall_watches(replica->link);
    }
}

void replica_heal(Replica *replica)
{
    replica->paused_until_ns = 0;
    replica->wall_offset_ns = 0;
}

void replica_reset(Replica *replica)
{
    if (replica->link) {
        link_reset(replica->link);
    }
}

bool replica_write_kills(Replica *replica)
{
    if (!sim_chance(replica->sim, SIM_CRASH_AT_WRITE)) {
        return false;
    }
    die_soon(replica, FAKE_LATENCY_NS); /* when the write has taken effect */
    return true;
}

Replica *replica_new(Sim *sim, unsigned index)
{
    Replica *replica = xcalloc(1, sizeof(*replica));

    replica->sim = sim;
    replica->index = index;
    replica->clock.clock = (Clock){mono_ns, wall_ns};
    replica->clock.replica = replica;
    (void)snprintf(replica->name, sizeof(replica->name), "c%u", index);
    loop_timer_init(&replica->start, on_start);
    loop_timer_init(&replica->bury, on_bury);
    return replica;
}

Replica *replica_free(Replica *replica)
{
    if (replica->loop) {
        end(replica);
    }
    loop_timer_disarm(&replica->start);
    loop_timer_disarm(&replica->bury);
    free(replica);
    return NULL;
}

/* ---- questions ---- */

bool replica_is_up(const Replica *replica)
{
    return replica->loop != NULL;
}

bool replica_leads(const Replica *replica)
{
    return replica->manager && !replica->dying && manager_is_leading(replica->manager);
}

bool replica_is_idle(const Replica *replica)
{
    return !replica->manager || manager_is_idle(replica->manager);
}

const char *replica_name(const Replica *replica)
{
    return replica->name;
}

Sim *replica_sim(const Replica *replica)
{
    return replica->sim;
}

Loop *replica_loop(Replica *replica)
{
    return replica->loop;
}
