/* SPDX-License-Identifier: Apache-2.0 */
/* Informers against the API server model: lists, watches, healing. */
#include <errno.h>
#include <stdio.h>

#include "base/rng.h"
#include "kube/informer.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"

typedef struct Rig {
    FakeWorld world;
    KubeInformer *pods;
    KubeListener listener;
    StrBuf log;
    int states;
    KubeReason last;
    FakeVerdict verdict; /* for what the hook catches */
    int strikes;         /* requests it still catches */
    bool strike_watches;
    bool streams;
} Rig;

static void on_change(KubeListener *listener, const KubeStore *store, const KubeChange *change)
{
    Rig *rig = container_of(listener, Rig, listener);
    const KubeObj *obj = change->after ? change->after : change->before;

    UNUSED(store);
    strbuf_printf(&rig->log, "%c" STR_FMT " ",
                  change->origin == KUBE_CHANGE_RESYNC ? '='
                  : !change->before                    ? '+'
                  : !change->after                     ? '-'
                                                       : '~',
                  STR_ARG(obj->name));
}

static void on_state(KubeInformer *informer, const KubeError *error, void *ctx)
{
    Rig *rig = ctx;

    UNUSED(informer);
    rig->states++;
    rig->last = error ? error->reason : KUBE_REASON_NONE;
}

static FakeVerdict hook(void *ctx, const FakeCall *call)
{
    Rig *rig = ctx;

    if (call->method == KUBE_GET && call->watch == rig->strike_watches && rig->strikes > 0) {
        rig->strikes--;
        return rig->verdict;
    }
    return (FakeVerdict){.kind = FAKE_PASS};
}

static void rig_init_with(Rig *rig, const char *selector, uint64_t resync_ns, bool streams)
{
    *rig = (Rig){.listener = {.fn = on_change}, .streams = streams};
    fake_world_init(&rig->world, 1);
    fakeapi_set_hook(rig->world.api, hook, rig);
    strbuf_init(&rig->log, 1u << 20);
    rig->pods = kube_informer_new(&(KubeInformerConfig){.api = rig->world.client,
                                                        .kind = kube_kind(KUBE_POD),
                                                        .label_selector = selector,
                                                        .stream = streams,
                                                        .seed = 4,
                                                        .limit = 2,
                                                        .resync_ns = resync_ns,
                                                        .on_state = on_state,
                                                        .ctx = rig});
    kube_store_listen(kube_informer_store(rig->pods), &rig->listener);
}

static void rig_init(Rig *rig, const char *selector, uint64_t resync_ns)
{
    rig_init_with(rig, selector, resync_ns, false);
}

static void rig_deinit(Rig *rig)
{
    kube_store_unlisten(&rig->listener);
    kube_informer_free(rig->pods);
    strbuf_deinit(&rig->log);
    fake_world_deinit(&rig->world);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

static void pod(Rig *rig, const char *name, const char *app)
{
    char text[256];

    snprintf(text, sizeof(text),
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: n, labels: {app: %s}}}",
             name, app);
    T_OK(fakeapi_create(rig->world.api, text));
}

static void run(Rig *rig, uint64_t ns)
{
    strbuf_clear(&rig->log);
    fake_world_run(&rig->world, ns);
}

/* The store has exactly what the server has, in content and version. */
static void check_equal(void *ctx, const json_t *object)
{
    Rig *rig = ctx;
    Str name = jx_get_str(object, "metadata", "name");
    const KubeObj *obj = kube_store_get(kube_informer_store(rig->pods), (KubeKey){STR("n"), name});

    T_CHECK(obj);
    T_EQ_STR(obj->rv_text, jx_get_str(object, "metadata", "resourceVersion"));
}

static void check_in_sync(Rig *rig)
{
    T_EQ_INT(kube_store_len(kube_informer_store(rig->pods)),
             fakeapi_count(rig->world.api, KUBE_POD));
    fakeapi_each(rig->world.api, KUBE_POD, check_equal, rig);
}

