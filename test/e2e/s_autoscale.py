# SPDX-License-Identifier: Apache-2.0
"""An autoscaler and kubectl on a pool, by its scale subresource."""
import json

from k8s import check, condition, get, kubectl, members, namespace, wait_for, wait_pool
from metricsapi import METRIC, metric
from objects import EXTENSIONS, apply_all, name_hash, pool, template


def autoscaler(ns, target):
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "hpa", "namespace": ns},
            "spec": {"scaleTargetRef": {"apiVersion": EXTENSIONS, "kind": "SandboxWarmPool", "name": "p"},
                     "minReplicas": 1, "maxReplicas": 6,
                     "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
                     "metrics": [{"type": "External", "external": {"metric": {"name": METRIC}, "target": target}}]}}


def replicas(ns):
    return get("swp", "p", ns)["spec"]["replicas"]


def scenario_autoscaler_follows_a_metric_up_and_down():
    with namespace("e2e-hpa") as ns, metric(ns) as served:
        apply_all(template("t", ns), pool("p", ns, "t", 1))
        wait_pool("p", ns)
        served.metric = 40
        apply_all(autoscaler(ns, {"type": "AverageValue", "averageValue": "10"}))

        def told():
            got = get("hpa", "hpa", ns)
            return f"{got.get('status')}"
        try:
            wait_for("the pool is not scaled up to 40/10", lambda: replicas(ns) == 4, 40)
            wait_pool("p", ns)
            served.metric = 15
            wait_for("the pool is not scaled down to 15/10", lambda: replicas(ns) == 2, 40)
            wait_pool("p", ns)
            check(len(members("p", ns)) == 2, str(members("p", ns)))
            # A total for all pods: the autoscaler counts those that the pool's selector finds.
            kubectl("delete", "hpa", "hpa", "-n", ns)
            served.metric = 30
            apply_all(autoscaler(ns, {"type": "Value", "value": "20"}))
            wait_for("the pool is not scaled by its pods", lambda: replicas(ns) >= 3, 40)
        except AssertionError as e:
            raise AssertionError(f"{e}; the autoscaler says {told()}") from e
        got = get("hpa", "hpa", ns)
        check(condition(got, "AbleToScale")["status"] == "True", told())


def scenario_kubectl_scales_and_reads_the_scale():
    with namespace("e2e-scale") as ns:
        apply_all(template("t", ns), pool("p", ns, "t", 1))
        wait_pool("p", ns)
        kubectl("scale", "swp", "p", "-n", ns, "--replicas=3", "--current-replicas=1")
        wait_pool("p", ns)
        path = f"/apis/{EXTENSIONS}/namespaces/{ns}/sandboxwarmpools/p/scale"
        scale = json.loads(kubectl("get", "--raw", path))
        check((scale["spec"]["replicas"], scale["status"]["replicas"]) == (3, 3), str(scale))
        selector = f"agents.x-k8s.io/warm-pool-sandbox={name_hash('p')}"
        check(scale["status"]["selector"] == selector, str(scale["status"]))
        check(len(get("pod", ns=ns, selector=selector)) == 3, "the selector does not find the pods")
        row = kubectl("get", "swp", "p", "-n", ns, "--no-headers").split()
        check(row[:3] == ["p", "3", "3"], str(row))
        kubectl("scale", "swp", "p", "-n", ns, "--replicas=1")
        wait_pool("p", ns)
