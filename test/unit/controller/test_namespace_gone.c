/* SPDX-License-Identifier: Apache-2.0 */
/* A namespace that is being deleted: the namespace controller removes objects one kind after the
 * other, and nothing may be made there. Pools, claims and Sandboxes keep still meanwhile. */
#include <stdio.h>

#include "test/harness/t.h"
#include "test/unit/controller/rig.h"

static FakeVerdict refuse_creates(void *ctx, const FakeCall *call)
{
    UNUSED(ctx);
    if (call->method != KUBE_POST) {
        return (FakeVerdict){.kind = FAKE_PASS};
    }
    return (FakeVerdict){
        .kind = FAKE_BODY,
        .http = 403,
        .body = "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"because it is being "
                "terminated\",\"code\":403,\"details\":{\"causes\":[{\"reason\":"
                "\"NamespaceTerminating\"}]}}"};
}

typedef struct Names {
    char text[16][64];
    size_t n;
} Names;

static void collect(void *ctx, const json_t *object)
{
    Names *names = ctx;

    T_CHECK(names->n < ARRAY_LEN(names->text));
    (void)snprintf(names->text[names->n++], sizeof(names->text[0]), STR_FMT,
                   STR_ARG(jx_get_str(object, "metadata", "name")));
}

static void delete_all(Rig *rig, KubeKindId kind)
{
    Names names = {0};

    fakeapi_each(rig->fake.api, kind, collect, &names);
    for (size_t i = 0; i < names.n; i++) {
        T_EQ_INT(fakeapi_delete(rig->fake.api, kind, "a", names.text[i]), 0);
    }
}

static size_t count(const Rig *rig, const char *start)
{
    Str trace = fakeapi_trace(rig->fake.api);
    size_t n = 0;

    while (trace.len > 0) {
        n += str_starts(str_cut(trace, '\n', &trace), str_from(start));
    }
    return n;
}

T_TEST(a_namespace_that_is_being_deleted_is_not_filled_again)
{
    static const KubeKindId kinds[] = {KUBE_POD, KUBE_SANDBOX, KUBE_NETPOL, KUBE_TEMPLATE};
    AUTO(rig) Rig rig;

    rig_init(&rig, 31);
    rig_pool(&rig, 3, "Recreate");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    rig_claim(&rig, "warm", "");
    rig_claim(&rig, "cold", ", env: [{name: A, value: b}]");
    rig_run(&rig, 10 * NS_PER_S);
    fakeapi_set_hook(rig.fake.api, refuse_creates, NULL);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        fakeapi_trace_reset(rig.fake.api);
        delete_all(&rig, kinds[i]);
        rig_run(&rig, 300 * NS_PER_S);
        /* Six objects at most, each looked at ten times in five minutes; and Events. */
        T_CHECK(count(&rig, "POST ") <= 100);
        T_CHECK(fakeapi_writes(rig.fake.api) - count(&rig, "POST ") <= 20);
    }
    fakeapi_trace_reset(rig.fake.api);
    rig_run(&rig, 600 * NS_PER_S);
    T_EQ_INT(fakeapi_writes(rig.fake.api) - count(&rig, "POST "), 0);
    fakeapi_set_hook(rig.fake.api, NULL, NULL);
}