T_TEST(informer_lists_then_follows)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init(&rig, NULL, 0);
    pod(&rig, "a", "x");
    pod(&rig, "b", "x");
    pod(&rig, "c", "x");
    T_CHECK(!kube_informer_synced(rig.pods));
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    T_CHECK(kube_informer_synced(rig.pods));
    T_EQ_INT(rig.states, 1);
    T_EQ_STR(strbuf_str(&rig.log), "+a +b +c ");
    pod(&rig, "d", "x");
    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "a", "status: {phase: Running}"));
    T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", "b"));
    run(&rig, NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "+d ~a -b ");
    check_in_sync(&rig);
    T_EQ_STR(fakeapi_trace(rig.world.api), "GET pods *\nGET pods *\nWATCH pods *\n");
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.lists, 1);
    T_EQ_INT(stats.failures, 0);
}

T_TEST(informer_watch_ends_and_resumes_without_a_list)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init(&rig, NULL, 0);
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    for (int i = 0; i < 20; i++) {
        char name[24];

        snprintf(name, sizeof(name), "p%d", i);
        fakeapi_cut_watches(rig.world.api, i % 2 ? 0 : -ECONNRESET);
        pod(&rig, name, "x"); /* while nobody looks */
        run(&rig, 40 * NS_PER_S);
        check_in_sync(&rig);
    }
    run(&rig, 3600 * NS_PER_S); /* server-side timeouts */
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.lists, 1);
    T_CHECK(stats.watches >= 20 + 6 && stats.watches <= 20 + 14);
}

T_TEST(informer_lists_again_after_410_and_finds_deletions)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init(&rig, NULL, 0);
    pod(&rig, "a", "x");
    pod(&rig, "b", "x");
    kube_informer_start(rig.pods);
    run(&rig, 10 * NS_PER_S);
    fakeapi_cut_watches(rig.world.api, -ECONNRESET);
    run(&rig, 10 * NS_PER_MS); /* it backs off now */
    T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", "a"));
    pod(&rig, "c", "x");
    fakeapi_compact(rig.world.api);
    run(&rig, 10 * NS_PER_S);
    kube_informer_stats(rig.pods, &stats);
    check_in_sync(&rig);
    T_EQ_INT(stats.lists, 2);
    T_EQ_STR(strbuf_str(&rig.log), "+c -a ");
}

T_TEST(informer_bookmarks_spare_the_list)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init(&rig, NULL, 0);
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    T_OK(fakeapi_create(rig.world.api, "{apiVersion: v1, kind: Service, metadata: "
                                       "{name: s, namespace: n}}")); /* moves the version only */
    fakeapi_bookmark(rig.world.api);
    run(&rig, 2 * NS_PER_S);
    fakeapi_compact(rig.world.api);
    fakeapi_cut_watches(rig.world.api, 0);
    run(&rig, 5 * NS_PER_S);
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.lists, 1);
    T_EQ_INT(stats.failures, 0);
}

T_TEST(informer_failing_lists_are_retried_and_reported)
{
    static const FakeVerdict VERDICTS[] = {
        {.kind = FAKE_STATUS, .http = 503},
        {.kind = FAKE_STATUS, .http = 403},
        {.kind = FAKE_STATUS, .http = 429, .retry_after_s = 9},
        {.kind = FAKE_NOT_SENT},
        {.kind = FAKE_LOST_BEFORE},
        {.kind = FAKE_TRUNCATED},
        {.kind = FAKE_BODY, .http = 200, .body = "<html>"},
        {.kind = FAKE_BODY,
         .http = 200,
         .body = "{\"kind\":\"ServiceList\",\"items\":[],"
                 "\"metadata\":{\"resourceVersion\":\"1\"}}"},
        {.kind = FAKE_BODY, .http = 200, .body = "{\"kind\":\"PodList\",\"items\":[]}"},
        {.kind = FAKE_BODY,
         .http = 200,
         .body = "{\"kind\":\"PodList\",\"items\":[{}],"
                 "\"metadata\":{\"resourceVersion\":\"1\"}}"},
        {.kind = FAKE_BODY,
         .http = 200,
         .body = "{\"kind\":\"PodList\","
                 "\"metadata\":{\"resourceVersion\":\"1\"}}"},
        {.kind = FAKE_BODY, .http = 200, .body = ""},
        {.kind = FAKE_BODY,
         .http = 200,
         .body = "{\"kind\":\"PodList\",\"items\":[],\"metadata\":{\"resourceVersion\":"
                 "\"0123456789012345678901234567890123456789012345678901234567890123456789\"}}"},
    };

    for (size_t i = 0; i < ARRAY_LEN(VERDICTS); i++) {
        AUTO(rig) Rig rig;

        rig_init(&rig, NULL, 0);
        pod(&rig, "a", "x");
        rig.verdict = VERDICTS[i];
        rig.strikes = 2;
        kube_informer_start(rig.pods);
        run(&rig, 100 * NS_PER_MS);
        T_CHECK(!kube_informer_synced(rig.pods));
        T_CHECK(rig.last != KUBE_REASON_NONE);
        run(&rig, 60 * NS_PER_S);
        T_CHECK(kube_informer_synced(rig.pods));
        T_EQ_INT(rig.last, KUBE_REASON_NONE);
        T_EQ_INT(rig.states, 3);
        check_in_sync(&rig);
    }
}

