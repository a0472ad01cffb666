# SPDX-License-Identifier: Apache-2.0
"""Bare Sandboxes: pod, Service, volumes, suspend and resume, and objects that are not ours."""
import datetime

from k8s import IMAGE, NS, apply, check, condition, get, kubectl, wait_for, wait_gone, wait_ready

HASH = "agents.x-k8s.io/sandbox-name-hash"


def sandbox(name, **spec):
    pod = {"containers": [{
        "name": "c", "image": IMAGE, "imagePullPolicy": "IfNotPresent", "ports": [{"containerPort": 8888, "name": "http"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}],
        "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}}
    return {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": name, "namespace": NS},
            "spec": {"podTemplate": {"spec": pod}, **spec}}


def drop(name):
    kubectl("delete", "sandbox", name, "-n", NS, "--wait=false", "--ignore-not-found")
    wait_gone("sandbox", name)
    wait_gone("pod", name)


def scenario_sandbox_gets_pod_service_and_volume():
    apply(sandbox("bare", service=True, volumeClaimTemplates=[{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]))
    got = wait_ready("sandbox", "bare")
    check(condition(got, "Ready")["reason"] == "DependenciesReady", "reason")
    check(condition(got, "Ready")["message"] == "Pod is Ready; Service Exists", condition(got, "Ready")["message"])
    check(condition(got, "Suspended")["message"] == "Sandbox is not suspended", "Suspended")
    check(got["status"]["service"] == "bare", "service")
    check(got["status"]["serviceFQDN"] == f"bare.{NS}.svc.cluster.local", "serviceFQDN")
    check(got["status"]["selector"].startswith(HASH + "="), "selector")
    service = get("service", "bare")
    check(service["spec"]["clusterIP"] == "None", "headless")
    check([p["port"] for p in service["spec"]["ports"]] == [8888], "ports")
    check(get("pvc", "data-bare")["status"]["phase"] == "Bound", "volume")
    pod = get("pod", "bare")
    check(any(v.get("persistentVolumeClaim", {}).get("claimName") == "data-bare" for v in pod["spec"]["volumes"]), "mount")
    drop("bare")
    wait_gone("service", "bare")
    wait_gone("pvc", "data-bare")


def scenario_suspend_and_resume():
    apply(sandbox("sleepy"))
    uid = wait_ready("sandbox", "sleepy") and get("pod", "sleepy")["metadata"]["uid"]
    kubectl("patch", "sandbox", "sleepy", "-n", NS, "--type=merge", "-p", '{"spec":{"operatingMode":"Suspended"}}')
    wait_gone("pod", "sleepy")

    def suspended():
        c = condition(get("sandbox", "sleepy"), "Suspended")
        return (c.get("status"), c.get("reason")) == ("True", "PodTerminated")
    wait_for("Suspended is not True", suspended, 20)
    check("podIPs" not in get("sandbox", "sleepy")["status"], "podIPs are left")
    kubectl("patch", "sandbox", "sleepy", "-n", NS, "--type=merge", "-p", '{"spec":{"operatingMode":"Running"}}')
    wait_ready("sandbox", "sleepy")
    check(get("pod", "sleepy")["metadata"]["uid"] != uid, "the same pod")
    drop("sleepy")


def scenario_foreign_pod_with_our_name_is_left_alone():
    obj = sandbox("taken")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "taken", "namespace": NS},
           "spec": obj["spec"]["podTemplate"]["spec"]}
    apply(pod)
    uid = get("pod", "taken")["metadata"]["uid"]
    apply(obj)

    def refused():
        return condition(get("sandbox", "taken"), "Ready").get("reason") == "ReconcilerError"
    wait_for("the foreign pod is not reported", refused, 20)
    kubectl("delete", "sandbox", "taken", "-n", NS)
    still = get("pod", "taken")
    check(still and still["metadata"]["uid"] == uid and "ownerReferences" not in still["metadata"], "pod was touched")
    kubectl("delete", "pod", "taken", "-n", NS, "--wait=false")
    wait_gone("pod", "taken")


def scenario_two_pods_of_one_sandbox_stop_it_with_a_reason():
    apply(sandbox("twin"))
    owner = wait_ready("sandbox", "twin")
    pod = get("pod", "twin")
    apply({"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": "twin-2", "namespace": NS, "labels": {HASH: pod["metadata"]["labels"][HASH]},
                        "ownerReferences": pod["metadata"]["ownerReferences"]},
           "spec": sandbox("x")["spec"]["podTemplate"]["spec"]})
    check(owner["metadata"]["uid"] == pod["metadata"]["ownerReferences"][0]["uid"], "owner")

    def refused():
        c = condition(get("sandbox", "twin"), "Ready")
        return c.get("reason") == "MultiplePods" and c.get("message") == (
            "multiple Pods (2) are controlled by this Sandbox; refusing to choose or create a Pod")
    wait_for("not MultiplePods", refused, 20)
    kubectl("delete", "pod", "twin-2", "-n", NS, "--wait=false")
    wait_ready("sandbox", "twin")
    drop("twin")


def scenario_expired_sandbox_is_retained_without_its_pod():
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    apply(sandbox("brief", shutdownTime=soon))
    wait_ready("sandbox", "brief")
    wait_gone("pod", "brief", seconds=20)
    ready = condition(get("sandbox", "brief"), "Ready")
    check((ready["reason"], ready["message"]) == ("SandboxExpired", "Sandbox has expired"), str(ready))
    drop("brief")
