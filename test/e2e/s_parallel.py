# SPDX-License-Identifier: Apache-2.0
"""Many at once: Sandboxes with Services, claims with enough members and with too few, a namespace that goes."""
import time

from k8s import check, get, kubectl, members, namespace, wait_for, wait_pool, wait_ready
from objects import apply_all, claim, controller_of, pool, sandbox, template


def all_ready(kind, names, ns, seconds=60):
    """One list instead of a question for each."""
    def probe():
        got = {o["metadata"]["name"]: o for o in get(kind, ns=ns)}
        done = [n for n in names if any(c["type"] == "Ready" and c["status"] == "True"
                                        for c in got.get(n, {}).get("status", {}).get("conditions", []))]
        return got if len(done) == len(names) else None
    return wait_for(f"not all of {len(names)} {kind} are Ready", probe, seconds, every=0.2)


def check_bindings(claims, ns):
    """Every claim has a Sandbox of its own and owns no second one."""
    bound = {name: got["status"]["sandbox"]["name"] for name, got in claims.items()}
    check(len(set(bound.values())) == len(bound), f"claims share: {bound}")
    owned = {}
    for box in get("sandbox", ns=ns):
        owner = controller_of(box)
        if owner and owner[0] == "SandboxClaim" and "deletionTimestamp" not in box["metadata"]:
            owned.setdefault(owner[1], []).append(box["metadata"]["name"])
    check(owned == {name: [box] for name, box in bound.items()}, f"owned: {owned}, bound: {bound}")
    return bound


def scenario_twelve_sandboxes_with_services():
    names = [f"box-{i}" for i in range(12)]
    with namespace("e2e-boxes") as ns:
        began = time.monotonic()
        apply_all(*[sandbox(name, ns, service=True) for name in names])
        got = all_ready("sandbox", names, ns)
        print(f"       12 Sandboxes Ready after {time.monotonic() - began:.1f} s")
        check(all(got[n]["status"]["service"] == n for n in names), "services")
        check(len({got[n]["status"]["podIPs"][0] for n in names}) == 12, "addresses")


def scenario_claims_with_enough_members_and_with_too_few():
    with namespace("e2e-crowd") as ns:
        apply_all(template("t", ns), pool("large", ns, "t", 10), pool("small", ns, "t", 3))
        for name in ("large", "small"):
            wait_pool(name, ns)
        old = {name: members(name, ns) for name in ("large", "small")}
        names = [f"large-{i}" for i in range(8)]
        began = time.monotonic()
        apply_all(*[claim(n, ns, "large") for n in names])
        got = all_ready("sandboxclaim", names, ns)
        print(f"       8 claims of 10 members Ready after {time.monotonic() - began:.1f} s")
        check({got[n]["status"]["sandbox"]["name"] for n in names} <= old["large"], "not all are warm")
        few = [f"small-{i}" for i in range(12)]
        began = time.monotonic()
        apply_all(*[claim(n, ns, "small") for n in few])
        got = all_ready("sandboxclaim", few, ns)
        print(f"       12 claims of 3 members Ready after {time.monotonic() - began:.1f} s")
        check_bindings({n: got[n] for n in [*names, *few]}, ns)
        boxes = {b["metadata"]["name"]: b["metadata"]["labels"]["agents.x-k8s.io/launch-type"]
                 for b in get("sandbox", ns=ns)}
        warm = [n for n in few if boxes[got[n]["status"]["sandbox"]["name"]] == "warm"]
        check(len(warm) >= 3 and old["small"] <= {got[n]["status"]["sandbox"]["name"] for n in warm}, f"warm: {warm}")
        for name in ("large", "small"):
            wait_pool(name, ns)
        kubectl("delete", "namespace", ns, "--wait=false")
        wait_for("the namespace does not go", lambda: ns not in kubectl("get", "namespaces", "-o", "name"), 90)
