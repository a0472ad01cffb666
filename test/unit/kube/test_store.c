/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/rng.h"
#include "kube/store.h"
#include "test/harness/t.h"

enum {
    BY_APP,
    BY_UID,
};

static Str app_of(const KubeObj *obj)
{
    return kube_obj_label(obj, STR("app"));
}

static Str uid_of(const KubeObj *obj)
{
    return obj->uid.len > 0 ? obj->uid : STR_NULL;
}

static const KubeIndex INDEXES[] = {{"app", app_of}, {"uid", uid_of}};

typedef struct Rig {
    KubeStore *store;
    KubeListener listener;
    StrBuf log;
} Rig;

static void on_change(KubeListener *listener, const KubeStore *store, const KubeChange *change)
{
    Rig *rig = container_of(listener, Rig, listener);
    const KubeObj *obj = change->after ? change->after : change->before;
    const char *verb = !change->before ? "+" : !change->after ? "-" : "~";

    T_CHECK(obj);
    /* The store is as after the change already. */
    T_CHECK(kube_store_get(store, kube_obj_key(obj)) == change->after);
    strbuf_printf(&rig->log, "%s" STR_FMT "@" STR_FMT "%s ",
                  change->origin == KUBE_CHANGE_RESYNC ? "=" : verb, STR_ARG(obj->name),
                  STR_ARG(obj->rv_text), change->origin == KUBE_CHANGE_LIST ? "l" : "");
}

static void rig_init(Rig *rig)
{
    rig->store = kube_store_new(kube_kind(KUBE_POD), INDEXES, ARRAY_LEN(INDEXES), 5);
    rig->listener = (KubeListener){.fn = on_change};
    strbuf_init(&rig->log, 1u << 20);
    kube_store_listen(rig->store, &rig->listener);
}

static void rig_deinit(Rig *rig)
{
    kube_store_unlisten(&rig->listener);
    kube_store_free(rig->store);
    strbuf_deinit(&rig->log);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

static KubeObj *pod(const char *name, const char *uid, unsigned rv, const char *app)
{
    KubeObj *obj = NULL;
    char text[512];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"%s\","
             "\"resourceVersion\":\"%u\"%s%s%s}}",
             name, uid, rv, app ? ",\"labels\":{\"app\":\"" : "", app ? app : "", app ? "\"}" : "");
    T_OK(kube_obj_from_text(kube_kind(KUBE_POD), str_from(text), &obj, NULL));
    return obj;
}

static int upsert(Rig *rig, const char *name, const char *uid, unsigned rv, const char *app,
                  KubeChangeOrigin origin)
{
    AUTO(kube_obj) KubeObj *obj = pod(name, uid, rv, app);

    return kube_store_upsert(rig->store, obj, origin);
}

static void deleted(Rig *rig, const char *name, const char *uid, unsigned rv)
{
    AUTO(kube_obj) KubeObj *obj = pod(name, uid, rv, NULL);

    kube_store_deleted(rig->store, obj);
}

static KubeKey key(const char *name)
{
    return (KubeKey){STR("n"), str_from(name)};
}

T_TEST(store_newer_versions_replace_and_older_do_not)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "u", 5, NULL, KUBE_CHANGE_LIVE));
    T_EQ_INT(upsert(&rig, "a", "u", 5, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_SAME);
    T_EQ_INT(upsert(&rig, "a", "u", 4, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_OLD);
    T_OK(upsert(&rig, "a", "u", 100, NULL, KUBE_CHANGE_LIVE));
    T_EQ_INT(upsert(&rig, "a", "u", 99, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_OLD);
    T_EQ_STR(strbuf_str(&rig.log), "+a@5 ~a@100 ");
    T_EQ_INT(kube_store_len(rig.store), 1);
    T_EQ_INT(kube_store_get(rig.store, key("a"))->rv, 100);
    T_CHECK(!kube_store_get(rig.store, key("b")));
}

T_TEST(store_another_uid_is_a_delete_and_an_add)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "u1", 5, "x", KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "a", "u2", 9, "x", KUBE_CHANGE_LIVE));
    T_EQ_INT(upsert(&rig, "a", "u1", 6, "x", KUBE_CHANGE_LIVE), KUBE_STORE_OLD);
    deleted(&rig, "a", "u1", 8); /* of the former: late and harmless */
    T_EQ_STR(strbuf_str(&rig.log), "+a@5 -a@5 +a@9 ");
    T_EQ_INT(kube_store_count(rig.store, BY_APP, STR("x")), 1);
}

