/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, views, facts, reservations, coalescing and watch rules: the parts of the engine without
 * I/O. */
#include <stdio.h>

#include "base/mem.h"
#include "controller/engine/coalesce.h"
#include "controller/engine/facts.h"
#include "controller/engine/reserve.h"
#include "controller/keys.h"
#include "kube/meta.h"
#include "test/harness/t.h"
#include "test/unit/controller/world.h"

#define HASHED "'labels':{'agents.x-k8s.io/sandbox-name-hash':'h'}"

/* ---- presence ---- */

T_TEST(view_absent_means_asked)
{
    AUTO(world) World world;
    const KubeObj *obj = NULL;
    View view;

    world_init(&world, 1);
    view = world_view(&world);
    T_EQ_INT(view_lookup(&view, KUBE_POD, STR("a"), STR("p"), &obj), VIEW_UNKNOWN);
    T_EQ_INT(view_lookup(&view, KUBE_SERVICE, STR("a"), STR("p"), &obj), VIEW_UNKNOWN);
    T_EQ_INT(view_lookup(&view, KUBE_PVC, STR("a"), STR("p"), &obj), VIEW_UNKNOWN);
    T_EQ_INT(view_lookup(&view, KUBE_SANDBOX, STR("a"), STR("p"), &obj), VIEW_ABSENT);
    T_EQ_INT(view_lookup(&view, KUBE_NETPOL, STR("a"), STR("p"), &obj), VIEW_ABSENT);
    facts_add_read(&world.facts, KUBE_POD, STR("a"), STR("p"), NULL);
    T_EQ_INT(view_lookup(&view, KUBE_POD, STR("a"), STR("p"), &obj), VIEW_ABSENT);
    T_EQ_INT(view_lookup(&view, KUBE_POD, STR("b"), STR("p"), &obj), VIEW_UNKNOWN);
    T_CHECK(!obj);
    world_put(&world, KUBE_POD, "{'metadata':{'name':'p'," HASHED "}}");
    T_EQ_INT(view_lookup(&view, KUBE_POD, STR("a"), STR("p"), &obj), VIEW_PRESENT);
}

T_TEST(view_prefers_the_newer_of_fact_and_cache)
{
    AUTO(world) World world;
    AUTO(kube_obj) KubeObj *old = NULL;
    AUTO(kube_obj) KubeObj *newer = NULL;
    Err err = ERR_INIT;
    View view;

    world_init(&world, 1);
    world_put(&world, KUBE_POD, "{'metadata':{'name':'p'," HASHED "}}"); /* version 1001 */
    view = world_view(&world);
    T_OK(kube_obj_from_text(kube_kind(KUBE_POD),
                            STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"x\","
                                "\"resourceVersion\":\"7\"}}"),
                            &old, &err));
    T_OK(kube_obj_from_text(kube_kind(KUBE_POD),
                            STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"a\",\"uid\":\"x\","
                                "\"resourceVersion\":\"7000\"}}"),
                            &newer, &err));
    facts_add_read(&world.facts, KUBE_POD, STR("a"), STR("p"), old);
    T_EQ_STR(view_get(&view, KUBE_POD, STR("a"), STR("p"))->rv_text, "1001");
    facts_add_read(&world.facts, KUBE_POD, STR("a"), STR("p"), newer);
    T_EQ_STR(view_get(&view, KUBE_POD, STR("a"), STR("p"))->rv_text, "7000");
}

T_TEST(view_lists_one_namespace_by_name)
{
    AUTO(world) World world;
    AUTO(arena) Arena arena;
    const KubeObj **objs;
    View view;

    world_init(&world, 1);
    arena_init(&arena, 0);
    world_put(&world, KUBE_POD, "{'metadata':{'name':'z'," HASHED "}}");
    world_put(&world, KUBE_POD, "{'metadata':{'name':'a','namespace':'b'," HASHED "}}");
    world_put(&world, KUBE_POD, "{'metadata':{'name':'m'," HASHED "}}");
    view = world_view(&world);
    T_EQ_INT(view_list(&view, VIEW_PODS_BY_SANDBOX_HASH, STR("a"), STR("h"), &arena, &objs), 2);
    T_EQ_STR(objs[0]->name, "m");
    T_EQ_STR(objs[1]->name, "z");
    T_EQ_STR(view_first(&view, VIEW_PODS_BY_SANDBOX_HASH, STR("b"), STR("h"))->name, "a");
    T_CHECK(!view_first(&view, VIEW_PODS_BY_SANDBOX_HASH, STR("b"), STR("other")));
    T_EQ_INT(view_list(&view, VIEW_PODS_BY_SANDBOX_HASH, STR("a"), STR_NULL, &arena, &objs), 0);
}

