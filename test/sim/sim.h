/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Simulation of a cluster with the production controller in it: one seed is one run, exact to the
 * byte. See docs/sim.md.
 *
 * One FakeClock drives several virtual loops: the world's (API server model, kubelet, users,
 * faults) and one for each replica of the controller, so that a replica can be paused like a
 * process that gets no CPU while the rest goes on. Between a replica and the API server sits a link
 * (link.c) that loses, delays and repeats what goes through it.
 *
 * A run has two parts. In the storm, faults and users are active. In the calm they stop, the world
 * heals, and the controller has SIM_CALM_NS to make everything as it is wanted; then a replica with
 * empty memory is started, and must write nothing.
 *
 * Every source of chance is a knob with a random stream of its own: switching one off leaves the
 * numbers of the others as they were, which is what makes shrinking work.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/rng.h"
#include "controller/manager.h"
#include "test/fakeapi/fakeapi.h"

#define SIM_WALL_NS (1796083200ll * 1000000000ll) /* 2026-12-01T00:00:00Z */
#define SIM_REPLICAS 2
#define SIM_CALM_NS (180 * NS_PER_S)
#define SIM_REST_NS (30 * NS_PER_S)
/* A run that needs more steps than this hangs in one place. */
#define SIM_STEPS_MAX 2000000
/* A server that lags behind is this far behind at most, in versions and in time. */
#define SIM_LAG_MAX 60
#define SIM_NOTICE_NS (20 * NS_PER_S) /* for a restore to be noticed */
#define SIM_LAG_MAX_NS (3 * NS_PER_S)

/* What may go wrong and what may be done; the table is in knobs.c. */
typedef enum SimKnob {
    /* requests */
    SIM_LOST_REQUEST,
    SIM_LOST_ANSWER,
    SIM_NOT_SENT,
    SIM_LATE_REQUEST,
    SIM_LATE_ANSWER,
    SIM_CONFLICT,
    SIM_TOO_MANY,
    SIM_SERVER_ERROR,
    SIM_INVALID,
    SIM_FORBIDDEN,
    SIM_TRUNCATED,
    SIM_GHOST, /* a cancelled request takes effect all the same */
    /* watches and lists */
    SIM_WATCH_CUT,
    SIM_WATCH_LATE,
    SIM_WATCH_TWICE,
    SIM_WATCH_STUCK,
    SIM_COMPACTION,
    SIM_STALE_LIST,
    /* processes */
    SIM_CRASH,
    SIM_CRASH_AT_WRITE,
    SIM_PAUSE,
    SIM_CLOCK_JUMP,
    SIM_STANDBY,
    SIM_LEASE_STOLEN,
    /* Pods */
    SIM_POD_SLOW,
    SIM_POD_FAILS,
    SIM_POD_ENDS,
    SIM_POD_EVICTED,
    SIM_POD_BLINKS,
    SIM_POD_NO_IMAGE,
    SIM_POD_UNSCHEDULABLE,
    /* users */
    SIM_CLAIM_CREATE,
    SIM_CLAIM_DELETE,
    SIM_CLAIM_EXPIRE,
    SIM_POOL_SCALE,
    SIM_POOL_REPLACE,
    SIM_TEMPLATE_EDIT,
    SIM_TEMPLATE_REPLACE,
    SIM_SANDBOX_CREATE,
    SIM_SANDBOX_DELETE,
    SIM_SANDBOX_SUSPEND,
    SIM_SANDBOX_SERVICE,
    SIM_SANDBOX_EXPIRE,
    SIM_CHILD_DELETE,
    SIM_CHILD_EDIT,
    SIM_STRANGER,  /* foreign objects under our names */
    SIM_NAMESPACE, /* everything in a namespace goes */
    SIM_CLAIM_BURST,
    SIM_NO_ELECTION, /* a replica alone, which leads at once */
    SIM_PAGES,       /* lists come in small pages */
    SIM_CONTINUE_GONE,
    SIM_RESTORE,       /* storage goes back to a backup */
    SIM_EXTRA_SANDBOX, /* a claim gets a second one by hand */
    SIM_NAME_RACE,     /* somebody takes the name just before our create */
    SIM_POD_DISRUPTED, /* on its way to be evicted, and says so */
    SIM_KNOBS_,        /* new ones go before this: seeds keep their meaning */
} SimKnob;

typedef enum SimClass {
    SIM_CLASS_REQUEST, /* one chance a request */
    SIM_CLASS_TIMED,   /* comes by itself from time to time */
    SIM_CLASS_POD,     /* one chance a Pod */
    SIM_CLASS_MODE,    /* on or off for the whole run */
} SimClass;

typedef struct SimKnobSpec {
    const char *name;
    SimClass class;
    bool user;
    double most;     /* REQUEST, POD, MODE: probability at full weight */
    double period_s; /* TIMED: mean time between two at full weight */
} SimKnobSpec;

typedef struct Sim Sim;
typedef struct Replica Replica;
typedef struct SimCall SimCall;
typedef struct Kubelet Kubelet;
typedef struct Users Users;
typedef struct Oracle Oracle;

typedef struct SimOptions {
    uint64_t seed;
    uint64_t without; /* bit n: knob n is off */
    FILE *story;      /* NULL = none */
    int log_fd;       /* of the controllers' own log, 0 = none */
} SimOptions;

typedef struct SimResult {
    bool failed;
    double at_s; /* simulated time of the failure */
    uint64_t hash;
    uint64_t on; /* knobs that were on */
    uint64_t steps;
    uint64_t requests;
    uint64_t writes;
    double simulated_s;
    char failure[512];
} SimResult;

typedef enum SimPhase {
    SIM_STORM,
    SIM_CALM,
    SIM_REST,
} SimPhase;

