# SPDX-License-Identifier: Apache-2.0
"""Writes of the controller per warm claim, counted in the API server's audit log."""
import collections
import time

from k8s import NS, SYSTEM, apply, audit_entries, audit_offset, check, claim, kubectl, wait_gone, wait_pool, wait_ready

CLAIMS = 10
BUDGET = 9


def scenario_a_warm_claim_costs_at_most_nine_writes():
    wait_pool()
    time.sleep(3)
    offset = audit_offset()
    for i in range(CLAIMS):
        apply(claim(f"count-{i}"))
        wait_ready("sandboxclaim", f"count-{i}")
        wait_pool()
    time.sleep(2)
    controller = f"system:serviceaccount:{SYSTEM}:agent-sandbox-controller"
    counts = collections.Counter()
    for entry in audit_entries(offset):
        ref = entry["objectRef"]
        if entry["user"]["username"] == controller and ref.get("resource") != "leases":
            counts[(entry["verb"], ref["resource"] + ("/" + ref["subresource"] if "subresource" in ref else ""),
                    "failed" if entry["responseStatus"]["code"] >= 400 else "")] += 1
    total = sum(counts.values())
    print(f"       writes of the controller per warm claim, refill and pool status included ({CLAIMS} claims):")
    for (verb, resource, failed), n in sorted(counts.items()):
        print(f"         {verb:7}{resource:28}{failed:7}{n / CLAIMS:6.2f}")
    print(f"         {'sum':42}{total / CLAIMS:6.2f}  (budget {BUDGET})")
    names = [f"count-{i}" for i in range(CLAIMS)]
    kubectl("delete", "sandboxclaim", "-n", NS, "--wait=false", *names)
    for name in names:
        wait_gone("sandboxclaim", name)
    check(total <= BUDGET * CLAIMS, f"{total / CLAIMS:.2f} writes a claim")
    wait_pool()
