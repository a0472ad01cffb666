/* SPDX-License-Identifier: Apache-2.0 */
/* Leader election: two candidates, one server, a clock that tests move. */
#include <errno.h>
#include <stdio.h>

#include "base/timefmt.h"
#include "kube/lease.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"

typedef struct Candidate {
    struct Rig *rig;
    KubeLease *lease;
    const char *identity;
    bool leads;
    bool released;
    int terms;
    int losses;
} Candidate;

typedef struct Rig {
    FakeWorld world;
    Candidate c[2];
    int cut; /* index of the candidate whose requests get lost, -1 = none */
    FakeVerdictKind how;
} Rig;

static void check_one_leader(const Rig *rig)
{
    T_CHECK(!(kube_lease_is_leader(rig->c[0].lease) && kube_lease_is_leader(rig->c[1].lease)));
}

static void on_started(KubeLease *lease, void *ctx)
{
    Candidate *c = ctx;

    T_CHECK(!c->leads && kube_lease_is_leader(lease));
    c->leads = true;
    c->terms++;
    check_one_leader(c->rig);
}

static void on_lost(KubeLease *lease, const char *why, void *ctx)
{
    Candidate *c = ctx;

    T_CHECK(c->leads && why && !kube_lease_is_leader(lease));
    c->leads = false;
    c->losses++;
}

static void on_released(KubeLease *lease, void *ctx)
{
    UNUSED(lease);
    ((Candidate *)ctx)->released = true;
}

/* Whose write it is says the body; reads have none and pass unless all are cut. */
static FakeVerdict hook(void *ctx, const FakeCall *call)
{
    Rig *rig = ctx;
    Str body = call->body.ptr ? call->body : STR("");
    bool first = memmem(body.ptr, body.len, "host-0", 6) != NULL;
    bool second = memmem(body.ptr, body.len, "host-1", 6) != NULL;
    bool cut = (rig->cut == 0 && first) || (rig->cut == 1 && second) || rig->cut == 2;

    return (FakeVerdict){.kind = cut ? rig->how : FAKE_PASS};
}

static void rig_init(Rig *rig)
{
    static const char *const IDS[] = {"host-0_uuid", "host-1_uuid"};

    *rig = (Rig){.cut = -1, .how = FAKE_LOST_BEFORE};
    fake_world_init(&rig->world, 1);
    fakeapi_set_hook(rig->world.api, hook, rig);
    for (int i = 0; i < 2; i++) {
        Candidate *c = &rig->c[i];

        *c = (Candidate){.rig = rig, .identity = IDS[i]};
        T_OK(kube_lease_new(&(KubeLeaseConfig){.api = rig->world.client,
                                               .ns = "sys",
                                               .name = "lease.example",
                                               .identity = c->identity,
                                               .seed = (uint64_t)i + 1,
                                               .on_started = on_started,
                                               .on_lost = on_lost,
                                               .ctx = c},
                            &c->lease, NULL));
    }
}

static void rig_deinit(Rig *rig)
{
    kube_lease_free(rig->c[0].lease);
    kube_lease_free(rig->c[1].lease);
    fake_world_deinit(&rig->world);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

static void run(Rig *rig, uint64_t ns)
{
    for (uint64_t step = 100 * NS_PER_MS; ns > 0; ns -= step < ns ? step : ns) {
        fake_world_run(&rig->world, step < ns ? step : ns);
        check_one_leader(rig);
    }
}

static Str spec_str(const Rig *rig, const char *member)
{
    return jx_get_str(fakeapi_get(rig->world.api, KUBE_LEASE, "sys", "lease.example"), "spec",
                      member);
}

static int64_t spec_int(const Rig *rig, const char *member)
{
    return jx_i64(
        jx_get(fakeapi_get(rig->world.api, KUBE_LEASE, "sys", "lease.example"), "spec", member),
        -1);
}

T_TEST(lease_first_candidate_leads_and_renews)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    T_CHECK(rig.c[0].leads);
    kube_lease_start(rig.c[1].lease);
    run(&rig, 120 * NS_PER_S);
    T_CHECK(rig.c[0].leads && !rig.c[1].leads);
    T_EQ_INT(rig.c[0].terms, 1);
    T_EQ_STR(kube_lease_holder(rig.c[1].lease), "host-0_uuid");
    T_EQ_STR(spec_str(&rig, "holderIdentity"), "host-0_uuid");
    T_EQ_INT(spec_int(&rig, "leaseDurationSeconds"), 15);
    T_EQ_STR(spec_str(&rig, "acquireTime"), "2026-12-01T00:00:00.001000Z");
    T_CHECK(str_cmp(spec_str(&rig, "renewTime"), STR("2026-12-01T00:01:58")) > 0);
}

