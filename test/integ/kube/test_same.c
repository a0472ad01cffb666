/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server model of test/fakeapi against the real one: the same requests, the same answers.
 * An answer is written as a line: the reason; of an object its generation, whether its version is a
 * new one, whether it is being deleted, its labels and finalizers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "test/fakeapi/world.h"
#include "test/integ/kube/client.h"

#define LINES_MAX (64u << 10)

typedef enum Verb {
    CREATE,
    GET,
    PATCH,
    PUT,
    DELETE,
} Verb;

/* $NAME, $RV and $UID stand for the object's; text of DELETE: "uid" or "rv" with a wrong value,
 * "right" for both right. */
typedef struct Step {
    Verb verb;
    KubeKindId kind;
    const char *text;
} Step;

#define POLICY "\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\""
#define LEASE "\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\""

static const Step steps[] = {
    {GET, KUBE_NETPOL, NULL},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"},
    {DELETE, KUBE_NETPOL, NULL},
    {CREATE, KUBE_NETPOL, "{" POLICY ",\"metadata\":{\"name\":\"Bad_Name\"},\"spec\":{}}"},
    {CREATE, KUBE_NETPOL,
     "{" POLICY ",\"metadata\":{\"name\":\"$NAME\",\"resourceVersion\":\"1\"},\"spec\":{}}"},
    {CREATE, KUBE_NETPOL,
     "{" POLICY ",\"metadata\":{\"name\":\"$NAME\",\"namespace\":\"other\"},\"spec\":{}}"},
    {CREATE, KUBE_NETPOL,
     "{" POLICY ",\"metadata\":{\"name\":\"$NAME\",\"generation\":7,\"uid\":\"mine\"},\"spec\":"
     "{\"podSelector\":{},\"policyTypes\":[\"Ingress\"]}}"},
    {CREATE, KUBE_NETPOL,
     "{" POLICY ",\"metadata\":{\"name\":\"$NAME\"},\"spec\":{\"podSelector\":{}}}"},
    {GET, KUBE_NETPOL, NULL},
    {PATCH, KUBE_NETPOL, "{}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"labels\":{\"a\":null,\"c\":\"d\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"spec\":{\"podSelector\":{\"matchLabels\":{\"x\":\"y\"}}}}"},
    {PATCH, KUBE_NETPOL, "{\"spec\":{\"podSelector\":{\"matchLabels\":{\"x\":\"y\"}}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"resourceVersion\":\"1\",\"labels\":{\"e\":\"f\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"resourceVersion\":\"$RV\",\"labels\":{\"e\":\"f\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"uid\":\"other\",\"labels\":{\"g\":\"h\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"uid\":\"$UID\",\"labels\":{\"g\":\"h\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"generation\":99}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"name\":\"elsewhere\"}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"namespace\":\"elsewhere\"}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"finalizers\":[\"x.io/one\"]}}"},
    {DELETE, KUBE_NETPOL, "uid"},
    {DELETE, KUBE_NETPOL, "rv"},
    {DELETE, KUBE_NETPOL, "right"},
    {DELETE, KUBE_NETPOL, NULL},
    {CREATE, KUBE_NETPOL,
     "{" POLICY ",\"metadata\":{\"name\":\"$NAME\"},\"spec\":{\"podSelector\":{}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"labels\":{\"late\":\"yes\"}}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"finalizers\":[\"x.io/one\",\"x.io/two\"]}}"},
    {PATCH, KUBE_NETPOL, "{\"metadata\":{\"finalizers\":null}}"},
    {GET, KUBE_NETPOL, NULL},
    {DELETE, KUBE_NETPOL, NULL},
    {CREATE, KUBE_LEASE,
     "{" LEASE ",\"metadata\":{\"name\":\"$NAME\"},\"spec\":{\"holderIdentity\":\"a\"}}"},
    {PUT, KUBE_LEASE,
     "{" LEASE ",\"metadata\":{\"name\":\"$NAME\"},\"spec\":{\"holderIdentity\":\"b\"}}"},
    {PUT, KUBE_LEASE,
     "{" LEASE ",\"metadata\":{\"name\":\"$NAME\",\"resourceVersion\":\"1\"},\"spec\":"
     "{\"holderIdentity\":\"b\"}}"},
    {PUT, KUBE_LEASE,
     "{" LEASE ",\"metadata\":{\"name\":\"$NAME\",\"resourceVersion\":\"$RV\"},\"spec\":"
     "{\"holderIdentity\":\"b\"}}"},
    {PUT, KUBE_LEASE,
     "{" LEASE ",\"metadata\":{\"name\":\"$NAME\",\"resourceVersion\":\"$RV\",\"uid\":\"other\"},"
     "\"spec\":{\"holderIdentity\":\"c\"}}"},
    {DELETE, KUBE_LEASE, "right"},
    {GET, KUBE_LEASE, NULL},
};

typedef struct Side {
    KubeApi *api;
    void (*wait)(void *ctx, Answer *answer);
    void *ctx;
    const char *name;
    char rv[64];
    char uid[64];
    StrBuf lines;
} Side;

/* ---- one step ---- */

static char *fill_in(const Side *side, const char *text)
{
    AUTO(strbuf) StrBuf out = STRBUF_INIT(LINES_MAX);
    Str rest = str_from(text);

    while (rest.len > 0) {
        if (str_starts(rest, STR("$NAME"))) {
            (void)strbuf_append_cstr(&out, side->name);
            rest = str_drop(rest, 5);
        } else if (str_starts(rest, STR("$UID"))) {
            (void)strbuf_append_cstr(&out, side->uid);
            rest = str_drop(rest, 4);
        } else if (str_starts(rest, STR("$RV"))) {
            (void)strbuf_append_cstr(&out, side->rv);
            rest = str_drop(rest, 3);
        } else {
            (void)strbuf_append_char(&out, rest.ptr[0]);
            rest = str_drop(rest, 1);
        }
    }
    return strbuf_take(&out);
}

