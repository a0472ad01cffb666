/* SPDX-License-Identifier: Apache-2.0 */
/* The API server model itself, through KubeApi: what the other tests rely on. */
#include "kube/api.h"
#include "kube/informer.h"
#include "test/fakeapi/world.h"
#include "test/harness/t.h"

typedef struct Answer {
    bool done;
    KubeReason reason;
    KubeError error;
    KubeObj *obj;
} Answer;

static void on_answer(void *ctx, const KubeError *error, KubeObj *obj)
{
    Answer *answer = ctx;

    answer->done = true;
    answer->reason = error ? error->reason : KUBE_REASON_NONE;
    answer->error = error ? *error : (KubeError){.http = 0};
    kube_obj_unref(answer->obj);
    answer->obj = obj ? kube_obj_ref(obj) : NULL;
}

static void answer_deinit(Answer *answer)
{
    kube_obj_unref(answer->obj);
}

DEFINE_AUTO(answer, Answer, answer_deinit)

#define SANDBOX                                                                                    \
    "{\"apiVersion\":\"agents.x-k8s.io/v1beta1\",\"kind\":\"Sandbox\",\"metadata\":{\"name\":"     \
    "\"a\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"service\":true},\"status\":{\"service\":\"a\"}" \
    "}"

static const KubeKey KEY_A = {STR("ns1"), STR("a")};

static KubeReason create(FakeWorld *world, Answer *answer, const char *text)
{
    answer->done = false;
    kube_api_create(world->client, kube_kind(KUBE_SANDBOX), STR("ns1"), str_from(text),
                    KUBE_CALL_NORMAL, on_answer, answer);
    T_CHECK(!answer->done);
    T_CHECK(fake_world_run_until(world, &answer->done, NS_PER_S));
    return answer->reason;
}

static KubeReason patch(FakeWorld *world, Answer *answer, const char *subresource, const char *text)
{
    answer->done = false;
    kube_api_patch(world->client, kube_kind(KUBE_SANDBOX), KEY_A, subresource, str_from(text),
                   KUBE_CALL_NORMAL, on_answer, answer);
    T_CHECK(fake_world_run_until(world, &answer->done, NS_PER_S));
    return answer->reason;
}

static KubeReason delete_with(FakeWorld *world, Answer *answer, const KubeDeleteOptions *options)
{
    answer->done = false;
    kube_api_delete(world->client, kube_kind(KUBE_SANDBOX), KEY_A, options, KUBE_CALL_NORMAL,
                    on_answer, answer);
    T_CHECK(fake_world_run_until(world, &answer->done, NS_PER_S));
    return answer->reason;
}

T_TEST(fakeapi_creates_patches_and_deletes)
{
    AUTO(fake_world) FakeWorld world;
    AUTO(answer) Answer answer = {.done = false};
    uint64_t rv;

    fake_world_init(&world, 1);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_NONE);
    T_EQ_STR(answer.obj->name, "a");
    T_EQ_STR(answer.obj->ns, "ns1");
    T_EQ_INT(answer.obj->uid.len, 36);
    T_EQ_INT(kube_obj_generation(answer.obj), 1);
    T_CHECK(!jnode_exists(kube_obj_status(answer.obj)));
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_ALREADY_EXISTS);

    T_EQ_INT(patch(&world, &answer, NULL, "{\"metadata\":{\"labels\":{\"b\":\"c\"}}}"), 0);
    T_EQ_INT(kube_obj_generation(answer.obj), 1);
    rv = answer.obj->rv;
    T_EQ_INT(patch(&world, &answer, NULL, "{\"metadata\":{\"labels\":{\"b\":\"c\"}}}"), 0);
    T_EQ_INT(answer.obj->rv, rv); /* nothing changed */
    T_EQ_INT(patch(&world, &answer, NULL, "{\"spec\":{\"service\":false},\"status\":{\"x\":1}}"),
             0);
    T_EQ_INT(kube_obj_generation(answer.obj), 2);
    T_CHECK(!jnode_exists(kube_obj_status(answer.obj)));
    T_EQ_INT(patch(&world, &answer, "status", "{\"spec\":null,\"status\":{\"service\":\"a\"}}"), 0);
    T_EQ_INT(kube_obj_generation(answer.obj), 2);
    T_EQ_STR(jnode_str(jnode_at(kube_obj_status(answer.obj), "service")), "a");
    T_CHECK(jnode_exists(jnode_at(kube_obj_spec(answer.obj), "service")));

    T_EQ_INT(patch(&world, &answer, NULL, "{\"metadata\":{\"resourceVersion\":\"3\"}}"),
             KUBE_REASON_CONFLICT);
    T_EQ_INT(delete_with(&world, &answer, &(KubeDeleteOptions){.uid = STR("no"), .grace_s = -1}),
             KUBE_REASON_CONFLICT);
    T_EQ_INT(delete_with(&world, &answer, NULL), KUBE_REASON_NONE);
    T_CHECK(!answer.obj);
    T_EQ_INT(delete_with(&world, &answer, NULL), KUBE_REASON_NOT_FOUND);
    T_EQ_STR(fakeapi_trace(world.api), "POST sandboxes ns1/a\nPOST sandboxes ns1/a\n"
                                       "PATCH sandboxes ns1/a\nPATCH sandboxes ns1/a\n"
                                       "PATCH sandboxes ns1/a\nPATCH sandboxes/status ns1/a\n"
                                       "PATCH sandboxes ns1/a\nDELETE sandboxes ns1/a\n"
                                       "DELETE sandboxes ns1/a\nDELETE sandboxes ns1/a\n");
    T_EQ_INT(fakeapi_writes(world.api), 10);
}

