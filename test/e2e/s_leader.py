# SPDX-License-Identifier: Apache-2.0
"""A leader that goes, politely or not, while claims come in."""
import time

from k8s import NS, SYSTEM, apply, check, claim, get, kubectl, wait_for, wait_gone, wait_pool, wait_ready
from s_install import ready_pods

LEASE = "a3317529.agent-sandbox.x-k8s.io"


def leader():
    return get("lease", LEASE, ns=SYSTEM)["spec"].get("holderIdentity", "").rsplit("_", 1)[0]


def scenario_hand_over_in_a_burst_binds_nothing_twice():
    wait_for("two controllers", lambda: len(ready_pods("agent-sandbox-controller")) == 2)
    wait_pool()
    old = wait_for("a leader: the last one may just have gone", leader)
    names = [f"relay-{i}" for i in range(8)]
    for i, name in enumerate(names):
        apply(claim(name))
        if i == 3:
            kubectl("delete", "pod", old, "-n", SYSTEM, "--wait=false", "--grace-period=5")
            began = time.monotonic()
    bound = [wait_ready("sandboxclaim", n)["status"]["sandbox"]["name"] for n in names]
    wait_for("no other leader", lambda: leader() not in ("", old), 30)
    print(f"       all claims ready {time.monotonic() - began:.1f} s after the leader was deleted")
    check(len(set(bound)) == len(names), f"two claims share a sandbox: {bound}")
    kubectl("delete", "sandboxclaim", "-n", NS, "--wait=false", *names)
    for name in names:
        wait_gone("sandboxclaim", name)
    wait_for("two controllers again", lambda: len(ready_pods("agent-sandbox-controller")) == 2)
    wait_pool()