T_TEST(store_tombstones_stop_late_events)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "u1", 5, NULL, KUBE_CHANGE_LIVE));
    kube_store_forget(rig.store, key("a"), STR("u1"));
    T_EQ_INT(upsert(&rig, "a", "u1", 6, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_DEAD);
    T_EQ_INT(upsert(&rig, "a", "u1", 6, NULL, KUBE_CHANGE_LIST), KUBE_STORE_DEAD);
    T_OK(upsert(&rig, "a", "u2", 8, NULL, KUBE_CHANGE_LIVE)); /* a new one of that name */
    kube_store_forget(rig.store, key("a"), STR("u9"));        /* not this one */
    T_EQ_INT(kube_store_len(rig.store), 1);
    deleted(&rig, "a", "u1", 7);
    T_EQ_INT(kube_store_len(rig.store), 1);
    T_EQ_STR(strbuf_str(&rig.log), "+a@5 -a@5 +a@8 ");
}

T_TEST(store_object_that_left_the_selection_may_come_back)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "u1", 5, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "a", "u1", 7, NULL,
                KUBE_CHANGE_LIVE)); /* our write that takes the label off */
    deleted(&rig, "a", "u1", 7);
    T_EQ_INT(upsert(&rig, "a", "u1", 6, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_DEAD);
    T_EQ_INT(upsert(&rig, "a", "u1", 7, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_DEAD);
    T_OK(upsert(&rig, "a", "u1", 9, NULL, KUBE_CHANGE_LIVE));
    deleted(&rig, "a", "u1", 8); /* of the time before */
    T_EQ_STR(strbuf_str(&rig.log), "+a@5 ~a@7 -a@7 +a@9 ");
    kube_store_forget(rig.store, key("a"), STR("u1"));
    T_EQ_INT(upsert(&rig, "a", "u1", 99, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_DEAD);
}

T_TEST(store_tombstones_are_bounded)
{
    AUTO(rig) Rig rig;
    char uid[32];

    rig_init(&rig);
    for (int i = 0; i <= KUBE_STORE_TOMBSTONES_MAX; i++) {
        snprintf(uid, sizeof(uid), "u%d", i);
        kube_store_forget(rig.store, key("a"), str_from(uid));
    }
    T_EQ_INT(upsert(&rig, "a", "u1", 5, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_DEAD);
    T_OK(upsert(&rig, "a", "u0", 5, NULL, KUBE_CHANGE_LIVE)); /* the oldest was forgotten */
}

T_TEST(store_relist_sweeps_what_is_gone)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "kept", "1", 5, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "gone", "2", 6, NULL, KUBE_CHANGE_LIVE));
    strbuf_clear(&rig.log);
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "kept", "1", 5, NULL, KUBE_CHANGE_LIST), KUBE_STORE_SAME);
    T_OK(upsert(&rig, "new", "3", 9, NULL, KUBE_CHANGE_LIST));
    /* our own write while the list was on its way */
    T_OK(upsert(&rig, "written", "4", 12, NULL, KUBE_CHANGE_LIVE));
    kube_store_relist_end(rig.store, 10);
    T_EQ_STR(strbuf_str(&rig.log), "+new@9l +written@12 -gone@6l ");
}

/* An answer that was on its way while the object went away unseen. */
T_TEST(store_late_answers_do_not_outlive_a_list)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    kube_store_relist_begin(rig.store);
    T_OK(upsert(&rig, "during", "1", 5, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "newer", "2", 12, NULL, KUBE_CHANGE_LIVE));
    kube_store_relist_end(rig.store, 10);
    T_EQ_INT(upsert(&rig, "after", "3", 6, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_DEAD);
    T_OK(upsert(&rig, "event", "4", 11, NULL, KUBE_CHANGE_LIVE));
    T_EQ_STR(strbuf_str(&rig.log), "+during@5 +newer@12 -during@5l +event@11 ");
}

