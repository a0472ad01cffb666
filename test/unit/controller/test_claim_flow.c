/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, pools and Sandboxes over an API server in process: bindings, writes, crashes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/harness/t.h"
#include "test/unit/controller/rig.h"

typedef struct Tally {
    char line[160];
    size_t n;
} Tally;

#define TALLIES_MAX 64

/* Groups the trace by verb and resource. Returns how many of them are writes. */
static size_t tally_writes(Str trace, Tally *tallies, size_t *ret_n)
{
    size_t writes = 0;

    *ret_n = 0;
    while (trace.len > 0) {
        Str line = str_cut(trace, '\n', &trace);
        Str rest;
        Str verb = str_cut(line, ' ', &rest);
        Str resource = str_cut(rest, ' ', &rest);
        char key[160];
        size_t i = 0;

        if (str_eq(verb, STR("GET")) || str_eq(verb, STR("LIST")) || str_eq(verb, STR("WATCH"))) {
            continue;
        }
        snprintf(key, sizeof(key), STR_FMT " " STR_FMT, STR_ARG(verb), STR_ARG(resource));
        while (i < *ret_n && strcmp(tallies[i].line, key) != 0) {
            i++;
        }
        T_CHECK(i < TALLIES_MAX);
        if (i == *ret_n) {
            memcpy(tallies[i].line, key, sizeof(key));
            tallies[i].n = 0;
            (*ret_n)++;
        }
        tallies[i].n++;
        writes++;
    }
    return writes;
}

static void claims(Rig *rig, int n)
{
    char name[16];

    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "k%02d", i);
        rig_claim(rig, name, "");
    }
}

T_TEST(fifty_claims_on_a_pool_of_fifty)
{
    enum { N = 50 };
    AUTO(rig) Rig rig;
    Tally tallies[TALLIES_MAX];
    size_t n;
    size_t writes;

    rig_init(&rig, 1);
    rig_pool(&rig, N, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), N);
    fakeapi_trace_reset(rig.fake.api);
    claims(&rig, N);
    rig_run(&rig, 100 * NS_PER_MS);
    T_EQ_INT(rig_ready_claims(&rig), N);
    rig_run(&rig, 20 * NS_PER_S);
    rig_check_bindings(&rig);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 2 * N);
    writes = tally_writes(fakeapi_trace(rig.fake.api), tallies, &n);
    printf("writes for %d warm claims:\n", N);
    for (size_t i = 0; i < n; i++) {
        printf("  %-32s %4zu  %.2f a claim\n", tallies[i].line, tallies[i].n,
               (double)tallies[i].n / N);
    }
    printf("  %-32s %4zu  %.2f a claim\n", "all", writes, (double)writes / N);
    T_CHECK(writes <= 9 * N);
    fakeapi_trace_reset(rig.fake.api);
    rig_run(&rig, 3600 * NS_PER_S);
    T_EQ_INT(fakeapi_writes(rig.fake.api), 0);
}

/* One at a time, the pool full again before the next: the worst case for pool status. */
T_TEST(single_claims_stay_within_the_budget)
{
    static const struct {
        uint64_t pod_start_ns;
    } rows[] = {{700 * NS_PER_MS}, {2000 * NS_PER_MS}, {5 * NS_PER_S}};

    for (size_t row = 0; row < ARRAY_LEN(rows); row++) {
        AUTO(rig) Rig rig;
        Tally tallies[TALLIES_MAX];
        char name[16];
        size_t writes;
        size_t n;

        rig_init(&rig, 10);
        rig.pod_start_ns = rows[row].pod_start_ns;
        rig_pool(&rig, 3, "OnReplenish");
        rig_start(&rig);
        rig_run(&rig, 10 * NS_PER_S);
        fakeapi_trace_reset(rig.fake.api);
        for (int i = 0; i < 10; i++) {
            snprintf(name, sizeof(name), "k%d", i);
            rig_claim(&rig, name, "");
            rig_run(&rig, 10 * NS_PER_S);
        }
        T_EQ_INT(rig_ready_claims(&rig), 10);
        writes = tally_writes(fakeapi_trace(rig.fake.api), tallies, &n);
        printf("writes a claim, one at a time, Pods start in %.1f s: %.1f\n",
               (double)rows[row].pod_start_ns / NS_PER_S, (double)writes / 10);
        T_CHECK(writes <= (row < 2 ? 8 : 10) * 10);
    }
}

T_TEST(a_warm_claim_takes_two_round_trips)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 2);
    rig_pool(&rig, 1, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    rig_claim(&rig, "k", "");
    rig_run(&rig, 3 * NS_PER_MS); /* watch event, two stages of 1 ms each */
    T_EQ_INT(rig_ready_claims(&rig), 1);
}

T_TEST(more_claims_than_members)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 3);
    rig_pool(&rig, 3, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    claims(&rig, 10);
    rig_run(&rig, 30 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 10);
    rig_check_bindings(&rig);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 13);
}

T_TEST(cold_claims_only)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 4);
    rig_pool(&rig, 0, "OnReplenish");
    rig_start(&rig);
    claims(&rig, 5);
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 5);
    rig_check_bindings(&rig);
}

T_TEST(claims_before_pool_and_template)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 5);
    rig_start(&rig);
    claims(&rig, 3);
    rig_run(&rig, 5 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 0);
    rig_pool(&rig, 1, "OnReplenish");
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 3);
}

/* A claim on a ready pool, the controller lost after its k-th write, another one started: for every
 * k until there are no more writes. */
