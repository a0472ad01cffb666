/* SPDX-License-Identifier: Apache-2.0 */
/* The index of free members: who is in it, who is picked, and how slots move. */
#include "controller/warmpool/pools.h"

#include <stdio.h>

#include "controller/warmpool/member.h"
#include "test/harness/t.h"
#include "test/unit/controller/fixture.h"

static const KubeObj *pool_of(const Fixture *f)
{
    return view_get(&f->view, KUBE_WARMPOOL, STR("a"), STR("p"));
}

static PoolPick pick(const Fixture *f, const KubeObj **ret_member)
{
    *ret_member = NULL;
    return pools_pick(&f->view, pool_of(f), NULL, ret_member);
}

static Str picked_name(const Fixture *f)
{
    const KubeObj *member;

    return pick(f, &member) >= POOL_PICK_UNREADY ? member->name : STR("");
}

T_TEST(empty_pool_offers_nothing)
{
    AUTO(fixture) Fixture f;
    const KubeObj *member;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    T_EQ_INT(pick(&f, &member), POOL_PICK_NONE);
}

T_TEST(ready_before_unready_before_pending)
{
    AUTO(fixture) Fixture f;
    const KubeObj *member;

    fixture_init(&f);
    fixture_pool(&f, 3, "");
    fixture_member(&f, "m1", NULL);
    T_EQ_INT(pick(&f, &member), POOL_PICK_PENDING);
    fixture_put(&f, KUBE_SANDBOX,
                "{'metadata':{'name':'m2','labels':{'agents.x-k8s.io/warm-pool-sandbox':'x',"
                "'agents.x-k8s.io/sandbox-template-ref-hash':'y'},'ownerReferences':[{'apiVersion':"
                "'extensions.agents.x-k8s.io/v1alpha1','kind':'SandboxWarmPool','name':'p',"
                "'uid':'uid-p','controller':true}]},'spec':{},'status':{'podIPs':['10.0.0.1']}}");
    T_EQ_INT(pick(&f, &member), POOL_PICK_UNREADY);
    T_EQ_STR(member->name, "m2");
    fixture_member(&f, "m3", "n1");
    T_EQ_INT(pick(&f, &member), POOL_PICK_READY);
    T_EQ_STR(member->name, "m3");
    T_EQ_INT(pools_n_members(f.pools), 3);
}

T_TEST(fullest_node_gives_first_then_first_come)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 5, "");
    fixture_member(&f, "m1", "");
    fixture_member(&f, "m2", "n1");
    fixture_member(&f, "m3", "n2");
    fixture_member(&f, "m4", "n2");
    fixture_member(&f, "m5", "n1");
    fixture_member(&f, "m6", "n2");
    T_EQ_STR(picked_name(&f), "m3");
    fixture_delete(&f, KUBE_SANDBOX, "m3");
    T_EQ_STR(picked_name(&f), "m2"); /* two nodes with two each: the one that came first */
    fixture_delete(&f, KUBE_SANDBOX, "m2");
    T_EQ_STR(picked_name(&f), "m4");
    fixture_delete(&f, KUBE_SANDBOX, "m4");
    T_EQ_STR(picked_name(&f), "m5");
    fixture_delete(&f, KUBE_SANDBOX, "m5");
    fixture_delete(&f, KUBE_SANDBOX, "m6");
    T_EQ_STR(picked_name(&f), "m1"); /* unknown node last */
    fixture_delete(&f, KUBE_SANDBOX, "m1");
    T_EQ_STR(picked_name(&f), "");
    T_EQ_INT(pools_n_members(f.pools), 0);
}

T_TEST(reserved_members_are_stepped_over)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 3, "");
    fixture_member(&f, "m1", "n1");
    fixture_member(&f, "m2", "n1");
    fixture_member(&f, "m3", "n2");
    T_CHECK(reservations_take(&f.reservations, STR("uid-m1"), STR("other")));
    T_EQ_STR(picked_name(&f), "m2"); /* both nodes have one left: n1's came first */
    T_CHECK(reservations_take(&f.reservations, STR("uid-m2"), STR("other")));
    T_EQ_STR(picked_name(&f), "m3");
    T_CHECK(reservations_take(&f.reservations, STR("uid-m3"), STR("self")));
    T_EQ_STR(picked_name(&f), "m3"); /* one's own reservation is no obstacle */
    reservations_release_all(&f.reservations, STR("other"));
    T_EQ_STR(picked_name(&f), "m1");
}

T_TEST(members_whose_pod_is_going_are_stepped_over)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_member(&f, "m1", "n1");
    fixture_member(&f, "m2", "n1");
    fixture_put(&f, KUBE_POD,
                "{'metadata':{'name':'m1','deletionTimestamp':'2026-11-30T11:59:59Z'}}");
    T_EQ_STR(picked_name(&f), "m2");
}

