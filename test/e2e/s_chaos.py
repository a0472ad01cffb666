# SPDX-License-Identifier: Apache-2.0
"""The controller killed at random while 300 claims come in: nothing bound twice, nothing lost, all Ready.
Pods of this one run on fake nodes, so that the controller is what is tried."""
import os
import random
import subprocess
import time

from k8s import AUDIT_LOG, SYSTEM, check, get, kubectl, members, namespace, wait_for, wait_pool
from objects import apply_all, claim, pod_spec, pool, template
from s_install import ready_pods
from s_leader import LEASE
from s_parallel import all_ready, check_bindings

CLAIMS, BATCH, MEMBERS = 300, 10, 30
CLUSTER = os.path.dirname(AUDIT_LOG)
FAKE = {"nodeSelector": {"type": "kwok"},
        "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}]}


def holder():
    """Who holds the Lease: a process, not a pod, since a restarted container may be the next one."""
    return get("lease", LEASE, ns=SYSTEM)["spec"].get("holderIdentity", "")


def kill():
    """SIGKILL of the leader, by the node's container runtime: no signal handler, no Lease given back."""
    who = holder()
    pod = get("pod", who.rsplit("_", 1)[0], ns=SYSTEM)
    container = (pod or {}).get("status", {}).get("containerStatuses", [{}])[0].get("containerID", "")
    if not container:
        return None
    with open(f"{CLUSTER}/pid/mounts", encoding="utf-8") as f:
        node = f"--mount=/proc/{f.read().strip()}/ns/mnt"
    done = subprocess.run(["nsenter", node, "ctr", "-a", "/run/cluster/containerd.sock", "-n", "k8s.io", "task", "kill",
                           "-s", "SIGKILL", container.split("//")[1]], capture_output=True, text=True, check=False)
    return who if done.returncode == 0 else None


def throw_away():
    """The leader's pod is gone from the API while its process still stops."""
    who = holder()
    done = kubectl("delete", "pod", who.rsplit("_", 1)[0], "-n", SYSTEM, "--grace-period=0", "--force", ok=False)
    return who if done.returncode == 0 else None


def scenario_leader_killed_at_random_in_300_claims_loses_and_doubles_nothing():
    seed = int(os.environ.get("SEED", random.randrange(1 << 16)))
    rng = random.Random(seed)
    print(f"       SEED={seed}")
    wait_for("two controllers", lambda: len(ready_pods("agent-sandbox-controller")) == 2, 120)
    with namespace("e2e-chaos") as ns:
        apply_all(template("t", ns, pod_spec(**FAKE)), pool("p", ns, "t", MEMBERS))
        wait_pool("p", ns)
        names = [f"c{i:03}" for i in range(CLAIMS)]
        moments = sorted(rng.sample(range(BATCH, CLAIMS - BATCH, BATCH), 2))
        ways, killed = [kill, throw_away], []
        began = time.monotonic()
        for start in range(0, CLAIMS, BATCH):
            apply_all(*[claim(n, ns, "p") for n in names[start:start + BATCH]])
            if start in moments:
                time.sleep(rng.random() * 0.2)
                # After a kill there is no leader for up to 17 s: the second end is its successor's.
                if killed:
                    wait_for("no other leader", lambda: holder() not in ("", killed[-1]), 60)
                killed.append(wait_for("the leader could not be killed", ways[len(killed)], 30))
        all_ready("sandboxclaim", names, ns, 120)
        print(f"       {CLAIMS} claims, {len(killed)} leaders lost, all Ready after {time.monotonic() - began:.1f} s")
        wait_pool("p", ns, 60)
        bound = check_bindings({c["metadata"]["name"]: c for c in get("sandboxclaim", ns=ns)}, ns)
        check(set(bound) == set(names), "claims are lost")
        left = members("p", ns)
        check(len(left) == MEMBERS and not left & set(bound.values()), f"{len(left)} members")
        boxes = {b["metadata"]["name"] for b in get("sandbox", ns=ns)}
        check(boxes == left | set(bound.values()), f"belongs to nobody: {boxes - left - set(bound.values())}")
        pods = {p["metadata"]["name"] for p in get("pod", ns=ns)}
        check(pods == boxes, f"pods without a Sandbox: {pods - boxes}, Sandboxes without a pod: {boxes - pods}")
    wait_for("two controllers again", lambda: len(ready_pods("agent-sandbox-controller")) == 2, 120)
