# SPDX-License-Identifier: Apache-2.0
"""The few things every scenario does with the cluster: kubectl, waiting, the audit log."""
import contextlib
import json
import os
import subprocess
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
AUDIT_LOG = os.path.join(os.environ.get("CLUSTER_DIR") or os.path.join(ROOT, "build", "cluster"), "audit.log")
NS = "agent-sandbox"
SYSTEM = "agent-sandbox-system"
IMAGE = os.environ["IMAGE_PREFIX"] + "python-sandbox:" + os.environ["IMAGE_TAG"]
POOL = "python-sandbox"
TEMPLATE = "python-sandbox"


class Unmet(AssertionError):
    """What a scenario promised did not happen."""


def check(condition, text):
    if not condition:
        raise Unmet(text)


def kubectl(*args, stdin=None, ok=True):
    done = subprocess.run(["kubectl", *args], input=stdin, capture_output=True, text=True, check=False)
    if ok and done.returncode != 0:
        raise Unmet(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout if ok else done


def apply(obj):
    return kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(obj))


def get(kind, name=None, ns=NS, selector=None):
    """An object (None when it is not there), or the items of a list."""
    if name:
        done = kubectl("get", kind, name, "-n", ns, "-o", "json", ok=False)
        if done.returncode != 0:
            if "NotFound" in done.stderr:
                return None
            raise Unmet(f"get {kind} {name}: {done.stderr.strip()}")
        return json.loads(done.stdout)
    args = ["get", kind, "-n", ns, "-o", "json"] + (["-l", selector] if selector else [])
    return json.loads(kubectl(*args))["items"]


def wait_for(what, probe, seconds=60, every=0.1):
    """Calls probe until it returns something true; that is returned. Unmet names what was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Unmet(f"after {seconds} s: {what}")
        time.sleep(every)


def condition(obj, kind):
    for c in (obj or {}).get("status", {}).get("conditions", []):
        if c["type"] == kind:
            return c
    return {}


def ready(obj):
    return condition(obj, "Ready").get("status") == "True"


def wait_ready(kind, name, ns=NS, seconds=60):
    def probe():
        obj = get(kind, name, ns)
        return obj if ready(obj) else None
    try:
        return wait_for(f"{kind} {name} is not Ready", probe, seconds)
    except Unmet as e:
        raise Unmet(f"{e}; conditions: {json.dumps((get(kind, name, ns) or {}).get('status', {}))}") from e


def wait_pool(name=POOL, ns=NS, seconds=60):
    """Waits until a pool has as many ready members as it should, and no more."""
    def probe():
        pool = get("sandboxwarmpool", name, ns)
        status = (pool or {}).get("status", {})
        want = pool["spec"].get("replicas", 1)
        return status.get("readyReplicas", 0) == want == status.get("replicas", 0)
    wait_for(f"pool {name} is not full", probe, seconds)


def wait_gone(kind, name, ns=NS, seconds=60):
    wait_for(f"{kind} {name} is still there", lambda: get(kind, name, ns) is None, seconds)


def members(pool=POOL, ns=NS):
    """Names of the Sandboxes a pool owns."""
    return {s["metadata"]["name"] for s in get("sandbox", ns=ns)
            if any(o["kind"] == "SandboxWarmPool" and o["name"] == pool and o.get("controller")
                   for o in s["metadata"].get("ownerReferences", []))}


@contextlib.contextmanager
def namespace(name, labels=None):
    """A namespace for one scenario; it and all in it are gone afterwards."""
    apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
    try:
        yield name
    finally:
        kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


def claim(name, pool=POOL, ns=NS, **spec):
    return {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim",
            "metadata": {"name": name, "namespace": ns}, "spec": {"warmPoolRef": {"name": pool}, **spec}}


def audit_entries(since_offset=0):
    """Entries of the API server's audit log (writes only) after a byte offset."""
    with open(AUDIT_LOG, encoding="utf-8") as f:
        f.seek(since_offset)
        return [json.loads(line) for line in f if line.endswith("\n")]


def audit_offset():
    return os.path.getsize(AUDIT_LOG)
