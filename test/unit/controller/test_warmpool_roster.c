/* SPDX-License-Identifier: Apache-2.0 */
/* The roster against a plain count over all Sandboxes, after each of many random changes. */
#include "controller/warmpool/roster.h"

#include <stdio.h>

#include "base/rng.h"
#include "base/timefmt.h"
#include "test/harness/t.h"

#define NAMES 24
#define BASE_S 1796083200ll
#define NS_S 1000000000ll
#define GRACE_NS (30 * NS_S)

typedef struct Model {
    KubeObj *obj[NAMES];
    uint64_t rv;
} Model;

static KubeObj *sandbox(Rng *rng, Model *model, unsigned i, unsigned life)
{
    static const char *const owners[] = {"SandboxWarmPool", "SandboxWarmPool", "SandboxClaim"};
    char text[1024];
    char created[TIMEFMT_SIZE];
    char since[TIMEFMT_SIZE];
    int64_t made = (BASE_S + (int64_t)rng_below(rng, 5)) * NS_S;
    const char *owner = owners[rng_below(rng, 3)];
    KubeObj *obj = NULL;

    timefmt_seconds(made, created);
    timefmt_seconds(made + (int64_t)rng_below(rng, 60) * NS_S, since);
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"s%u\",\"namespace\":\"n\",\"uid\":\"u%u-%u\","
             "\"resourceVersion\":\"%llu\",\"creationTimestamp\":\"%s\",%s\"generation\":%d,"
             "\"labels\":{\"agents.x-k8s.io/sandbox-template-ref-hash\":\"%08d\"},"
             "\"ownerReferences\":[{\"apiVersion\":\"extensions.agents.x-k8s.io/v1beta1\","
             "\"kind\":\"%s\",\"name\":\"p\",\"uid\":\"pool%d\",\"controller\":true}]},"
             "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\","
             "\"lastTransitionTime\":\"%s\"}]}}",
             i, i, life, (unsigned long long)++model->rv, created,
             rng_below(rng, 6) == 0 ? "\"deletionTimestamp\":\"2026-12-01T00:00:00Z\"," : "",
             1 + (int)rng_below(rng, 2), (int)rng_below(rng, 2), owner, (int)rng_below(rng, 2),
             rng_below(rng, 2) ? "True" : "False", since);
    T_OK(kube_obj_from_text(kube_kind(KUBE_SANDBOX), str_from(text), &obj, NULL));
    return obj;
}

typedef struct Count {
    size_t members;
    size_t terminating;
    size_t ready;
    size_t unready;
    size_t lost;
    size_t late;
} Count;

static int64_t since_ns(const KubeObj *obj)
{
    int64_t ns = 0;
    Str text = jnode_str(jnode_at(kube_obj_condition(obj, STR("Ready")), "lastTransitionTime"));

    T_OK(timefmt_parse(text, &ns));
    return ns;
}

static Count count(const Model *model, Str pool)
{
    Count c = {0};

    for (size_t i = 0; i < NAMES; i++) {
        const KubeObj *obj = model->obj[i];
        KubeOwner owner;
        int64_t took;

        if (!obj || !kube_obj_controller(obj, &owner) || !str_eq(owner.uid, pool) ||
            !str_eq(owner.kind, STR("SandboxWarmPool"))) {
            continue;
        }
        c.members++;
        if (kube_obj_deleting(obj)) {
            c.terminating++;
            continue;
        }
        took = since_ns(obj) - kube_obj_created_ns(obj);
        if (kube_obj_condition_is(obj, STR("Ready"), STR("True"))) {
            c.ready++;
            c.late += took > GRACE_NS;
        } else {
            c.unready++;
            c.lost += took > 2 * NS_S;
        }
    }
    return c;
}

/* Each group has its members in the order of giving up, the clocks run in theirs. */
static size_t check_order(const Roster *roster)
{
    size_t n = 0;

    list_foreach (&roster->groups, it) {
        const RosterGroup *group = list_entry(it, RosterGroup, node);
        const Heap *const heaps[] = {&group->ready, &group->unready};

        T_CHECK(group->ready.len + group->unready.len > 0);
        for (size_t h = 0; h < 2; h++) {
            AUTO(heap_walk) HeapWalk walk = heap_walk(heaps[h]);
            int64_t before = INT64_MAX;
            HeapNode *node;

            while ((node = heap_walk_next(&walk))) {
                const RosterMember *member = roster_by_order(node);

                T_CHECK(member->created_ns <= before);
                T_CHECK(member->group == group && member->ready == (h == 0));
                before = member->created_ns;
                n++;
            }
        }
    }
    return n;
}

static void check(const Rosters *rosters, const Model *model, Str pool)
{
    const Roster *roster = rosters_find(rosters, STR("n"), pool);
    Count c = count(model, pool);

    T_EQ_INT(roster != NULL, c.members > 0);
    T_CHECK(!rosters_find(rosters, STR("other"), pool));
    if (roster) {
        T_EQ_INT(roster->n_members, c.members);
        T_EQ_INT(roster->n_terminating, c.terminating);
        T_EQ_INT(roster->n_ready, c.ready);
        T_EQ_INT(roster->n_unready, c.unready);
        T_EQ_INT(roster->overdue.len, c.unready);
        T_EQ_INT(roster->n_lost, c.lost);
        T_EQ_INT(roster->late.len, c.late);
        T_EQ_INT(check_order(roster), c.ready + c.unready);
    }
}

T_TEST(roster_counts_like_a_plain_count)
{
    AUTO(rosters) Rosters *rosters = rosters_new(7);
    Model model = {.rv = 1};
    Rng rng;

    rng_init(&rng, 11);
    for (unsigned step = 0; step < 4000; step++) {
        unsigned i = (unsigned)rng_below(&rng, NAMES);
        KubeObj *before = model.obj[i];
        /* Sometimes the name comes back with another UID in one change. */
        unsigned life = rng_below(&rng, 8) == 0 ? step : 0;

        if (step == 100) {
            rosters_set_grace(rosters, GRACE_NS);
        }
        model.obj[i] = rng_below(&rng, 5) == 0 ? NULL : sandbox(&rng, &model, i, life);
        rosters_apply(rosters, before, model.obj[i]);
        kube_obj_unref(before);
        if (step >= 100) {
            check(rosters, &model, STR("pool0"));
            check(rosters, &model, STR("pool1"));
        }
    }
    for (size_t i = 0; i < NAMES; i++) {
        rosters_apply(rosters, model.obj[i], NULL);
        kube_obj_unref(model.obj[i]);
    }
    T_EQ_INT(rosters_len(rosters), 0);
    T_CHECK(!rosters_find(rosters, STR("n"), STR("pool0")));
}