T_TEST(fakeapi_collects_what_owners_leave_behind)
{
    AUTO(fake_world) FakeWorld world;
    char text[512];

    fake_world_init(&world, 1);
    T_OK(fakeapi_create(world.api, "apiVersion: agents.x-k8s.io/v1beta1\nkind: Sandbox\n"
                                   "metadata: {name: a, namespace: ns1}\n"));
    snprintf(
        text, sizeof(text),
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: ns1\n"
        "  ownerReferences: [{uid: " STR_FMT
        ", apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, name: a}]\n",
        STR_ARG(jx_get_str(fakeapi_get(world.api, KUBE_SANDBOX, "ns1", "a"), "metadata", "uid")));
    T_OK(fakeapi_create(world.api, text));
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 1);
    T_EQ_STR(jx_get_str(fakeapi_get(world.api, KUBE_POD, "ns1", "p"), "status", "phase"),
             "Pending");
    fakeapi_set_pod_grace(world.api, 2 * NS_PER_S);
    T_OK(fakeapi_delete(world.api, KUBE_SANDBOX, "ns1", "a"));
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(fakeapi_count(world.api, KUBE_SANDBOX), 0);
    T_CHECK(jx_get(fakeapi_get(world.api, KUBE_POD, "ns1", "p"), "metadata", "deletionTimestamp"));
    fake_world_run(&world, 2 * NS_PER_S);
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 0);
}

T_TEST(fakeapi_deletes_in_the_foreground)
{
    AUTO(fake_world) FakeWorld world;
    AUTO(answer) Answer answer = {.done = false};
    char text[512];

    fake_world_init(&world, 1);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_NONE);
    snprintf(text, sizeof(text),
             "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: ns1\n"
             "  ownerReferences: [{uid: " STR_FMT
             ", apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, name: a}]\n",
             STR_ARG(answer.obj->uid));
    T_OK(fakeapi_create(world.api, text));
    T_EQ_INT(delete_with(
                 &world, &answer,
                 &(KubeDeleteOptions){.propagation = KUBE_PROPAGATION_FOREGROUND, .grace_s = -1}),
             KUBE_REASON_NONE);
    T_CHECK(answer.obj && kube_obj_deleting(answer.obj));
    fake_world_run(&world, NS_PER_S);
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 0);
    T_EQ_INT(fakeapi_count(world.api, KUBE_SANDBOX), 0);
}

T_TEST(fakeapi_keeps_what_has_finalizers)
{
    AUTO(fake_world) FakeWorld world;

    fake_world_init(&world, 1);
    T_OK(fakeapi_create(world.api, "apiVersion: v1\nkind: Pod\n"
                                   "metadata: {name: p, namespace: n, finalizers: [a/b]}\n"));
    T_OK(fakeapi_delete(world.api, KUBE_POD, "n", "p"));
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 1);
    T_OK(fakeapi_patch(world.api, KUBE_POD, "n", "p", "metadata: {finalizers: null}"));
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 0);
}