/* ---- facts ---- */

T_TEST(facts_keep_the_first_failure_and_a_bounded_number_of_answers)
{
    Facts facts;
    PlanAction action = {.verb = PLAN_CREATE, .kind = KUBE_POD, .ns = STR("a"), .name = STR("p")};
    KubeError first = {.http = 403, .reason = KUBE_REASON_FORBIDDEN};
    KubeError second = {.http = 500, .reason = KUBE_REASON_SERVER};
    char name[16];

    facts_init(&facts);
    facts_add_failure(&facts, &action, &first);
    facts_add_failure(&facts, &action, &second);
    T_EQ_INT(facts.failures.len, 1);
    T_EQ_INT(facts_failure(&facts, PLAN_CREATE, KUBE_POD, STR("a"), STR("p"))->error.http, 403);
    T_CHECK(!facts_failure(&facts, PLAN_PATCH, KUBE_POD, STR("a"), STR("p")));
    for (int i = 0; i < FACTS_MAX + 5; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        facts_add_read(&facts, KUBE_POD, STR("a"), str_from(name), NULL);
    }
    T_EQ_INT(facts.reads.len, FACTS_MAX);
    T_CHECK(!facts_read(&facts, KUBE_POD, STR("a"), STR("n0")));
    T_CHECK(facts_read(&facts, KUBE_POD, STR("a"), STR("n100")));
    facts_deinit(&facts);
}

/* ---- reservations, coalescing ---- */

T_TEST(reservations_belong_to_one_holder)
{
    Reservations reservations;

    reservations_init(&reservations, 1);
    T_CHECK(reservations_take(&reservations, STR("u1"), STR("me")));
    T_CHECK(reservations_take(&reservations, STR("u1"), STR("me")));
    T_CHECK(!reservations_take(&reservations, STR("u1"), STR("you")));
    T_CHECK(reservations_take(&reservations, STR("u2"), STR("you")));
    T_EQ_STR(reservations_holder(&reservations, STR("u1")), "me");
    reservations_release_all(&reservations, STR("me"));
    T_CHECK(!reservations_holder(&reservations, STR("u1")).ptr);
    T_EQ_STR(reservations_holder(&reservations, STR("u2")), "you");
    reservations_deinit(&reservations);
}

T_TEST(coalesce_remembers_the_first_wish)
{
    Coalesce coalesce;
    const KubeKey key = {STR("a"), STR("x")};
    const KubeKey other = {STR("ax"), STR("")};

    coalesce_init(&coalesce, 1);
    T_EQ_INT(coalesce_since(&coalesce, key, 5), 5);
    T_EQ_INT(coalesce_since(&coalesce, key, 9), 5);
    T_EQ_INT(coalesce_since(&coalesce, other, 9), 9);
    coalesce_clear(&coalesce, key);
    T_EQ_INT(coalesce_since(&coalesce, key, 11), 11);
    coalesce_deinit(&coalesce);
}

/* ---- plans ---- */

T_TEST(plan_stages_advance_only_when_something_is_in_them)
{
    AUTO(arena) Arena arena;
    Plan plan;

    arena_init(&arena, 0);
    plan_init(&plan, &arena);
    plan_next_stage(&plan);
    plan_read(&plan, KUBE_POD, STR("a"), STR("x"));
    plan_next_stage(&plan);
    plan_next_stage(&plan);
    plan_read(&plan, KUBE_POD, STR("a"), STR("y"));
    T_EQ_INT(plan.actions[0]->stage, 0);
    T_EQ_INT(plan.actions[1]->stage, 1);
    plan_requeue_at(&plan, 50);
    plan_requeue_at(&plan, 70);
    T_EQ_INT(plan.requeue_at_wall_ns, 50);
    plan_requeue_at(&plan, 20);
    T_EQ_INT(plan.requeue_at_wall_ns, 20);
    plan_deinit(&plan);
}

T_TEST(plan_beyond_its_limit_drops_and_says_so)
{
    AUTO(arena) Arena arena;
    Plan plan;

    arena_init(&arena, 0);
    plan_init(&plan, &arena);
    for (int i = 0; i < PLAN_ACTIONS_MAX + 3; i++) {
        plan_create(&plan, KUBE_POD, STR("a"), STR("x"), jx_object_new())->optional = true;
    }
    T_EQ_INT(plan.n_actions, PLAN_ACTIONS_MAX);
    T_CHECK(plan.overflow);
    plan_deinit(&plan);
}

