# SPDX-License-Identifier: Apache-2.0
"""What the demo asks the cluster for: kubectl with the kubeconfig that run chose, and questions about the pool."""
import json
import subprocess
import time

SYSTEM = "agent-sandbox-system"
NS = "agent-sandbox"
NAME = "python-sandbox"  # of the example template and of the example pool
PATIENCE = 180  # seconds for a pool on a slow cluster


def kubectl(*args):
    done = subprocess.run(["kubectl", *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def get(kind, name=None, ns=NS, selector=None):
    """An object, None when there is none; or the items of a list."""
    args = ["get", kind, "-n", ns, "-o", "json"]
    if name:
        text = kubectl(*args, name, "--ignore-not-found")
        return json.loads(text) if text else None
    return json.loads(kubectl(*args, *(["-l", selector] if selector else [])))["items"]


def wait_for(step, what, probe, seconds=PATIENCE):
    """Polls until probe() returns (True, text); the text is what progress shows meanwhile."""
    deadline = time.monotonic() + seconds
    while True:
        done, step.status = probe()
        if done:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen within {seconds} s; last seen: {step.status}")
        time.sleep(0.1)


def container(pod_spec):
    """Of a pod's first container, what the demo changes."""
    first = pod_spec["containers"][0]
    return first["image"], [(e["name"], e.get("value")) for e in first.get("env", [])]


def members():
    """The Sandboxes that the pool owns and that are not being deleted."""
    return [s for s in get("sandbox") if "deletionTimestamp" not in s["metadata"] and any(
        o["kind"] == "SandboxWarmPool" and o["name"] == NAME for o in s["metadata"].get("ownerReferences", []))]


def pool_state():
    """(full and made of the template as it is now, text). Full: as many members as wished, each ready."""
    pool = get("sandboxwarmpool", NAME)
    want = container(get("sandboxtemplate", NAME)["spec"]["podTemplate"]["spec"])
    present = members()
    current = sum(container(s["spec"]["podTemplate"]["spec"]) == want for s in present)
    replicas, ready = pool["spec"].get("replicas", 1), pool.get("status", {}).get("readyReplicas", 0)
    total = pool.get("status", {}).get("replicas", 0)
    full = ready == total == replicas == len(present) == current
    return full, f"{ready} of {replicas} ready, {current} of {len(present)} from the current template"