T_TEST(informer_failing_watches_are_reported_until_they_work)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init(&rig, NULL, 0);
    rig.strike_watches = true;
    rig.strikes = 3;
    rig.verdict = (FakeVerdict){.kind = FAKE_STATUS, .http = 500};
    kube_informer_start(rig.pods);
    run(&rig, 20 * NS_PER_S);
    T_EQ_INT(rig.last, KUBE_REASON_SERVER);
    pod(&rig, "a", "x");
    run(&rig, 20 * NS_PER_S);
    T_EQ_INT(rig.last, KUBE_REASON_NONE);
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.lists, 1);
    T_EQ_INT(stats.failures, 3);
    check_in_sync(&rig);
}

T_TEST(informer_is_never_a_hot_loop)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, NULL, 0);
    rig.strikes = 1000000;
    rig.verdict = (FakeVerdict){.kind = FAKE_STATUS, .http = 410, .reason = "Expired"};
    kube_informer_start(rig.pods);
    run(&rig, 600 * NS_PER_S);
    T_CHECK(1000000 - rig.strikes < 60);
    T_CHECK(1000000 - rig.strikes > 15);
}

T_TEST(informer_selects_by_label)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, "app=x", 0);
    pod(&rig, "a", "x");
    pod(&rig, "b", "y");
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "+a ");
    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "b", "metadata: {labels: {app: x}}"));
    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "a", "metadata: {labels: {app: y}}"));
    run(&rig, NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "+b -a ");
    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "a", "metadata: {labels: {app: x}}"));
    run(&rig, NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "+a ");
}

T_TEST(informer_resyncs)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, NULL, 3600 * NS_PER_S);
    pod(&rig, "a", "x");
    kube_informer_start(rig.pods);
    run(&rig, 3000 * NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "+a ");
    run(&rig, 1000 * NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "=a ");
}

T_TEST(informer_can_be_stopped_at_any_time_and_started_again)
{
    for (uint64_t ms = 0; ms < 6; ms++) {
        AUTO(rig) Rig rig;

        rig_init(&rig, NULL, NS_PER_S);
        pod(&rig, "a", "x");
        pod(&rig, "b", "x");
        pod(&rig, "c", "x");
        kube_informer_start(rig.pods);
        run(&rig, ms * NS_PER_MS + 1);
        kube_informer_stop(rig.pods);
        kube_informer_stop(rig.pods);
        run(&rig, 5 * NS_PER_S);
        T_EQ_STR(strbuf_str(&rig.log), "");
        T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", "b"));
        kube_informer_start(rig.pods);
        run(&rig, NS_PER_S / 2);
        check_in_sync(&rig);
    }
}

/* A hundred seeds of random changes, cuts, compactions and faults: it always heals. */
T_TEST(informer_heals_from_everything)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        AUTO(rig) Rig rig;
        Rng rng;

        rng_init(&rng, seed);
        rig_init(&rig, NULL, 0);
        kube_informer_start(rig.pods);
        for (int i = 0; i < 60; i++) {
            char name[24];

            snprintf(name, sizeof(name), "p%u", (unsigned)rng_below(&rng, 8));
            switch (rng_below(&rng, 7)) {
            case 0:
            case 1:
            case 2:
                if (!fakeapi_get(rig.world.api, KUBE_POD, "n", name)) {
                    pod(&rig, name, "x");
                } else if (rng_below(&rng, 2)) {
                    T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", name));
                } else {
                    char patch[64];

                    snprintf(patch, sizeof(patch), "status: {phase: p%d}", i);
                    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", name, patch));
                }
                break;
            case 3:
                fakeapi_cut_watches(rig.world.api, rng_below(&rng, 2) ? 0 : -ECONNRESET);
                break;
            case 4:
                fakeapi_compact(rig.world.api);
                break;
            case 5:
                rig.strike_watches = rng_below(&rng, 2);
                rig.strikes = (int)rng_below(&rng, 3);
                rig.verdict =
                    (FakeVerdict){.kind = (FakeVerdictKind)(1 + rng_below(&rng, 5)), .http = 500};
                break;
            default:
                fakeapi_bookmark(rig.world.api);
                break;
            }
            fake_world_run(&rig.world, rng_below(&rng, 3) ? NS_PER_MS : 3 * NS_PER_S);
        }
        rig.strikes = 0;
        fake_world_run(&rig.world, 120 * NS_PER_S);
        check_in_sync(&rig);
    }
}