T_TEST(store_relist_from_an_old_revision_loses_nothing)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "1", 50, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "b", "2", 60, NULL, KUBE_CHANGE_LIVE));
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 40, NULL, KUBE_CHANGE_LIST), KUBE_STORE_OLD);
    kube_store_relist_end(rig.store, 45);
    T_EQ_INT(kube_store_len(rig.store), 2);
    T_EQ_INT(kube_store_get(rig.store, key("a"))->rv, 50);
}

T_TEST(store_indexes_follow_values_in_order_of_arrival)
{
    AUTO(rig) Rig rig;
    KubeStoreIter it;
    const KubeObj *obj;
    StrBuf names = STRBUF_INIT(100);

    rig_init(&rig);
    T_OK(upsert(&rig, "c", "1", 1, "x", KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "a", "2", 2, "x", KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "b", "3", 3, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "d", "4", 4, "y", KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "c", "1", 5, "x", KUBE_CHANGE_LIVE)); /* keeps its place */
    T_OK(upsert(&rig, "d", "4", 6, "x", KUBE_CHANGE_LIVE));
    for (it = kube_store_find(rig.store, BY_APP, STR("x")); (obj = kube_store_next(&it));) {
        strbuf_append(&names, obj->name);
    }
    T_EQ_STR(strbuf_str(&names), "cad");
    T_EQ_INT(kube_store_count(rig.store, BY_APP, STR("x")), 3);
    T_EQ_INT(kube_store_count(rig.store, BY_APP, STR("y")), 0);
    T_EQ_INT(kube_store_count(rig.store, BY_APP, STR_NULL), 0);
    T_EQ_STR(kube_store_first(rig.store, BY_UID, STR("3"))->name, "b");
    T_CHECK(!kube_store_first(rig.store, BY_UID, STR("9")));
    T_OK(upsert(&rig, "a", "2", 7, NULL, KUBE_CHANGE_LIVE));
    deleted(&rig, "c", "1", 8);
    T_EQ_INT(kube_store_count(rig.store, BY_APP, STR("x")), 1);
    strbuf_clear(&names);
    for (it = kube_store_all(rig.store); (obj = kube_store_next(&it));) {
        strbuf_append(&names, obj->name);
    }
    T_EQ_STR(strbuf_str(&names), "abd");
    strbuf_deinit(&names);
}

T_TEST(store_resync_tells_all)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "b", "1", 1, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "a", "2", 2, NULL, KUBE_CHANGE_LIVE));
    strbuf_clear(&rig.log);
    kube_store_resync(rig.store);
    T_EQ_STR(strbuf_str(&rig.log), "=b@1 =a@2 ");
}

/* Many objects, random changes, against a plain model: last version per name. */
T_TEST(store_agrees_with_a_model)
{
    AUTO(rig) Rig rig;
    unsigned model[50] = {0};
    const char *const apps[] = {"x", "y", NULL};
    Rng rng;
    size_t live = 0;

    rig_init(&rig);
    rng_init(&rng, 11);
    for (unsigned rv = 1; rv < 3000; rv++) {
        char name[24];
        unsigned i = (unsigned)rng_below(&rng, 50);
        bool remove = rng_below(&rng, 4) == 0;

        snprintf(name, sizeof(name), "p%u", i);
        if (remove) {
            deleted(&rig, name, name, rv);
        } else {
            T_OK(upsert(&rig, name, name, rv, apps[rng_below(&rng, 3)], KUBE_CHANGE_LIVE));
        }
        live += (size_t)(model[i] == 0 && !remove) - (size_t)(model[i] != 0 && remove);
        model[i] = remove ? 0 : rv;
        T_EQ_INT(kube_store_len(rig.store), live);
        T_EQ_INT(kube_store_get(rig.store, key(name)) ? kube_store_get(rig.store, key(name))->rv
                                                      : 0,
                 model[i]);
    }
}

/* ---- versions that go back ---- */

