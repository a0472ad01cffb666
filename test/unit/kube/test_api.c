/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: exactly one callback, never from inside, none after cancel; bad arguments and answers. */
#include <stdio.h>

#include "kube/api.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"

typedef struct Seen {
    int calls;
    KubeReason reason;
    char msg[ERR_MSG_MAX];
    int items;
    KubeCall *cancel; /* from inside the second item */
    KubeCall **self;  /* cancelled from inside the final callback: does nothing */
    FakeWorld *again; /* a new call is made from inside the callback */
} Seen;

static void on_answer(void *ctx, const KubeError *error, KubeObj *obj)
{
    Seen *seen = ctx;

    T_CHECK(!error || !obj);
    seen->calls++;
    seen->reason = error ? error->reason : KUBE_REASON_NONE;
    snprintf(seen->msg, sizeof(seen->msg), "%s", error ? error->msg : "");
    if (seen->self) {
        kube_call_cancel(*TAKE(seen->self));
    }
    if (seen->again) {
        FakeWorld *world = TAKE(seen->again);

        kube_api_get(world->client, kube_kind(KUBE_POD), (KubeKey){STR("n"), STR("x")}, NULL,
                     on_answer, seen);
        T_EQ_INT(seen->calls, 1);
    }
}

static void on_item(void *ctx, KubeObj *obj)
{
    Seen *seen = ctx;

    T_CHECK(obj->name.len > 0);
    if (++seen->items == 2 && seen->cancel) {
        kube_call_cancel(TAKE(seen->cancel));
    }
}

static void on_page(void *ctx, const KubeError *error, const KubeListMeta *meta)
{
    Seen *seen = ctx;

    T_CHECK(!error == !!meta);
    on_answer(ctx, error, NULL);
    if (meta) {
        snprintf(seen->msg, sizeof(seen->msg), STR_FMT "/" STR_FMT, STR_ARG(meta->rv),
                 STR_ARG(meta->cont));
    }
}

static KubeKey key(const char *name)
{
    return (KubeKey){STR("n"), str_from(name)};
}

static FakeVerdict give(void *ctx, const FakeCall *call)
{
    UNUSED(call);
    return *(const FakeVerdict *)ctx;
}

T_TEST(api_bad_arguments_come_back_through_the_callback)
{
    AUTO(fake_world) FakeWorld world;
    AUTO(strbuf) StrBuf huge = STRBUF_INIT(4u << 20);
    Seen seen = {.calls = 0};
    KubeListOptions list = {.label_selector = NULL};

    fake_world_init(&world, 1);
    while (huge.len <= KUBE_REQUEST_BODY_MAX) {
        strbuf_append_cstr(&huge, "                                                            ");
    }
    kube_api_get(world.client, kube_kind(KUBE_POD), key("../secrets/x"), NULL, on_answer, &seen);
    T_EQ_INT(seen.calls, 0);
    fake_world_run(&world, 0);
    T_EQ_INT(seen.calls, 1);
    T_EQ_INT(seen.reason, KUBE_REASON_BAD_REQUEST);
    kube_api_create(world.client, kube_kind(KUBE_POD), STR("n"), strbuf_str(&huge), NULL, on_answer,
                    &seen);
    fake_world_run(&world, 0);
    T_EQ_INT(seen.reason, KUBE_REASON_BAD_REQUEST);
    kube_api_patch(world.client, kube_kind(KUBE_TEMPLATE), key("x"), "status", STR("{}"), NULL,
                   on_answer, &seen);
    fake_world_run(&world, 0);
    T_EQ_INT(seen.reason, KUBE_REASON_BAD_REQUEST);
    list.label_selector = huge.ptr;
    kube_api_list_page(world.client, kube_kind(KUBE_POD), &list, NULL, on_item, on_page, &seen);
    fake_world_run(&world, 0);
    T_EQ_INT(seen.reason, KUBE_REASON_BAD_REQUEST);
    T_EQ_INT(seen.calls, 4);
    T_EQ_INT(fakeapi_requests(world.api), 0);
    kube_call_cancel(
        kube_api_get(world.client, kube_kind(KUBE_POD), key("A"), NULL, on_answer, &seen));
    fake_world_run(&world, 0);
    T_EQ_INT(seen.calls, 4);
    kube_api_get(world.client, kube_kind(KUBE_POD), key("A"), NULL, on_answer, &seen);
}

T_TEST(api_cancelled_calls_stay_silent)
{
    AUTO(fake_world) FakeWorld world;
    Seen seen = {.calls = 0};

    fake_world_init(&world, 1);
    for (uint64_t us = 0; us < 1000; us += 100) {
        KubeCall *call =
            kube_api_get(world.client, kube_kind(KUBE_POD), key("x"), NULL, on_answer, &seen);

        fake_world_run(&world, us * NS_PER_US);
        kube_call_cancel(call);
        fake_world_run(&world, NS_PER_S);
    }
    kube_call_cancel(NULL);
    T_EQ_INT(seen.calls, 0);
}