T_TEST(lease_is_released_on_stop_and_taken_within_the_retry_time)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    kube_lease_start(rig.c[1].lease);
    run(&rig, 10 * NS_PER_S);
    kube_lease_stop(rig.c[0].lease, on_released);
    T_CHECK(!rig.c[0].leads && !rig.c[0].released);
    run(&rig, 2500 * NS_PER_MS);
    T_CHECK(rig.c[0].released && rig.c[1].leads);
    T_EQ_INT(spec_int(&rig, "leaseTransitions"), 2);
    kube_lease_stop(rig.c[1].lease, on_released);
    run(&rig, NS_PER_S);
    T_EQ_STR(spec_str(&rig, "holderIdentity"), "");
    T_EQ_INT(spec_int(&rig, "leaseDurationSeconds"), 1);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    T_CHECK(rig.c[0].leads);
}

/* The first candidate, without a word. */
static void die(Rig *rig)
{
    rig->c[0].lease = kube_lease_free(rig->c[0].lease);
    T_OK(kube_lease_new(&(KubeLeaseConfig){.api = rig->world.client,
                                           .ns = "sys",
                                           .name = "other",
                                           .identity = "x",
                                           .on_started = on_started,
                                           .on_lost = on_lost,
                                           .ctx = &rig->c[0]},
                        &rig->c[0].lease, NULL));
}

T_TEST(lease_of_a_dead_holder_is_taken_after_its_duration)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    kube_lease_start(rig.c[1].lease);
    run(&rig, 10 * NS_PER_S);
    die(&rig);
    run(&rig, 12 * NS_PER_S);
    T_CHECK(!rig.c[1].leads);
    run(&rig, 6 * NS_PER_S);
    T_CHECK(rig.c[1].leads);
}

/* However the retries of both lie to each other: within 3 s of the Lease's expiry. */
T_TEST(lease_of_a_dead_holder_is_taken_soon_after_it_expired)
{
    for (uint64_t phase = 0; phase < 40; phase++) {
        AUTO(rig) Rig rig;
        int64_t renewed;
        int64_t late;

        rig_init(&rig);
        kube_lease_start(rig.c[0].lease);
        run(&rig, NS_PER_S + phase * 100 * NS_PER_MS);
        kube_lease_start(rig.c[1].lease);
        run(&rig, 20 * NS_PER_S + phase * 70 * NS_PER_MS);
        T_CHECK(rig.c[0].leads);
        die(&rig);
        T_OK(timefmt_parse(spec_str(&rig, "renewTime"), &renewed));
        while (!rig.c[1].leads) {
            fake_world_run(&rig.world, 20 * NS_PER_MS);
        }
        late = rig.world.clock.now_wall_ns - renewed - (int64_t)KUBE_LEASE_DURATION_NS;
        T_CHECK(late >= 0 && late < 2600 * (int64_t)NS_PER_MS);
    }
}