T_TEST(store_relist_tells_when_versions_went_back)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "1", 9, NULL, KUBE_CHANGE_LIVE));
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 5, NULL, KUBE_CHANGE_LIST), KUBE_STORE_OLD);
    T_EQ_INT(kube_store_relist_end(rig.store, 8), 0); /* a list from before 9 */
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 5, NULL, KUBE_CHANGE_LIST), KUBE_STORE_OLD);
    T_EQ_INT(kube_store_relist_end(rig.store, 9), KUBE_STORE_WENT_BACK);
    kube_store_relist_begin(rig.store); /* streamed: its own later event explains it */
    T_EQ_INT(upsert(&rig, "a", "1", 5, NULL, KUBE_CHANGE_LIST), KUBE_STORE_OLD);
    T_EQ_INT(upsert(&rig, "a", "1", 9, NULL, KUBE_CHANGE_LIST), KUBE_STORE_SAME);
    T_EQ_INT(kube_store_relist_end(rig.store, 9), 0);
}

T_TEST(store_relist_tells_when_the_dead_rise)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIVE));
    kube_store_forget(rig.store, key("a"), STR("1"));
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIST), KUBE_STORE_DEAD);
    T_EQ_INT(kube_store_relist_end(rig.store, 8), 0); /* perhaps it went after that */
    deleted(&rig, "a", "1", 9);
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIST), KUBE_STORE_DEAD);
    T_EQ_INT(kube_store_relist_end(rig.store, 9), KUBE_STORE_WENT_BACK);
}

T_TEST(store_rewound_takes_what_comes)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "1", 9, "x", KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "b", "2", 8, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "c", "3", 7, NULL, KUBE_CHANGE_LIVE));
    T_OK(upsert(&rig, "e", "5", 7, NULL, KUBE_CHANGE_LIVE));
    kube_store_forget(rig.store, key("d"), STR("4"));
    kube_store_rewind(rig.store);
    strbuf_clear(&rig.log);
    kube_store_relist_begin(rig.store);
    T_OK(upsert(&rig, "a", "1", 2, "y", KUBE_CHANGE_LIST));
    T_OK(upsert(&rig, "c", "3", 7, NULL, KUBE_CHANGE_LIST)); /* the same number means nothing */
    T_OK(upsert(&rig, "d", "4", 1, NULL, KUBE_CHANGE_LIST));
    T_OK(upsert(&rig, "e", "6", 3, NULL, KUBE_CHANGE_LIST));
    T_EQ_INT(kube_store_relist_end(rig.store, 4), 0);
    T_EQ_STR(strbuf_str(&rig.log), "~a@2l ~c@7l +d@1l -e@7l +e@3l -b@8l ");
    T_EQ_INT(kube_store_count(rig.store, BY_APP, STR("y")), 1);
    T_EQ_INT(upsert(&rig, "a", "1", 1, NULL, KUBE_CHANGE_LIVE), KUBE_STORE_OLD);
}

T_TEST(store_takes_back_what_lives_after_all)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIVE));
    kube_store_forget(rig.store, key("a"), STR("1"));
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIST), KUBE_STORE_DEAD);
    T_EQ_INT(kube_store_relist_end(rig.store, 8), 0);
    T_CHECK(kube_store_doubts(rig.store));
    kube_store_relist_begin(rig.store);
    T_OK(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIST));
    T_EQ_INT(kube_store_relist_end(rig.store, 9), 0);
    T_CHECK(!kube_store_doubts(rig.store) && kube_store_get(rig.store, key("a")));
}

T_TEST(store_doubt_ends_with_the_event_that_explains_it)
{
    AUTO(rig) Rig rig;

    rig_init(&rig);
    T_OK(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIVE));
    kube_store_forget(rig.store, key("a"), STR("1"));
    kube_store_relist_begin(rig.store);
    T_EQ_INT(upsert(&rig, "a", "1", 3, NULL, KUBE_CHANGE_LIST), KUBE_STORE_DEAD);
    T_EQ_INT(kube_store_relist_end(rig.store, 8), 0);
    deleted(&rig, "a", "1", 9);
    T_CHECK(!kube_store_doubts(rig.store));
    kube_store_relist_begin(rig.store);
    T_EQ_INT(kube_store_relist_end(rig.store, 10), 0);
    T_CHECK(!kube_store_get(rig.store, key("a")));
}