static void send_delete(Side *side, const Step *step, KubeKey key, Answer *answer)
{
    bool right = step->text && strcmp(step->text, "right") == 0;
    KubeDeleteOptions options = {.grace_s = -1};

    if (right) {
        options.uid = str_from(side->uid);
        options.rv = str_from(side->rv);
    } else if (step->text && strcmp(step->text, "uid") == 0) {
        options.uid = STR("other");
    } else if (step->text) {
        options.rv = STR("1");
    }
    (void)kube_api_delete(side->api, kube_kind(step->kind), key, &options, NULL, on_answer, answer);
}

static void send_step(Side *side, const Step *step, Answer *answer)
{
    const KubeKind *kind = kube_kind(step->kind);
    AUTO(mem) char *text = step->text ? fill_in(side, step->text) : NULL;
    KubeKey key = {STR("default"), str_from(side->name)};

    switch (step->verb) {
    case CREATE:
        (void)kube_api_create(side->api, kind, key.ns, str_from(text), NULL, on_answer, answer);
        break;
    case GET:
        (void)kube_api_get(side->api, kind, key, NULL, on_answer, answer);
        break;
    case PATCH:
        (void)kube_api_patch(side->api, kind, key, NULL, str_from(text), NULL, on_answer, answer);
        break;
    case PUT:
        (void)kube_api_replace(side->api, kind, key, NULL, str_from(text), NULL, on_answer, answer);
        break;
    case DELETE:
        send_delete(side, step, key, answer);
        break;
    }
}

static void write_map(StrBuf *out, const char *title, JNode map)
{
    JIter it = jnode_iter(map);
    Str key;
    JNode value;

    (void)strbuf_printf(out, " %s=", title);
    while (jiter_next(&it, &key, &value)) {
        (void)strbuf_printf(out, STR_FMT ":" STR_FMT ",", STR_ARG(key), STR_ARG(jnode_str(value)));
    }
}

static void write_answer(Side *side, size_t i, const Answer *answer)
{
    const KubeObj *obj = answer->obj;

    (void)strbuf_printf(&side->lines, "%zu: %s", i, kube_reason_name(answer->reason));
    if (answer->reason != KUBE_REASON_NONE) {
        (void)strbuf_printf(&side->lines, " %d", answer->error.http);
    }
    if (obj) {
        JNode metadata = jnode_get(kube_obj_root(obj), STR("metadata"));
        bool known = str_eq(obj->rv_text, str_from(side->rv));

        (void)strbuf_printf(&side->lines, " version=%s", known ? "same" : "new");
        if (obj->kind->id == KUBE_NETPOL) {
            (void)strbuf_printf(&side->lines, " generation=%d", (int)kube_obj_generation(obj));
        }
        (void)strbuf_printf(&side->lines, " deleting=%d", kube_obj_deleting(obj));
        write_map(&side->lines, "labels", jnode_get(metadata, STR("labels")));
        (void)snprintf(side->rv, sizeof(side->rv), STR_FMT, STR_ARG(obj->rv_text));
        (void)snprintf(side->uid, sizeof(side->uid), STR_FMT, STR_ARG(obj->uid));
    }
    (void)strbuf_append_char(&side->lines, '\n');
}

static void run_script(Side *side)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        AUTO(answer) Answer answer = {.done = false};

        send_step(side, &steps[i], &answer);
        side->wait(side->ctx, &answer);
        write_answer(side, i, &answer);
    }
}

/* ---- the two sides ---- */

static void wait_real(void *ctx, Answer *answer)
{
    (void)client_wait(ctx, answer);
}

static void wait_fake(void *ctx, Answer *answer)
{
    T_CHECK(fake_world_run_until(ctx, &answer->done, 60 * NS_PER_S));
}

T_TEST(real_and_fake_answer_the_same)
{
    AUTO(client) Client client;
    AUTO(fake_world) FakeWorld world;
    AUTO(mem) char *name = xasprintf("integ-same-%d", (int)getpid());
    Side real = {.wait = wait_real, .ctx = &client, .name = name, .lines = STRBUF_INIT(LINES_MAX)};
    Side fake = {.wait = wait_fake, .ctx = &world, .name = name, .lines = STRBUF_INIT(LINES_MAX)};
    KubeConfig *config = NULL;
    Err err = ERR_INIT;

    fake_world_init(&world, 1);
    if (kube_config_load(&(KubeConfigSource){.path = NULL}, &config, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
    client_init(&client, config, NULL);
    real.api = client.api;
    fake.api = world.client;
    run_script(&real);
    run_script(&fake);
    for (Str a = strbuf_str(&real.lines), b = strbuf_str(&fake.lines); a.len > 0 || b.len > 0;) {
        Str want = str_cut(a, '\n', &a);
        Str got = str_cut(b, '\n', &b);

        if (!str_eq(want, got)) {
            fprintf(stderr, "real " STR_FMT "\nfake " STR_FMT "\n", STR_ARG(want), STR_ARG(got));
        }
    }
    T_EQ_STR(strbuf_str(&fake.lines), strbuf_str(&real.lines));
    strbuf_deinit(&real.lines);
    strbuf_deinit(&fake.lines);
}