/* ---- lists as streams ---- */

T_TEST(informer_streams_its_list_in_one_request)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init_with(&rig, "app=x", 0, true);
    pod(&rig, "a", "x");
    pod(&rig, "b", "y");
    pod(&rig, "c", "x");
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    T_CHECK(kube_informer_synced(rig.pods));
    T_EQ_INT(rig.states, 1);
    T_EQ_STR(strbuf_str(&rig.log), "+a +c ");
    pod(&rig, "d", "x");
    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "a", "status: {phase: Running}"));
    T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", "c"));
    run(&rig, NS_PER_S);
    T_EQ_STR(strbuf_str(&rig.log), "+d ~a -c ");
    T_EQ_STR(fakeapi_trace(rig.world.api), "STREAM pods *\n");
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.lists, 1);
    T_EQ_INT(stats.streams, 1);
    T_EQ_INT(stats.failures, 0);
}

T_TEST(informer_pages_where_streams_are_refused)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init_with(&rig, NULL, 0, true);
    fakeapi_set_streams(rig.world.api, false);
    pod(&rig, "a", "x");
    kube_informer_start(rig.pods);
    run(&rig, 100 * NS_PER_MS);
    T_EQ_STR(fakeapi_trace(rig.world.api), "STREAM pods *\nGET pods *\nWATCH pods *\n");
    T_CHECK(kube_informer_synced(rig.pods));
    T_EQ_INT(rig.states, 1); /* not a word about the refusal */
    check_in_sync(&rig);
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.streams, 0);
    T_EQ_INT(stats.failures, 0);
}

T_TEST(informer_streams_again_after_410_and_finds_deletions)
{
    AUTO(rig) Rig rig;
    KubeInformerStats stats;

    rig_init_with(&rig, NULL, 0, true);
    pod(&rig, "a", "x");
    pod(&rig, "b", "x");
    kube_informer_start(rig.pods);
    run(&rig, 10 * NS_PER_S);
    fakeapi_cut_watches(rig.world.api, -ECONNRESET);
    run(&rig, 10 * NS_PER_MS);
    T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", "a"));
    pod(&rig, "c", "x");
    fakeapi_compact(rig.world.api);
    run(&rig, 10 * NS_PER_S);
    check_in_sync(&rig);
    T_EQ_STR(strbuf_str(&rig.log), "+c -a ");
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.streams, 2);
}

T_TEST(informer_failing_streams_heal)
{
    static const FakeVerdict VERDICTS[] = {
        {.kind = FAKE_STATUS, .http = 503},
        {.kind = FAKE_STATUS, .http = 429, .retry_after_s = 9},
        {.kind = FAKE_NOT_SENT},
        {.kind = FAKE_LOST_BEFORE},
        {.kind = FAKE_BODY, .http = 200, .body = "<html>\n"},
        {.kind = FAKE_BODY, .http = 200, .body = ""},
        {.kind = FAKE_BODY, .http = 200, .body = "{\"type\":\"ADDED\",\"object\":{}}\n"},
    };

    for (size_t i = 0; i < ARRAY_LEN(VERDICTS); i++) {
        AUTO(rig) Rig rig;

        rig_init_with(&rig, NULL, 0, true);
        pod(&rig, "a", "x");
        rig.verdict = VERDICTS[i];
        rig.strikes = 1;
        rig.strike_watches = true;
        kube_informer_start(rig.pods);
        run(&rig, 100 * NS_PER_MS);
        T_CHECK(!kube_informer_synced(rig.pods));
        T_CHECK(rig.last != KUBE_REASON_NONE);
        run(&rig, 60 * NS_PER_S);
        T_CHECK(kube_informer_synced(rig.pods));
        T_EQ_INT(rig.last, KUBE_REASON_NONE);
        T_EQ_INT(rig.states, 2);
        check_in_sync(&rig);
    }
}