T_TEST(plan_dump_says_everything_that_will_be_done)
{
    AUTO(world) World world;
    AUTO(arena) Arena arena;
    AUTO(mem) char *text = NULL;
    const KubeObj *sandbox;
    PlanAction *patch;
    json_t *body = NULL;
    Plan plan;
    View view;

    world_init(&world, 1);
    world_put(&world, KUBE_SANDBOX, "{'metadata':{'name':'s','uid':'u'},'spec':{}}");
    view = world_view(&world);
    sandbox = view_get(&view, KUBE_SANDBOX, STR("a"), STR("s"));
    arena_init(&arena, 0);
    plan_init(&plan, &arena);
    kube_patch_label(&body, "k", STR("v"));
    patch = plan_patch(&plan, sandbox, body);
    plan_if_rv(&plan, patch, sandbox->rv_text);
    plan_next_stage(&plan);
    plan_delete(&plan, sandbox)->foreground = true;
    plan_event(&plan, sandbox, "Reason", "Doing", "note %d", 7)->warning = true;
    plan_reserve(&plan, STR("u9"));
    plan_fail(&plan, "no %s", "luck");
    text = plan_dump(&plan);
    T_EQ_STR(text, "0 patch Sandbox a/s if-rv=1001 {\"metadata\":{\"labels\":{\"k\":\"v\"}}}\n"
                   "1 delete Sandbox a/s if-uid=u foreground\n"
                   "1 event Sandbox a/s Warning Reason Doing note 7\n"
                   "reserve u9\n"
                   "error no luck\n");
    plan_deinit(&plan);
}

/* ---- watch rules ---- */

typedef struct Keys {
    KeySink sink;
    char text[256];
} Keys;

static void keys_add(KeySink *sink, Str ns, Str name)
{
    Keys *keys = container_of(sink, Keys, sink);
    size_t len = strlen(keys->text);

    (void)snprintf(keys->text + len, sizeof(keys->text) - len, STR_FMT "/" STR_FMT " ", STR_ARG(ns),
                   STR_ARG(name));
}

static const WatchRule *rule_of(const Reconciler *reconciler, KubeKindId kind)
{
    for (size_t i = 0; i < reconciler->n_watches; i++) {
        if (reconciler->watches[i].kind == kind) {
            return &reconciler->watches[i];
        }
    }
    T_FAIL("no rule for this kind");
}

static void check_wakes(World *world, const char *before, const char *after, const char *want)
{
    Keys keys = {.sink = {keys_add}};
    AUTO(kube_obj) KubeObj *a = NULL;
    AUTO(kube_obj) KubeObj *b = NULL;
    View view = world_view(world);
    Err err = ERR_INIT;

    if (before) {
        T_OK(kube_obj_from_text(kube_kind(KUBE_POD), str_from(before), &a, &err));
    }
    if (after) {
        T_OK(kube_obj_from_text(kube_kind(KUBE_POD), str_from(after), &b, &err));
    }
    rule_of(sandbox_reconciler(), KUBE_POD)->map(&view, a, b, &keys.sink);
    T_EQ_STR(keys.text, want);
}

#define POD_OF(owner)                                                                              \
    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"p\",\"ownerReferences\":[{"       \
    "\"apiVersion\":\"agents.x-k8s.io/v1alpha1\",\"kind\":\"Sandbox\",\"name\":\"" owner           \
    "\",\"uid\":\"u\",\"controller\":true}]}}"
#define POD_OF_NOBODY "{\"metadata\":{\"name\":\"s\",\"namespace\":\"a\",\"uid\":\"p\"}}"

T_TEST(sandbox_pods_wake_their_owners_old_and_new)
{
    AUTO(world) World world;

    world_init(&world, 1);
    world_put(&world, KUBE_SANDBOX, "{'metadata':{'name':'s','uid':'u'},'spec':{}}");
    check_wakes(&world, NULL, POD_OF("x"), "a/x ");
    check_wakes(&world, POD_OF("x"), NULL, "a/x ");
    check_wakes(&world, POD_OF("x"), POD_OF("y"), "a/y a/x ");
    check_wakes(&world, NULL, POD_OF_NOBODY, "a/s "); /* it is in the way of Sandbox s */
    check_wakes(&world, POD_OF("x"), POD_OF_NOBODY, "a/x a/s ");
}
