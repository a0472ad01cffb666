# SPDX-License-Identifier: Apache-2.0
"""Writes of the controller per warm claim, counted in the API server's audit log: one claim at a time, a steady
stream, and a burst."""
import collections
import contextlib
import json
import time

from k8s import (NS, POOL, SYSTEM, apply, audit_entries, audit_offset, check, claim, get, kubectl, wait_gone, wait_pool,
                 wait_ready)

BUDGET = 9
LEAN_BUDGET = 7
LEAN = ["--disable-sandbox-events", "--disable-claim-events", "--disable-claim-observability-annotations"]
DEPLOYMENT = "agent-sandbox-controller"
CONTROLLER = f"system:serviceaccount:{SYSTEM}:agent-sandbox-controller"


def one_at_a_time(names):
    for name in names:
        apply(claim(name))
        wait_ready("sandboxclaim", name)
        time.sleep(3)  # long enough for the successor to be ready


def steady(names):
    for name in names:
        apply(claim(name))
        time.sleep(0.5)


def burst(names):
    text = "\n---\n".join(json.dumps(claim(name)) for name in names)
    kubectl("apply", "--server-side", "-f", "-", stdin=text)


def count(offset):
    counts = collections.Counter()
    for entry in audit_entries(offset):
        ref = entry["objectRef"]
        if entry["user"]["username"] == CONTROLLER and ref.get("resource") != "leases":
            resource = ref["resource"] + ("/" + ref["subresource"] if "subresource" in ref else "")
            counts[(entry["verb"], resource, "failed" if entry["responseStatus"]["code"] >= 400 else "")] += 1
    return counts


def measure(how, number):
    wait_pool()
    time.sleep(6)
    offset = audit_offset()
    names = [f"count-{i}" for i in range(number)]
    how(names)
    for name in names:
        wait_ready("sandboxclaim", name)
    wait_pool()
    time.sleep(12)  # what is still owed, pool status above all
    counts = count(offset)
    kubectl("delete", "sandboxclaim", "-n", NS, "--wait=false", *names)
    for name in names:
        wait_gone("sandboxclaim", name)
    return {key: n / number for key, n in counts.items()}


@contextlib.contextmanager
def controller_with(*flags):
    """The controller with more flags; back to its own afterwards."""
    args = get("deployment", DEPLOYMENT, SYSTEM)["spec"]["template"]["spec"]["containers"][0]["args"]

    def run_with(new):
        change = [{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": new}]
        kubectl("patch", "deployment", DEPLOYMENT, "-n", SYSTEM, "--type=json", "-p", json.dumps(change))
        kubectl("rollout", "status", f"deployment/{DEPLOYMENT}", "-n", SYSTEM, "--timeout=120s")
    run_with([*args, *flags])
    try:
        yield
    finally:
        run_with(args)


def measure_and_check(budget):
    ways = {"one at a time": (one_at_a_time, 6), "steady, 2/s": (steady, 10), "burst of 8": (burst, 8)}
    kubectl("scale", "swp", POOL, "-n", NS, "--replicas=8")
    try:
        table = {name: measure(how, number) for name, (how, number) in ways.items()}
    finally:
        kubectl("scale", "swp", POOL, "-n", NS, "--replicas=3")
    print("       writes of the controller per warm claim, refill and pool status included")
    print(f"         {'':44}" + "".join(f"{name:>16}" for name in table))
    for key in sorted({k for counts in table.values() for k in counts}):
        verb, resource, failed = key
        print(f"         {verb:7}{resource:30}{failed:7}" + "".join(f"{c.get(key, 0):16.2f}" for c in table.values()))
    sums = {name: sum(counts.values()) for name, counts in table.items()}
    print(f"         {'sum':44}" + "".join(f"{s:16.2f}" for s in sums.values()) + f"   (budget {budget})")
    for name, total in sums.items():
        check(total <= budget, f"{name}: {total:.2f} writes a claim")
    wait_pool()


def scenario_a_warm_claim_costs_at_most_nine_writes():
    measure_and_check(BUDGET)


def scenario_a_warm_claim_costs_at_most_seven_writes_without_events_and_annotations():
    with controller_with(*LEAN):
        measure_and_check(LEAN_BUDGET)