T_TEST(members_whose_pod_is_marked_for_disruption_are_stepped_over)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    fixture_member(&f, "m1", "n1");
    fixture_member(&f, "m2", "n1");
    fixture_put(&f, KUBE_POD,
                "{'metadata':{'name':'m1','labels':{}},'status':{'conditions':[{'type':'"
                "DisruptionTarget','status':'True'}]}}");
    T_EQ_STR(picked_name(&f), "m2");
}

T_TEST(members_leave_when_they_cannot_be_claimed)
{
    static const struct {
        const char *label, *metadata, *status;
    } rows[] = {
        {"deleting", "'deletionTimestamp':'2026-01-01T00:00:00Z',", "{}"},
        {"finished", "", "{'conditions':[{'type':'Finished','status':'True'}]}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fixture) Fixture f;

        t_row(rows[i].label);
        fixture_init(&f);
        fixture_pool(&f, 1, "");
        fixture_member(&f, "m1", "n1");
        T_EQ_INT(pools_n_members(f.pools), 1);
        fixture_put(&f, KUBE_SANDBOX,
                    "{'metadata':{'name':'m1',%s'labels':{'agents.x-k8s.io/warm-pool-sandbox':'x',"
                    "'agents.x-k8s.io/sandbox-template-ref-hash':'y'},'ownerReferences':"
                    "[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxWarmPool',"
                    "'name':'p','uid':'uid-p','controller':true}]},'spec':{},'status':%s}",
                    rows[i].metadata, rows[i].status);
        T_EQ_INT(pools_n_members(f.pools), 0);
    }
}

/* A ready member with these labels on this node, whatever it was before. */
static void change_member(Fixture *f, const char *name, const char *hash, const char *pool,
                          const char *node)
{
    fixture_put(f, KUBE_SANDBOX,
                "{'metadata':{'name':'%s','labels':{'agents.x-k8s.io/warm-pool-sandbox':'x',"
                "'agents.x-k8s.io/sandbox-template-ref-hash':'r',"
                "'agents.x-k8s.io/sandbox-template-hash':'%s'},'ownerReferences':[{'apiVersion':"
                "'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxWarmPool','name':'p','uid':"
                "'%s','controller':true}]},'spec':{},'status':{'podIPs':['10.0.0.1'],'nodeName':"
                "'%s','conditions':[{'type':'Ready','status':'True'}]}}",
                name, hash, pool, node);
}

T_TEST(members_move_when_what_sorts_them_changes)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 3, "");
    change_member(&f, "m1", "h", "uid-p", "n1");
    change_member(&f, "m2", "h", "uid-p", "n1");
    change_member(&f, "m3", "h", "uid-p", "n2");
    T_EQ_STR(picked_name(&f), "m1");
    change_member(&f, "m1", "h", "uid-p", "n1"); /* nothing new: it keeps its turn */
    T_EQ_STR(picked_name(&f), "m1");
    change_member(&f, "m1", "h", "uid-p", "n2"); /* another node: now that is the fuller one */
    T_EQ_STR(picked_name(&f), "m3");
    change_member(&f, "m3", "h2", "uid-p", "n2"); /* other labels: a group of its own */
    T_EQ_STR(picked_name(&f), "m2");
    change_member(&f, "m2", "h", "uid-q", "n1"); /* another pool */
    T_EQ_STR(picked_name(&f), "m1");
    T_EQ_INT(pools_n_members(f.pools), 3);
}

T_TEST(what_the_stores_have_already_is_taken_in)
{
    AUTO(fixture) Fixture f;
    AUTO(pools) Pools *late = pools_new(9);

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    pools_attach(late, f.stores[KUBE_SANDBOX], f.stores[KUBE_WARMPOOL]);
    f.view.pools = late;
    T_EQ_STR(picked_name(&f), "m1");
    T_EQ_INT(pools_next_slot(late, pool_of(&f)), pools_next_slot(f.pools, pool_of(&f)));
    late = pools_free(late);
}

T_TEST(a_pool_that_is_not_known_offers_nothing)
{
    AUTO(fixture) Fixture f;
    AUTO(pools) Pools *blank = pools_new(9);
    const KubeObj *member;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    f.view.pools = blank;
    T_EQ_INT(pick(&f, &member), POOL_PICK_NONE);
    T_EQ_INT(pools_next_slot(blank, pool_of(&f)), pool_of(&f)->rv);
    T_CHECK(!pools_free(NULL) && !template_cache_free(NULL));
}

T_TEST(foreign_sandboxes_are_never_members)
{
    static const char *const owners[] = {
        "[]",
        "[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxClaim','name':'p',"
        "'uid':'uid-p','controller':true}]",
        "[{'apiVersion':'other.io/v1','kind':'SandboxWarmPool','name':'p','uid':'uid-p',"
        "'controller':true}]",
        "[{'apiVersion':'extensions.agents.x-k8s.io/v1beta1','kind':'SandboxWarmPool','name':'p',"
        "'uid':'uid-p'}]",
    };
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
        t_row(owners[i]);
        fixture_put(&f, KUBE_SANDBOX,
                    "{'metadata':{'name':'m%zu','labels':{'agents.x-k8s.io/warm-pool-sandbox':'x',"
                    "'agents.x-k8s.io/sandbox-template-ref-hash':'y'},'ownerReferences':%s},"
                    "'spec':{},'status':{'podIPs':['10.0.0.1']}}",
                    i, owners[i]);
        T_EQ_INT(pools_n_members(f.pools), 0);
    }
}