/* An old proxy that takes it for a plain watch: objects come, their end never. */
T_TEST(informer_stream_that_stands_still_is_given_up)
{
    AUTO(rig) Rig rig;

    rig_init_with(&rig, NULL, 0, true);
    pod(&rig, "a", "x");
    rig.verdict = (FakeVerdict){.delay_ns = 600 * NS_PER_S};
    rig.strikes = 1;
    rig.strike_watches = true;
    kube_informer_start(rig.pods);
    run(&rig, 29 * NS_PER_S);
    T_EQ_INT(rig.states, 0);
    run(&rig, NS_PER_S + 100 * NS_PER_MS);
    T_EQ_INT(rig.last, KUBE_REASON_NETWORK);
    run(&rig, 2 * NS_PER_S);
    T_CHECK(kube_informer_synced(rig.pods));
    check_in_sync(&rig);
    run(&rig, 600 * NS_PER_S); /* the timer does not outlive the list */
    T_EQ_INT(rig.states, 2);
}

T_TEST(informer_stopped_in_a_stream_starts_over)
{
    AUTO(rig) Rig rig;

    rig_init_with(&rig, NULL, 0, true);
    pod(&rig, "a", "x");
    kube_informer_start(rig.pods);
    kube_informer_stop(rig.pods);
    run(&rig, 60 * NS_PER_S);
    T_EQ_INT(rig.states, 0);
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    check_in_sync(&rig);
}

T_TEST(informer_with_a_namespace_that_cannot_be_reports_it)
{
    AUTO(fake_world) FakeWorld world;
    Rig rig = {0};
    KubeInformer *pods;

    fake_world_init(&world, 1);
    pods = kube_informer_new(&(KubeInformerConfig){.api = world.client,
                                                   .kind = kube_kind(KUBE_POD),
                                                   .ns = "Not/A/Namespace",
                                                   .stream = true,
                                                   .on_state = on_state,
                                                   .ctx = &rig});
    kube_informer_start(pods);
    fake_world_run(&world, 10 * NS_PER_S);
    T_EQ_INT(rig.last, KUBE_REASON_BAD_REQUEST);
    T_CHECK(rig.states >= 2);
    kube_informer_free(pods);
}

static void check_restore(bool streams, bool grows)
{
    AUTO(rig) Rig rig;
    FakeBackup *backup;
    KubeInformerStats stats;

    rig_init_with(&rig, NULL, 0, streams);
    pod(&rig, "a", "x");
    pod(&rig, "b", "x");
    kube_informer_start(rig.pods);
    run(&rig, NS_PER_S);
    backup = fakeapi_backup(rig.world.api);
    T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "a", "{metadata: {labels: {app: later}}}"));
    T_OK(fakeapi_delete(rig.world.api, KUBE_POD, "n", "b"));
    pod(&rig, "c", "x");
    run(&rig, 10 * NS_PER_S);
    check_in_sync(&rig);
    fakeapi_restore(rig.world.api, backup);
    backup = fakeapi_backup_free(backup);
    pod(&rig, "d", "x"); /* under a version that we have seen go to others */
    for (int i = 0; grows && i < 10; i++) {
        T_OK(fakeapi_patch(rig.world.api, KUBE_POD, "n", "d",
                           i % 2 ? "{metadata: {labels: {n: odd}}}"
                                 : "{metadata: {labels: {n: even}}}"));
    }
    run(&rig, 10 * NS_PER_S);
    if (grows) { /* nothing to see in the version alone, until a list */
        rig.verdict = (FakeVerdict){.kind = FAKE_STATUS, .http = 410, .reason = "Expired"};
        rig.strikes = 1;
        rig.strike_watches = true;
        fakeapi_cut_watches(rig.world.api, 0);
        run(&rig, 20 * NS_PER_S);
    }
    check_in_sync(&rig);
    kube_informer_stats(rig.pods, &stats);
    T_EQ_INT(stats.rewinds, 1);
    pod(&rig, "f", "x");
    run(&rig, NS_PER_S);
    check_in_sync(&rig);
}

T_TEST(informer_follows_a_server_restored_from_a_backup)
{
    check_restore(false, false);
    check_restore(true, false);
}

T_TEST(informer_notices_a_backup_that_has_grown_past_what_it_knew)
{
    check_restore(false, true);
    check_restore(true, true);
}