/* Starts of claims. */
typedef struct SimCounts {
    uint64_t warm;
    uint64_t cold;
} SimCounts;

typedef struct SimTimer {
    LoopTimer timer;
    Sim *sim;
    SimKnob knob;
} SimTimer;

struct Sim {
    SimOptions options;
    SimPhase phase;
    FakeClock clock;
    Loop *loop; /* the world's */
    FakeApi *api;
    Rng rngs[SIM_KNOBS_];
    unsigned weights[SIM_KNOBS_]; /* 0 = off, else 1..100 */
    ControllerOptions controller;
    uint64_t storm_ns;
    uint64_t last_life_ns; /* a replica started or ended then */
    bool lazy;             /* a change was made that is passed on with the next reason to write */
    Replica *replicas[SIM_REPLICAS];
    Kubelet *kubelet;
    Users *users;
    Oracle *oracle;
    SimTimer timers[SIM_KNOBS_];          /* of TIMED knobs */
    FakeBackup *backup;                   /* NULL = none taken */
    bool restoring;                       /* changes are those of a restore */
    uint64_t restored_ns;                 /* the last time that was done */
    uint64_t changed_ns[SIM_LAG_MAX + 1]; /* when version n came, by n modulo the size */
    SimCounts counted;
    SimCounts happened;
    List ghosts;               /* calls whose sender is gone */
    const SimCall *submitting; /* the call that is being handed to the API server */
    SimResult result;
};

/* sim.c */
void sim_run(const SimOptions *options, SimResult *ret_result);
/* Ends the run; only the first failure counts. */
void sim_fail(Sim *sim, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A line of the story. */
void sim_tell(const Sim *sim, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool sim_tells(const Sim *sim);
/* Everything that must be the same in a second run goes in here. */
void sim_hash(Sim *sim, Str text);
void sim_hash_u64(Sim *sim, uint64_t value);
uint64_t sim_now(const Sim *sim); /* ns since the run began */

/* knobs.c */
const SimKnobSpec *sim_knob(SimKnob knob);
void sim_knobs_draw(Sim *sim);
/* One chance of this knob; false when it is off or the storm is over. */
bool sim_chance(Sim *sim, SimKnob knob);
bool sim_is_on(const Sim *sim, SimKnob knob);
uint64_t sim_between(Sim *sim, SimKnob knob, uint64_t low, uint64_t high);
/* Time until the next event of a TIMED knob. */
uint64_t sim_period(Sim *sim, SimKnob knob);
/* Names of a set, separated by spaces. */
void sim_knobs_text(uint64_t set, StrBuf *out);
/* -ENOENT */
int sim_knob_find(Str name, SimKnob *ret_knob);

/* replica.c */
Replica *replica_new(Sim *sim, unsigned index);
Replica *replica_free(Replica *replica);
void replica_start(Replica *replica);
void replica_crash(Replica *replica, const char *why, uint64_t down_ns);
void replica_pause(Replica *replica, uint64_t ns);
void replica_jump(Replica *replica, int64_t ns);
/* Cuts or stalls its watches. */
void replica_trouble(Replica *replica, SimKnob knob);
void replica_reset(Replica *replica); /* its connections break */
void replica_heal(Replica *replica);  /* no pause, right clock */
bool replica_is_up(const Replica *replica);
bool replica_leads(const Replica *replica);
bool replica_is_idle(const Replica *replica);
/* Due to be run: LOOP_NEVER when down. */
uint64_t replica_deadline(const Replica *replica);
void replica_step(Replica *replica); /* one tick, if it may run */
bool replica_is_calm(const Replica *replica);
const char *replica_name(const Replica *replica);
Sim *replica_sim(const Replica *replica);
Loop *replica_loop(Replica *replica);
/* Counts a write; true when the process is to die of it. */
bool replica_write_kills(Replica *replica);

/* link.c: the network between one replica and the API server */
typedef struct SimLink SimLink;

SimLink *link_new(Replica *replica);
SimLink *link_free(SimLink *link); /* what is still on its way goes on by itself */
KubeTransport *link_transport(SimLink *link);
/* Breaks all watches, or lets them hang. */
void link_cut_watches(SimLink *link, int err);
void link_stall_watches(SimLink *link);
/* The replica whose request this is. */
const Replica *link_author(const KubeRequest *req);
FakeVerdict link_judge(void *ctx, const FakeCall *call);
void link_ghosts_free(Sim *sim);
/* The server is a new one: what is on its way in either direction is lost. */
void link_reset(SimLink *link);

/* kubelet.c */
Kubelet *kubelet_new(Sim *sim);
Kubelet *kubelet_free(Kubelet *kubelet);
void kubelet_on_change(Kubelet *kubelet, const FakeChange *change);
/* Pods that were stuck go on. */
void kubelet_heal(Kubelet *kubelet);
void kubelet_trouble(Kubelet *kubelet, SimKnob knob);

/* users.c */
Users *users_new(Sim *sim);
Users *users_free(Users *users);
void users_act(Users *users, SimKnob knob);
/* Takes the name of what is about to be created. */
void users_race(Users *users, const FakeCall *call);
/* Takes away what stands in the controller's way. */
void users_heal(Users *users);

/* oracle.c: what must hold after every change; rest.c: what must hold in the end */
Oracle *oracle_new(Sim *sim);
Oracle *oracle_free(Oracle *oracle);
void oracle_on_change(Oracle *oracle, const FakeChange *change);
/* A request of a controller for one object is on its way. */
void oracle_on_request(Oracle *oracle, const Replica *replica, const FakeCall *call, bool passes);
/* A write request of a controller is on its way. */
void oracle_on_write(Oracle *oracle, const Replica *replica, const FakeCall *call);
void oracle_check_rest(Sim *sim);