T_TEST(api_callbacks_may_call_and_cancel)
{
    AUTO(fake_world) FakeWorld world;
    KubeCall *call = NULL;
    Seen seen = {.self = &call};

    fake_world_init(&world, 1);
    seen.again = &world;
    call = kube_api_get(world.client, kube_kind(KUBE_POD), key("x"), NULL, on_answer, &seen);
    fake_world_run(&world, NS_PER_S / 2);
    T_EQ_INT(seen.reason, KUBE_REASON_NOT_FOUND);
    T_EQ_INT(seen.calls, 2);
}

T_TEST(api_pages)
{
    AUTO(fake_world) FakeWorld world;
    Seen seen = {.calls = 0};
    KubeListOptions list = {.ns = STR("n"), .limit = 2};
    char cont[32];

    fake_world_init(&world, 1);
    T_OK(fakeapi_create(world.api,
                        "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: n}}"));
    T_OK(fakeapi_create(world.api,
                        "{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: n}}"));
    T_OK(fakeapi_create(world.api,
                        "{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: n}}"));
    T_OK(fakeapi_create(world.api,
                        "{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: m}}"));
    kube_api_list_page(world.client, kube_kind(KUBE_POD), &list, NULL, on_item, on_page, &seen);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.items, 2);
    T_EQ_STR(str_take(str_from(seen.msg), 4), "104/");
    snprintf(cont, sizeof(cont), "%.20s", seen.msg + 4);
    T_CHECK(cont[0]);
    list.cont = str_from(cont);
    kube_api_list_page(world.client, kube_kind(KUBE_POD), &list, NULL, on_item, on_page, &seen);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.items, 3);
    T_EQ_STR(seen.msg, "104/");
    list.cont = STR_NULL;
    seen.items = 0;
    seen.calls = 0;
    seen.cancel =
        kube_api_list_page(world.client, kube_kind(KUBE_POD), &list, NULL, on_item, on_page, &seen);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.items, 2);
    T_EQ_INT(seen.calls, 0);
}

T_TEST(api_bad_answers)
{
    static const struct {
        const char *body;
        KubeReason get;
        KubeReason write;
    } ROWS[] = {
        {"", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME},
        {"{", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME},
        {"null", KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME},
        {"{\"kind\":\"Status\",\"status\":\"Success\"}", KUBE_REASON_BAD_ANSWER,
         KUBE_REASON_UNKNOWN_OUTCOME},
        {"{\"kind\":\"Service\",\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}",
         KUBE_REASON_BAD_ANSWER, KUBE_REASON_UNKNOWN_OUTCOME},
        {"{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}", KUBE_REASON_NONE,
         KUBE_REASON_NONE},
    };
    AUTO(fake_world) FakeWorld world;
    Seen seen = {.calls = 0};

    fake_world_init(&world, 1);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        FakeVerdict verdict = {.kind = FAKE_BODY, .http = 200, .body = ROWS[i].body};

        t_row(ROWS[i].body);
        fakeapi_set_hook(world.api, give, &verdict);
        kube_api_get(world.client, kube_kind(KUBE_POD), key("x"), NULL, on_answer, &seen);
        fake_world_run(&world, NS_PER_S);
        T_EQ_INT(seen.reason, ROWS[i].get);
        kube_api_patch(world.client, kube_kind(KUBE_POD), key("x"), NULL, STR("{}"), NULL,
                       on_answer, &seen);
        fake_world_run(&world, NS_PER_S);
        T_EQ_INT(seen.reason, ROWS[i].write);
    }
}

T_TEST(api_field_manager_and_options_are_in_the_request)
{
    AUTO(fake_world) FakeWorld world;
    const KubeDeleteOptions del = {
        .uid = STR("u"), .rv = STR("5"), .propagation = KUBE_PROPAGATION_FOREGROUND, .grace_s = 0};
    Seen seen = {.calls = 0};

    fake_world_init(&world, 1);
    T_OK(fakeapi_create(world.api,
                        "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: n}}"));
    kube_api_delete(world.client, kube_kind(KUBE_POD), key("x"), &del, NULL, on_answer, &seen);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.reason, KUBE_REASON_CONFLICT);
    kube_api_replace(world.client, kube_kind(KUBE_POD), key("x"), NULL,
                     STR("{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\"}}"), NULL, on_answer,
                     &seen);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.reason, KUBE_REASON_INVALID); /* a PUT without a version */
    kube_api_delete(world.client, kube_kind(KUBE_POD), key("x"), NULL, NULL, on_answer, &seen);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.reason, KUBE_REASON_NONE);
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 0);
}

T_TEST(api_free_cancels_what_runs)
{
    AUTO(fake_world) FakeWorld world;
    Seen seen = {.calls = 0};

    fake_world_init(&world, 1);
    kube_api_get(world.client, kube_kind(KUBE_POD), key("x"), NULL, on_answer, &seen);
    kube_api_get(world.client, kube_kind(KUBE_POD), key("NO"), NULL, on_answer, &seen);
    world.client = kube_api_free(world.client);
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(seen.calls, 0);
}
