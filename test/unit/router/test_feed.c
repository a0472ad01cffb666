/* SPDX-License-Identifier: Apache-2.0 */
#include "router/feed.h"
#include "test/harness/t.h"

#define POD(meta, status)                                                                          \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"n\",\"uid\":"           \
    "\"u\"," meta "},\"status\":{" status "}}"
#define OWNER(api, kind, controller)                                                               \
    "\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind                            \
    "\",\"name\":\"box\",\"uid\":\"o\",\"controller\":" controller "}]"
#define OURS OWNER("agents.x-k8s.io/v1beta1", "Sandbox", "true")
#define READY "\"podIP\":\"10.0.0.1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"

static KubeObj *pod(const char *text)
{
    KubeObj *obj = NULL;
    Err err = ERR_INIT;

    T_OK(kube_obj_from_text(kube_kind(KUBE_POD), str_from(text), &obj, &err));
    return obj;
}

static void check(const char *text, bool routable)
{
    AUTO(kube_obj) KubeObj *obj = pod(text);

    t_row(text);
    T_EQ_INT(feed_pod_is_routable(obj), routable);
    t_row(NULL);
}

T_TEST(which_pods_are_targets)
{
    check(POD("\"name\":\"a\"," OURS, READY), true);
    check(POD("\"name\":\"a\"," OWNER("agents.x-k8s.io/v9", "Sandbox", "true"), READY), true);
    check(POD("\"name\":\"a\"", READY), false);
    check(POD("\"name\":\"a\"," OWNER("agents.x-k8s.io/v1beta1", "Sandbox", "false"), READY),
          false);
    check(POD("\"name\":\"a\"," OWNER("agents.x-k8s.io/v1beta1", "SandboxX", "true"), READY),
          false);
    check(POD("\"name\":\"a\"," OWNER("evil/v1", "Sandbox", "true"), READY), false);
    check(POD("\"name\":\"a\"," OWNER("v1", "Sandbox", "true"), READY), false);
    check(
        POD("\"name\":\"a\",\"labels\":{\"agents.x-k8s.io/warm-pool-sandbox\":\"x\"}," OURS, READY),
        false);
    check(
        POD("\"name\":\"a\",\"labels\":{\"agents.x-k8s.io/warm-pool-sandbox\":\"\"}," OURS, READY),
        false);
    check(POD("\"name\":\"a\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"," OURS, READY), false);
    check(POD("\"name\":\"a\"," OURS, "\"podIP\":\"10.0.0.1\""), false);
    check(POD("\"name\":\"a\"," OURS,
              "\"podIP\":\"10.0.0.1\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]"),
          false);
    check(POD("\"name\":\"a\"," OURS, "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"),
          false);
    check(POD("\"name\":\"a\"," OURS,
              "\"podIP\":\"x\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]"),
          false);
}

T_TEST(which_of_two_pods)
{
    AUTO(kube_obj)
    KubeObj *own =
        pod(POD("\"name\":\"box\",\"creationTimestamp\":\"2026-01-01T00:00:00Z\"," OURS, READY));
    AUTO(kube_obj)
    KubeObj *young =
        pod(POD("\"name\":\"b\",\"creationTimestamp\":\"2026-01-03T00:00:00Z\"," OURS, READY));
    AUTO(kube_obj)
    KubeObj *old =
        pod(POD("\"name\":\"c\",\"creationTimestamp\":\"2026-01-02T00:00:00Z\"," OURS, READY));

    T_EQ_STR(feed_pod_sandbox(young), "box");
    T_CHECK(feed_pod_is_better(own, young) && !feed_pod_is_better(young, own));
    T_CHECK(feed_pod_is_better(young, old) && !feed_pod_is_better(old, young));
}
