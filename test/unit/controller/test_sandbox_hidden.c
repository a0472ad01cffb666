/* SPDX-License-Identifier: Apache-2.0 */
/* Children that the cache does not show or that do not stay; each of these was found by the
 * simulator. */
#include "base/mem.h"
#include "test/harness/t.h"
#include "test/unit/controller/rig.h"

static void sandbox(Rig *rig, const char *spec)
{
    AUTO(mem)
    char *text =
        xasprintf("{apiVersion: agents.x-k8s.io/v1beta1, kind: Sandbox, metadata: {name: s, "
                  "namespace: a}, spec: {podTemplate: {spec: {containers: [{name: c, image: i}]}}"
                  "%s}}",
                  spec);

    T_OK(fakeapi_create(rig->fake.api, text));
}

static Str ready_reason(const Rig *rig)
{
    const json_t *object = fakeapi_get(rig->fake.api, KUBE_SANDBOX, "a", "s");
    const json_t *list = jx_get(object, "status", "conditions");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (str_eq(jx_get_str(json_array_get(list, i), "type"), STR("Suspended"))) {
            return jx_get_str(json_array_get(list, i), "reason");
        }
    }
    return STR_NULL;
}

T_TEST(a_lost_label_comes_back_with_write_behind)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 1);
    rig.options.sandbox_write_behind_ns = (int64_t)NS_PER_S;
    sandbox(&rig, "");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_POD, "a", "s",
                       "{metadata: {labels: {agents.x-k8s.io/sandbox-name-hash: null}}}"));
    rig_run(&rig, 5 * NS_PER_S);
    T_CHECK(jx_get(fakeapi_get(rig.fake.api, KUBE_POD, "a", "s"), "metadata", "labels",
                   "agents.x-k8s.io/sandbox-name-hash"));
}

T_TEST(a_suspended_sandbox_notices_that_a_stranger_went)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 2);
    T_OK(fakeapi_create(rig.fake.api, "{apiVersion: v1, kind: Pod, metadata: {name: s, namespace: "
                                      "a}, spec: {containers: [{name: c, image: i}]}}"));
    sandbox(&rig, ", operatingMode: Suspended");
    rig_start(&rig);
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_STR(ready_reason(&rig), "PodNotOwned");
    T_OK(fakeapi_delete(rig.fake.api, KUBE_POD, "a", "s"));
    rig_run(&rig, 70 * NS_PER_S);
    T_EQ_STR(ready_reason(&rig), "PodTerminated");
}

T_TEST(a_service_that_left_the_cache_is_asked_for_before_the_status_loses_it)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 4);
    sandbox(&rig, ", service: true");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_SANDBOX, "a", "s", "{spec: {service: null}}"));
    rig_run(&rig, 5 * NS_PER_S);
    T_OK(fakeapi_patch(rig.fake.api, KUBE_SERVICE, "a", "s",
                       "{metadata: {labels: {agents.x-k8s.io/sandbox-name-hash: null}}}"));
    rig_run(&rig, 5 * NS_PER_S);
    T_CHECK(jx_get(fakeapi_get(rig.fake.api, KUBE_SERVICE, "a", "s"), "metadata", "labels",
                   "agents.x-k8s.io/sandbox-name-hash"));
    T_EQ_STR(jx_get_str(fakeapi_get(rig.fake.api, KUBE_SANDBOX, "a", "s"), "status", "service"),
             "s");
}

/* Its Pod is there, and nobody has written down that it is. */
T_TEST(an_expired_sandbox_without_a_status_leaves_no_hidden_pod)
{
    AUTO(rig) Rig rig;

    rig_init(&rig, 5);
    sandbox(&rig, ", shutdownTime: '2026-11-01T00:00:00Z'");
    T_OK(fakeapi_create(rig.fake.api, "{apiVersion: v1, kind: Pod, metadata: {name: s, namespace: "
                                      "a}, spec: {containers: [{name: c, image: i}]}}"));
    {
        Str uid = jx_get_str(fakeapi_get(rig.fake.api, KUBE_SANDBOX, "a", "s"), "metadata", "uid");
        AUTO(mem)
        char *patch = xasprintf("{metadata: {ownerReferences: [{apiVersion: "
                                "agents.x-k8s.io/v1beta1, kind: Sandbox, name: s, uid: " STR_FMT
                                ", controller: true}]}}",
                                STR_ARG(uid));

        T_OK(fakeapi_patch(rig.fake.api, KUBE_POD, "a", "s", patch));
    }
    rig_start(&rig);
    rig_run(&rig, 10 * NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_POD), 0);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SANDBOX), 1);
    fakeapi_trace_reset(rig.fake.api);
    rig_run(&rig, 600 * NS_PER_S);
    T_EQ_INT(fakeapi_requests(rig.fake.api), 0);
}

/* The garbage collector takes the children of an owner whose end the cache has not heard of; the
 * same to the controller as somebody who deletes the Service whenever it is there. */
T_TEST(a_child_that_does_not_stay_is_not_made_in_a_hot_loop)
{
    AUTO(rig) Rig rig;
    size_t writes;

    rig_init(&rig, 3);
    sandbox(&rig, ", service: true");
    rig_start(&rig);
    rig_run(&rig, 5 * NS_PER_S);
    fakeapi_trace_reset(rig.fake.api);
    for (int i = 0; i < 6000; i++) {
        (void)fakeapi_delete(rig.fake.api, KUBE_SERVICE, "a", "s");
        rig_run(&rig, 10 * NS_PER_MS);
    }
    writes = fakeapi_writes(rig.fake.api);
    T_CHECK(writes > 20);
    T_CHECK(writes < 100);
    rig_run(&rig, 20 * NS_PER_S);
    T_EQ_INT(fakeapi_count(rig.fake.api, KUBE_SERVICE), 1);
}
