# SPDX-License-Identifier: Apache-2.0
"""Objects that scenarios make, on the small images every test node has, and what is compared of them."""
import datetime
import json

from k8s import apply, condition, get, kubectl, wait_for

CORE = "agents.x-k8s.io/v1beta1"
EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"
PAUSE = "localhost/cofferdam-test/pause:1"
BUSYBOX = "localhost/cofferdam-test/busybox:1"
NAME_HASH = "agents.x-k8s.io/sandbox-name-hash"
POOL_HASH = "agents.x-k8s.io/warm-pool-sandbox"
HOLD = "cofferdam.test/hold"  # a finalizer that keeps an object until the scenario lets it go


def name_hash(name):
    """The hash in labels and selectors: FNV-1a, 32 bits."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return f"{value:08x}"


def pod_spec(image=PAUSE, command=None, **more):
    container = {"name": "c", "image": image, "imagePullPolicy": "IfNotPresent"}
    if command:
        container["command"] = command
    return {"containers": [container], "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False, **more}


def exits(code=0, after=0):
    """A pod that ends by itself."""
    return pod_spec(BUSYBOX, ["/bin/busybox", "sh", "-c", f"sleep {after}; exit {code}"], restartPolicy="Never")


def obj(api, kind, name, ns, spec, labels=None, annotations=None):
    return {"apiVersion": api, "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": ns, "labels": labels or {}, "annotations": annotations or {}}}


def sandbox(name, ns, pod=None, metadata=None, **spec):
    blueprint = {"spec": pod or pod_spec()}
    if metadata:
        blueprint["metadata"] = metadata
    return obj(CORE, "Sandbox", name, ns, {"podTemplate": blueprint, **spec})


def template(name, ns, pod=None, metadata=None, **spec):
    """A template without a network policy, unless the scenario is about policies."""
    spec.setdefault("networkPolicyManagement", "Unmanaged")
    spec = {k: v for k, v in spec.items() if v is not None}
    blueprint = {"spec": pod or pod_spec()}
    if metadata:
        blueprint["metadata"] = metadata
    return obj(EXTENSIONS, "SandboxTemplate", name, ns, {"podTemplate": blueprint, **spec})


def pool(name, ns, of, replicas=0, strategy=None):
    spec = {"replicas": replicas, "sandboxTemplateRef": {"name": of}}
    if strategy:
        spec["updateStrategy"] = {"type": strategy}
    return obj(EXTENSIONS, "SandboxWarmPool", name, ns, spec)


def claim(name, ns, of, labels=None, annotations=None, **spec):
    return obj(EXTENSIONS, "SandboxClaim", name, ns, {"warmPoolRef": {"name": of}, **spec}, labels, annotations)


def volume(name, size="1Gi"):
    return {"metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}}


def apply_all(*objects):
    """One call of kubectl for many objects."""
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin="\n---\n".join(map(json.dumps, objects)))


def patch(kind, name, ns, change, ok=True):
    return kubectl("patch", kind, name, "-n", ns, "--type=merge", "-p", json.dumps(change), ok=ok)


def hold(kind, name, ns):
    patch(kind, name, ns, {"metadata": {"finalizers": [HOLD]}})


def release(kind, name, ns):
    patch(kind, name, ns, {"metadata": {"finalizers": None}}, ok=False)


def soon(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime(
        "%Y-%m-%dT%H:%M:%SZ")


def ready_reason(kind, name, ns):
    return condition(get(kind, name, ns), "Ready").get("reason")


def wait_reason(kind, name, ns, reason, seconds=30):
    """Waits until Ready=False has the reason; the message is returned."""
    def probe():
        ready = condition(get(kind, name, ns), "Ready")
        return ready if (ready.get("status"), ready.get("reason")) == ("False", reason) else None
    try:
        return wait_for("", probe, seconds)["message"]
    except AssertionError as e:
        raise AssertionError(f"{kind} {name} is not {reason}: {condition(get(kind, name, ns), 'Ready')}") from e


def whole_status(got):
    """A status as users' predicates compare it: without addresses, times and the order of conditions."""
    status = {k: v for k, v in got.get("status", {}).items() if k not in ("podIPs", "nodeName")}
    conditions = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in status.get("conditions", [])]
    status["conditions"] = {c.pop("type"): c for c in conditions}
    return status


def cond(status, reason, message, generation):
    return {"status": status, "reason": reason, "message": message, "observedGeneration": generation}


def controller_of(got):
    """(kind, name) of what controls an object; None when nothing does."""
    for owner in got["metadata"].get("ownerReferences", []):
        if owner.get("controller"):
            return owner["kind"], owner["name"]
    return None


def config_map(name, ns):
    """An owner that is none of ours."""
    apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": ns}})
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "controller": True,
            "uid": get("configmap", name, ns)["metadata"]["uid"]}