T_TEST(lease_leader_without_network_stops_before_another_starts)
{
    static const FakeVerdictKind HOW[] = {FAKE_LOST_BEFORE, FAKE_NOT_SENT, FAKE_STATUS};

    for (size_t i = 0; i < ARRAY_LEN(HOW); i++) {
        AUTO(rig) Rig rig;

        rig_init(&rig);
        rig.how = HOW[i];
        kube_lease_start(rig.c[0].lease);
        run(&rig, NS_PER_S);
        kube_lease_start(rig.c[1].lease);
        run(&rig, 10 * NS_PER_S);
        rig.cut = 0;
        run(&rig, 9 * NS_PER_S);
        T_CHECK(!rig.c[1].leads);
        run(&rig, 3 * NS_PER_S);
        T_CHECK(!rig.c[0].leads); /* after 10 s at most */
        run(&rig, 10 * NS_PER_S);
        T_CHECK(rig.c[1].leads);
        rig.cut = -1;
        run(&rig, 60 * NS_PER_S);
        T_CHECK(rig.c[1].leads && !rig.c[0].leads);
        T_EQ_INT(rig.c[1].terms, 1);
    }
}

T_TEST(lease_lost_answers_keep_the_leader)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    kube_lease_start(rig.c[1].lease);
    run(&rig, 10 * NS_PER_S);
    rig.how = FAKE_LOST_AFTER; /* writes happen, answers do not come */
    rig.cut = 0;
    run(&rig, 6 * NS_PER_S);
    rig.cut = -1;
    run(&rig, 30 * NS_PER_S);
    T_CHECK(rig.c[0].leads && !rig.c[1].leads);
    T_EQ_INT(rig.c[0].terms, 1);
}

T_TEST(lease_taken_by_somebody_else_is_lost_at_once)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, 5 * NS_PER_S);
    T_OK(fakeapi_patch(rig.world.api, KUBE_LEASE, "sys", "lease.example",
                       "spec: {holderIdentity: thief}"));
    run(&rig, 2100 * NS_PER_MS);
    T_CHECK(!rig.c[0].leads);
    T_EQ_STR(kube_lease_holder(rig.c[0].lease), "thief");
}

T_TEST(lease_deleted_is_made_again)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, 5 * NS_PER_S);
    T_OK(fakeapi_delete(rig.world.api, KUBE_LEASE, "sys", "lease.example"));
    run(&rig, 8 * NS_PER_S);
    T_CHECK(rig.c[0].leads);
    T_EQ_INT(rig.c[0].terms, 1);
    T_EQ_STR(spec_str(&rig, "holderIdentity"), "host-0_uuid");
}

T_TEST(lease_both_start_together_and_one_wins)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    kube_lease_start(rig.c[1].lease);
    run(&rig, 60 * NS_PER_S);
    T_EQ_INT(rig.c[0].terms + rig.c[1].terms, 1);
}

T_TEST(lease_wall_clock_jumps_do_not_matter)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    kube_lease_start(rig.c[1].lease);
    run(&rig, 10 * NS_PER_S);
    rig.world.clock.now_wall_ns += 86400ll * (int64_t)NS_PER_S;
    run(&rig, 30 * NS_PER_S);
    rig.world.clock.now_wall_ns -= 2 * 86400ll * (int64_t)NS_PER_S;
    run(&rig, 30 * NS_PER_S);
    T_CHECK(rig.c[0].leads);
    T_EQ_INT(rig.c[0].terms, 1);
    T_EQ_INT(rig.c[1].terms, 0);
}

T_TEST(lease_stalled_leader_knows_it_leads_no_more)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, 5 * NS_PER_S);
    T_CHECK(kube_lease_is_leader(rig.c[0].lease));
    fake_clock_advance(&rig.world.clock, 20 * NS_PER_S); /* the process was frozen */
    loop_step(rig.world.loop, 0);
    T_CHECK(!kube_lease_is_leader(rig.c[0].lease) || rig.c[0].terms == 2);
    T_EQ_INT(rig.c[0].losses, 1);
}

T_TEST(lease_stop_while_the_server_is_silent_ends_all_the_same)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, 5 * NS_PER_S);
    fakeapi_set_latency(rig.world.api, 3600 * NS_PER_S);
    kube_lease_stop(rig.c[0].lease, on_released);
    run(&rig, 2100 * NS_PER_MS);
    T_CHECK(rig.c[0].released && !rig.c[0].leads);
}

