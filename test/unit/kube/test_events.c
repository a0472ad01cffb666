/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/mem.h"
#include "kube/events.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"

typedef struct Rig {
    FakeWorld world;
    KubeEvents *events;
    KubeObj *claim;
} Rig;

static KubeObj *claim(const char *name)
{
    KubeObj *obj = NULL;
    char text[600];

    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",\"uid\":\"u-%.20s\","
             "\"resourceVersion\":\"5\"}}",
             name, name);
    T_OK(kube_obj_from_text(kube_kind(KUBE_CLAIM), str_from(text), &obj, NULL));
    return obj;
}

static void rig_init(Rig *rig)
{
    fake_world_init(&rig->world, 1);
    rig->events = kube_events_new(rig->world.client, "controller-host", 9);
    rig->claim = claim("c");
}

static void rig_deinit(Rig *rig)
{
    kube_events_free(rig->events);
    kube_obj_unref(rig->claim);
    fake_world_deinit(&rig->world);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

static void emit(Rig *rig, const KubeObj *obj, const char *note)
{
    kube_events_emit(rig->events, &(KubeEventArgs){.controller = "sandboxclaim-controller",
                                                   .regarding = obj,
                                                   .reason = "SandboxAdopted",
                                                   .action = "Adoption",
                                                   .note = str_from(note)});
}

static void dump(void *ctx, const json_t *object)
{
    char **text = ctx;

    free(*text);
    *text = jx_dump_sorted(object);
}

T_TEST(events_have_the_members_the_api_wants)
{
    AUTO(rig) Rig rig;
    AUTO(mem) char *text = NULL;

    rig_init(&rig);
    emit(&rig, rig.claim, "Adopted warm pool Sandbox \"s\"");
    fake_world_run(&rig.world, NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.world.api, KUBE_EVENT), 1);
    fakeapi_each(rig.world.api, KUBE_EVENT, dump, &text);
    T_CONTAINS(text, "\"action\":\"Adoption\"");
    T_CONTAINS(text, "\"eventTime\":\"2026-12-01T00:00:00.000000Z\"");
    T_CONTAINS(text, "\"note\":\"Adopted warm pool Sandbox \\\"s\\\"\"");
    T_CONTAINS(text, "\"reason\":\"SandboxAdopted\"");
    T_CONTAINS(text, "\"regarding\":{\"apiVersion\":\"extensions.agents.x-k8s.io/v1beta1\","
                     "\"kind\":\"SandboxClaim\",\"name\":\"c\",\"namespace\":\"n\","
                     "\"resourceVersion\":\"5\",\"uid\":\"u-c\"}");
    T_CONTAINS(text, "\"reportingController\":\"sandboxclaim-controller\"");
    T_CONTAINS(text, "\"reportingInstance\":\"controller-host\"");
    T_CONTAINS(text, "\"type\":\"Normal\"");
    T_CHECK(!strstr(text, "series"));
}

T_TEST(events_repeated_become_a_series_written_once_a_minute)
{
    AUTO(rig) Rig rig;
    AUTO(mem) char *text = NULL;
    KubeEventsStats stats;

    rig_init(&rig);
    for (int i = 0; i < 100; i++) {
        emit(&rig, rig.claim, "same");
        fake_world_run(&rig.world, NS_PER_S);
    }
    fake_world_run(&rig.world, 60 * NS_PER_S);
    kube_events_stats(rig.events, &stats);
    T_EQ_INT(stats.emitted, 1);
    T_EQ_INT(stats.folded, 99);
    T_EQ_INT(fakeapi_count(rig.world.api, KUBE_EVENT), 1);
    T_EQ_INT(fakeapi_writes(rig.world.api), 3);
    fakeapi_each(rig.world.api, KUBE_EVENT, dump, &text);
    T_CONTAINS(text,
               "\"series\":{\"count\":100,\"lastObservedTime\":\"2026-12-01T00:01:39.000000Z\"}");
    fake_world_run(&rig.world, KUBE_EVENTS_SERIES_NS + NS_PER_S);
    emit(&rig, rig.claim, "same"); /* long after: news again */
    fake_world_run(&rig.world, NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.world.api, KUBE_EVENT), 2);
}

T_TEST(events_that_differ_are_not_folded)
{
    AUTO(rig) Rig rig;
    AUTO(kube_obj) KubeObj *other = claim("d");

    rig_init(&rig);
    emit(&rig, rig.claim, "one");
    emit(&rig, rig.claim, "two");
    emit(&rig, other, "one");
    kube_events_emit(rig.events, &(KubeEventArgs){.controller = "sandboxclaim-controller",
                                                  .regarding = rig.claim,
                                                  .warning = true,
                                                  .reason = "SandboxAdopted",
                                                  .action = "Adoption",
                                                  .note = STR("one")});
    fake_world_run(&rig.world, NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.world.api, KUBE_EVENT), 4);
}

T_TEST(events_long_texts_are_cut)
{
    AUTO(rig) Rig rig;
    AUTO(mem) char *text = NULL;
    AUTO(kube_obj) KubeObj *obj = NULL;
    char note[2001];
    char name[KUBE_EVENT_NOTE_MAX];

    rig_init(&rig);
    memset(note, 'x', sizeof(note));
    memcpy(note + 1023, "\xc3\xa9", 2); /* across the limit */
    note[2000] = '\0';
    memset(name, 'a', 253);
    name[235] = '.';
    name[253] = '\0';
    obj = claim(name);
    emit(&rig, obj, note);
    fake_world_run(&rig.world, NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.world.api, KUBE_EVENT), 1); /* its name is valid */
    fakeapi_each(rig.world.api, KUBE_EVENT, dump, &text);
    T_CHECK(strstr(text, "xxx\",\"reason\""));
    T_CHECK(!strstr(text, "\xc3"));
}

static FakeVerdict fail_all(void *ctx, const FakeCall *call)
{
    UNUSED(ctx);
    UNUSED(call);
    return (FakeVerdict){.kind = FAKE_STATUS, .http = 403};
}

T_TEST(events_failures_and_limits_only_count)
{
    AUTO(rig) Rig rig;
    KubeEventsStats stats;
    char note[32];

    rig_init(&rig);
    fakeapi_set_hook(rig.world.api, fail_all, NULL);
    for (int i = 0; i < KUBE_EVENTS_PENDING_MAX + 10; i++) {
        snprintf(note, sizeof(note), "%d", i);
        emit(&rig, rig.claim, note);
    }
    kube_events_stats(rig.events, &stats);
    T_EQ_INT(stats.dropped, 10);
    fake_world_run(&rig.world, NS_PER_S);
    kube_events_stats(rig.events, &stats);
    T_EQ_INT(stats.failed, KUBE_EVENTS_PENDING_MAX);
    fakeapi_set_hook(rig.world.api, NULL, NULL);
    for (int i = 0; i < KUBE_EVENTS_CACHE_MAX + 10; i++) { /* the cache forgets the oldest */
        snprintf(note, sizeof(note), "n%d", i);
        emit(&rig, rig.claim, note);
        fake_world_run(&rig.world, 2 * NS_PER_MS);
    }
    T_EQ_INT(fakeapi_count(rig.world.api, KUBE_EVENT), KUBE_EVENTS_CACHE_MAX + 10);
    emit(&rig, rig.claim, "in flight when it ends");
}