T_TEST(a_crash_after_any_write_of_an_adoption_heals)
{
    uint64_t k = 1;

    for (;; k++) {
        AUTO(rig) Rig rig;
        char label[32];
        uint64_t before;

        snprintf(label, sizeof(label), "write %d", (int)k);
        t_row(label);
        rig_init(&rig, 6);
        rig_pool(&rig, 2, "OnReplenish");
        rig_start(&rig);
        rig_run(&rig, 10 * NS_PER_S);
        before = rig.n_writes;
        rig.crash_at = before + k;
        rig_claim(&rig, "k1", "");
        rig_claim(&rig, "k2", "");
        rig_run(&rig, 10 * NS_PER_S);
        if (!rig.crashed) {
            break;
        }
        rig_crash(&rig);
        rig_run(&rig, NS_PER_S);
        rig.crash_at = 0;
        rig_start(&rig);
        rig_run(&rig, 20 * NS_PER_S);
        T_EQ_INT(rig_ready_claims(&rig), 2);
        rig_check_bindings(&rig);
        T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 4);
        T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_POD), 4);
        fakeapi_trace_reset(rig.fake.api);
        rig_run(&rig, 600 * NS_PER_S);
        T_EQ_INT(fakeapi_writes(rig.fake.api), 0);
    }
    t_row(NULL);
    T_CHECK(k > 10);
}

T_TEST(recreate_never_leaves_the_pool_empty)
{
    AUTO(rig) Rig rig;
    size_t lowest = 8;

    rig_init(&rig, 7);
    rig_pool(&rig, 8, "Recreate");
    rig_start(&rig);
    rig_run(&rig, 10 * NS_PER_S);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_TEMPLATE, "a", "t",
                       "{spec: {podTemplate: {spec: {containers: [{name: c, image: other}]}}}}"));
    for (int i = 0; i < 300; i++) {
        const json_t *pool;
        size_t ready;

        rig_run(&rig, 100 * NS_PER_MS);
        pool = fakeapi_get(rig.fake.api, KUBE_WARMPOOL, "a", "p");
        ready = (size_t)jx_i64(jx_get(pool, "status", "readyReplicas"), 0);
        lowest = ready < lowest ? ready : lowest;
        T_CHECK(fakeapi_count(rig.fake.api, KUBE_SANDBOX) <= 8 + 2);
    }
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 8);
    T_CHECK(lowest >= 7);
}

T_TEST(a_terminated_claim_takes_its_sandbox_along)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 8);
    rig_pool(&rig, 2, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    rig_claim(&rig, "k", "");
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 3);
    T_OK(fakeapi_delete(rig.fake.api, KUBE_CLAIM, "a", "k"));
    rig_run(&rig, 5 * NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 2);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_POD), 2);
}

T_TEST(expiry_is_kept_to_and_can_be_moved)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 9);
    rig_pool(&rig, 1, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    rig_claim(&rig, "k",
              ", lifecycle: {shutdownTime: '2026-12-01T00:00:20Z', shutdownPolicy: Delete}");
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 1);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_CLAIM, "a", "k",
                       "{spec: {lifecycle: {shutdownTime: '2026-12-01T00:00:40Z'}}}"));
    rig_run(&rig, 20 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 1);
    rig_run(&rig, 6 * NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_CLAIM), 0);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 1);
}

/* Found by the simulator: the template's policy came after the claim had been looked at. */
T_TEST(a_claim_that_may_be_bound_again_hears_of_what_it_waits_for)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 10);
    rig_pool(&rig, 0, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, NS_PER_S);
    rig_claim(&rig, "k", "");
    rig_run(&rig, 5 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 1);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_CLAIM, "a", "k",
                       "{metadata: {annotations: {cofferdam.dev/rebind: 'true'}}}"));
    T_OK(fakeapi_delete(rig.fake.api, KUBE_WARMPOOL, "a", "p"));
    T_OK(fakeapi_delete(rig.fake.api, KUBE_TEMPLATE, "a", "t"));
    T_OK(fakeapi_delete(rig.fake.api, KUBE_SANDBOX, "a", "k"));
    rig_run(&rig, 65 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 0);
    rig_pool(&rig, 0, "OnReplenish");
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(rig_ready_claims(&rig), 1);
}

/* Found by the simulator: the words about a Sandbox that was not the claim's stayed when it went.
 */
T_TEST(an_expired_claim_hears_that_a_lost_sandbox_is_gone)
{
    AUTO(rig) Rig rig;
    const json_t *claim;
    AUTO(mem) char *name = NULL;
    AUTO(mem) char *text = NULL;

    rig_init(&rig, 11);
    rig_pool(&rig, 1, "OnReplenish");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    rig_claim(&rig, "k", "");
    rig_run(&rig, NS_PER_S);
    claim = fakeapi_get(rig.fake.api, KUBE_CLAIM, "a", "k");
    name = xstrdup(jx_get_str(claim, "status", "sandbox", "name").ptr);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_SANDBOX, "a", name,
                       "{metadata: {ownerReferences: null}}"));
    T_OK(fakeapi_patch(
        rig.fake.api, KUBE_CLAIM, "a", "k",
        "{spec: {lifecycle: {shutdownTime: '2026-11-01T00:00:00Z', shutdownPolicy: Retain}}}"));
    rig_run(&rig, 5 * NS_PER_S);
    text = jx_dump_compact(jx_get(fakeapi_get(rig.fake.api, KUBE_CLAIM, "a", "k"), "status"));
    T_CONTAINS(text, "deletion skipped");
    T_OK(fakeapi_delete(rig.fake.api, KUBE_SANDBOX, "a", name));
    rig_run(&rig, 5 * NS_PER_S);
    free(text);
    text = jx_dump_compact(jx_get(fakeapi_get(rig.fake.api, KUBE_CLAIM, "a", "k"), "status"));
    T_CHECK(!strstr(text, "deletion skipped"));
}