T_TEST(fakeapi_refuses_bad_names)
{
    AUTO(fake_world) FakeWorld world;

    fake_world_init(&world, 1);
    T_EQ_INT(fakeapi_create(world.api, "{apiVersion: v1, kind: Pod, "
                                       "metadata: {name: A_b, namespace: n}}"),
             422);
    T_EQ_INT(fakeapi_create(world.api, "{apiVersion: v1, kind: Service, "
                                       "metadata: {name: a.b, namespace: n}}"),
             422);
    T_OK(fakeapi_create(world.api, "{apiVersion: v1, kind: Pod, "
                                   "metadata: {generateName: pool-, namespace: n}}"));
    T_EQ_INT(fakeapi_count(world.api, KUBE_POD), 1);
}

static FakeVerdict hook(void *ctx, const FakeCall *call)
{
    const FakeVerdict *verdicts = ctx;

    return verdicts[call->seq - 1];
}

T_TEST(fakeapi_faults_say_what_happened)
{
    static const FakeVerdict VERDICTS[] = {
        {.kind = FAKE_STATUS, .http = 429, .retry_after_s = 7},
        {.kind = FAKE_LOST_BEFORE},
        {.kind = FAKE_NOT_SENT},
        {.kind = FAKE_LOST_AFTER},
        {.kind = FAKE_PASS},
        {.kind = FAKE_STATUS, .http = 422, .reason = "Invalid", .message = "no"},
        {.kind = FAKE_BODY, .http = 200, .body = "{\"kind\":"},
    };
    AUTO(fake_world) FakeWorld world;
    AUTO(answer) Answer answer = {.done = false};

    fake_world_init(&world, 1);
    fakeapi_set_hook(world.api, hook, (void *)VERDICTS);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_TOO_MANY);
    T_EQ_INT(answer.error.retry_after_ns, 7 * NS_PER_S);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_UNKNOWN_OUTCOME);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_NETWORK);
    T_EQ_INT(fakeapi_count(world.api, KUBE_SANDBOX), 0);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_UNKNOWN_OUTCOME);
    T_EQ_INT(fakeapi_count(world.api, KUBE_SANDBOX), 1);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_ALREADY_EXISTS);
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_INVALID);
    T_EQ_STR(answer.error.msg, "no");
    T_EQ_INT(create(&world, &answer, SANDBOX), KUBE_REASON_UNKNOWN_OUTCOME);
    T_CONTAINS(answer.error.msg, "unreadable answer");
}

static void stale_item(void *ctx, KubeObj *obj)
{
    StrBuf *names = ctx;

    (void)strbuf_printf(names, STR_FMT "@" STR_FMT " ", STR_ARG(obj->name), STR_ARG(obj->rv_text));
}

static void stale_page(void *ctx, const KubeError *error, const KubeListMeta *meta)
{
    StrBuf *names = ctx;

    T_CHECK(!error);
    (void)strbuf_printf(names, "list@" STR_FMT, STR_ARG(meta->rv));
}

static FakeVerdict stale_hook(void *ctx, const FakeCall *call)
{
    UNUSED(call);
    return (FakeVerdict){.kind = FAKE_STALE, .lag = *(const uint64_t *)ctx};
}

/* Versions 101: p1 made, 102: p2 made, 103: p1 changed, 104: p2 gone. */
T_TEST(a_stale_list_shows_the_past)
{
    static const struct {
        uint64_t lag;
        const char *want;
    } rows[] = {
        {0, "p1@103 list@104"},
        {1, "p1@103 p2@102 list@103"},
        {2, "p1@101 p2@102 list@102"},
        {3, "p1@101 list@101"},
        {4, "list@100"},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(fake_world) FakeWorld world;
        AUTO(strbuf) StrBuf names = STRBUF_INIT(1000);
        uint64_t lag = rows[i].lag;

        fake_world_init(&world, 1);
        T_OK(fakeapi_create(world.api,
                            "{apiVersion: v1, kind: Pod, metadata: {name: p1, namespace: n}}"));
        T_OK(fakeapi_create(world.api,
                            "{apiVersion: v1, kind: Pod, metadata: {name: p2, namespace: n}}"));
        T_OK(fakeapi_patch(world.api, KUBE_POD, "n", "p1", "{metadata: {labels: {a: b}}}"));
        T_OK(fakeapi_delete(world.api, KUBE_POD, "n", "p2"));
        fakeapi_set_hook(world.api, stale_hook, &lag);
        (void)kube_api_list_page(world.client, kube_kind(KUBE_POD), &(KubeListOptions){0},
                                 KUBE_CALL_NORMAL, stale_item, stale_page, &names);
        fake_world_run(&world, NS_PER_S);
        T_EQ_STR(strbuf_str(&names), rows[i].want);
    }
}