T_TEST(a_pool_made_anew_under_an_old_name_starts_empty)
{
    AUTO(fixture) Fixture f;

    fixture_init(&f);
    fixture_pool(&f, 1, "");
    fixture_member(&f, "m1", "n1");
    fixture_delete(&f, KUBE_WARMPOOL, "p");
    fixture_put(&f, KUBE_WARMPOOL,
                "{'metadata':{'name':'p','uid':'uid-p2'},'spec':{'sandboxTemplateRef':"
                "{'name':'t'}}}");
    T_EQ_STR(picked_name(&f), "");
}

T_TEST(stale_members_are_left_out_on_request)
{
    AUTO(fixture) Fixture f;
    const KubeObj *member = NULL;
    const KubeObj *template;

    fixture_init(&f);
    fixture_pool(&f, 2, "Recreate");
    fixture_member(&f, "old", "n1");
    template = fixture_put(&f, KUBE_TEMPLATE,
                           "{'metadata':{'name':'t','generation':2},'spec':{'podTemplate':{'spec':"
                           "{'containers':[{'name':'c','image':'i:2'}]}}}}");
    T_EQ_INT(pools_pick(&f.view, pool_of(&f), template, &member), POOL_PICK_NONE);
    T_EQ_INT(pools_pick(&f.view, pool_of(&f), NULL, &member), POOL_PICK_READY);
    fixture_member(&f, "new", "n1");
    T_EQ_INT(pools_pick(&f.view, pool_of(&f), template, &member), POOL_PICK_READY);
    T_EQ_STR(member->name, "new");
}

T_TEST(slots_begin_at_the_pools_version_and_follow_the_names)
{
    AUTO(fixture) Fixture f;
    char name[MEMBER_NAME_MAX + 1];
    uint64_t first;

    fixture_init(&f);
    fixture_pool(&f, 2, "");
    first = pool_of(&f)->rv;
    T_EQ_INT(pools_next_slot(f.pools, pool_of(&f)), first);
    member_name(STR("p"), STR("uid-p"), first + 1, name);
    fixture_member(&f, name, NULL);
    T_EQ_INT(pools_next_slot(f.pools, pool_of(&f)), first); /* the hole is filled first */
    member_name(STR("p"), STR("uid-p"), first, name);
    fixture_member(&f, name, NULL);
    T_EQ_INT(pools_next_slot(f.pools, pool_of(&f)), first + 2);
    fixture_delete(&f, KUBE_SANDBOX, name);
    T_EQ_INT(pools_next_slot(f.pools, pool_of(&f)), first + 2); /* a name is never used again */
}

T_TEST(member_names_are_labels_and_differ)
{
    char a[MEMBER_NAME_MAX + 1];
    char b[MEMBER_NAME_MAX + 1];
    char long_name[200];

    member_name(STR("pool"), STR("u1"), 1, a);
    member_name(STR("pool"), STR("u1"), 1, b);
    T_EQ_STR(a, b);
    T_EQ_INT(strlen(a), 4 + 1 + 8);
    T_CHECK(str_starts(str_from(a), STR("pool-")));
    member_name(STR("pool"), STR("u1"), 2, b);
    T_CHECK(strcmp(a, b) != 0);
    member_name(STR("pool"), STR("u2"), 1, b);
    T_CHECK(strcmp(a, b) != 0);
    memset(long_name, 'x', sizeof(long_name));
    member_name((Str){long_name, sizeof(long_name)}, STR("u"), 1, a);
    T_EQ_INT(strlen(a), MEMBER_NAME_MAX);
}

/* Many members over few nodes, drained to the end: each is offered once, none twice. */
T_TEST(a_pool_can_be_drained)
{
    enum { N = 300 };
    AUTO(fixture) Fixture f;
    bool seen[N] = {0};
    char name[16];
    char node[16];

    fixture_init(&f);
    fixture_pool(&f, N, "");
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof(name), "m%03d", i);
        snprintf(node, sizeof(node), "n%d", i * i % 7);
        fixture_member(&f, name, node);
    }
    for (int i = 0; i < N; i++) {
        const KubeObj *member;
        uint64_t number = 0;

        T_EQ_INT(pick(&f, &member), POOL_PICK_READY);
        T_OK(str_to_u64(str_drop(member->name, 1), &number));
        T_CHECK(number < N && !seen[number]);
        seen[number] = true;
        snprintf(name, sizeof(name), "m%03d", (int)number);
        fixture_delete(&f, KUBE_SANDBOX, name);
    }
    T_EQ_STR(picked_name(&f), "");
}