T_TEST(lease_random_faults_never_make_two_leaders)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        AUTO(rig) Rig rig;
        Rng rng;

        rng_init(&rng, seed);
        rig_init(&rig);
        kube_lease_start(rig.c[0].lease);
        kube_lease_start(rig.c[1].lease);
        for (int i = 0; i < 60; i++) {
            static const FakeVerdictKind HOW[] = {FAKE_LOST_BEFORE, FAKE_LOST_AFTER, FAKE_NOT_SENT,
                                                  FAKE_STATUS};

            rig.cut = (int)rng_below(&rng, 4) - 1;
            rig.how = HOW[rng_below(&rng, ARRAY_LEN(HOW))];
            fakeapi_set_latency(rig.world.api, rng_below(&rng, 4 * NS_PER_S));
            rig.world.clock.now_wall_ns += (int64_t)rng_below(&rng, 100 * NS_PER_S);
            run(&rig, rng_below(&rng, 8 * NS_PER_S));
        }
        rig.cut = -1;
        fakeapi_set_latency(rig.world.api, NS_PER_MS);
        run(&rig, 60 * NS_PER_S);
        T_CHECK(rig.c[0].leads != rig.c[1].leads);
    }
}

T_TEST(lease_configuration_is_checked)
{
    AUTO(rig) Rig rig;
    KubeLease *lease = NULL;
    KubeLeaseConfig config = {
        .identity = "x", .duration_ns = 5 * NS_PER_S, .renew_ns = 5 * NS_PER_S};
    char identity[KUBE_LEASE_IDENTITY_MAX];
    char again[KUBE_LEASE_IDENTITY_MAX];
    Rng rng;

    rig_init(&rig);
    config.api = rig.world.client;
    T_EQ_INT(kube_lease_new(&config, &lease, NULL), -EINVAL);
    config = (KubeLeaseConfig){.api = rig.world.client, .identity = ""};
    T_EQ_INT(kube_lease_new(&config, &lease, NULL), -EINVAL);
    rng_init(&rng, 1);
    kube_lease_identity_from("host", &rng, identity);
    T_EQ_INT(strlen(identity), 5 + 36);
    T_EQ_STR(str_take(str_from(identity), 5), "host_");
    T_EQ_INT(identity[5 + 14], '4');
    kube_lease_identity(identity);
    kube_lease_identity(again);
    T_CHECK(strcmp(identity, again) != 0);
}

/* Another has taken it: a sign is enough for the first one to look. */
T_TEST(lease_leader_that_suspects_another_looks_at_once)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    T_OK(fakeapi_patch(rig.world.api, KUBE_LEASE, "sys", "lease.example",
                       "{spec: {holderIdentity: other}}"));
    T_CHECK(rig.c[0].leads);
    kube_lease_check(rig.c[0].lease);
    kube_lease_check(rig.c[0].lease); /* once is enough */
    fake_world_run(&rig.world, 10 * NS_PER_MS);
    T_CHECK(!rig.c[0].leads);
    kube_lease_check(rig.c[0].lease); /* nothing to do */
    run(&rig, 60 * NS_PER_S);
    T_CHECK(rig.c[0].leads && rig.c[0].terms == 2);
}

T_TEST(lease_check_of_a_leader_costs_nothing_but_the_request)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    for (int i = 0; i < 100; i++) {
        run(&rig, 100 * NS_PER_MS);
        kube_lease_check(rig.c[0].lease);
    }
    T_CHECK(rig.c[0].leads && rig.c[0].terms == 1);
    T_CHECK(fakeapi_requests(rig.world.api) < 120);
}

/* Gone when it is renewed: made again within a round trip, not after the next retry. */
T_TEST(lease_deleted_under_the_leader_is_looked_at_at_once)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_lease_start(rig.c[0].lease);
    run(&rig, NS_PER_S);
    T_OK(fakeapi_delete(rig.world.api, KUBE_LEASE, "sys", "lease.example"));
    run(&rig, 1100 * NS_PER_MS);
    T_CHECK(fakeapi_get(rig.world.api, KUBE_LEASE, "sys", "lease.example"));
    T_CHECK(rig.c[0].leads);
}
