# SPDX-License-Identifier: Apache-2.0
"""P5: two controllers, the leader killed in the middle of a burst of claims. When the other one takes over, counted
from the expiry of the Lease, and that nothing is lost or bound twice."""
import calendar
import collections
import json
import re
import time

from kit import LEASE, LEASE_NS, Api, Controller, Failed, Table, say, setup_pool, teardown, url
from p1 import Clock, pace

NS = "bench-leader"
CLAIMS, PER_SECOND, KILL_AFTER_S = 200, 25, 3


def wall(text):
    """Seconds since 1970 of an RFC 3339 time in UTC."""
    whole, fraction = re.match(r"([^.Z]+)(\.\d+)?Z", text).groups()
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(fraction or 0)


def logged(controller, message):
    for line in controller.log:
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("msg") == message:
            return wall(entry["ts"])
    raise Failed(f"{controller.name} has not logged {message!r}")


def check_bindings(api, clock, table):
    """Every claim has a Sandbox of its own, and that Sandbox says so."""
    claims = {c["metadata"]["name"]: c for c in api.items("sandboxclaims", NS)}
    bound = {n: c["status"]["sandbox"]["name"] for n, c in claims.items()}
    owners = collections.Counter()
    for s in api.items("sandboxes", NS):
        for o in s["metadata"].get("ownerReferences", []):
            if o["kind"] == "SandboxClaim":
                owners[o["name"]] += 1
                if bound.get(o["name"]) != s["metadata"]["name"]:
                    owners[o["name"]] += 1
    table.add("P5 claims lost", len(clock.created) - len(bound), "", most=0)
    table.add("P5 Sandboxes bound twice", len(bound) - len(set(bound.values())), "", most=0)
    table.add("P5 claims with two Sandboxes", sum(1 for n in owners.values() if n > 1), "", most=0)


def main():
    api = Api()
    table = Table("P5: the leader killed in a burst")
    api.namespace(LEASE_NS)
    api.call("DELETE", f"{url('leases', LEASE_NS)}/{LEASE}", ok=(404,))
    old = Controller(name="first", leader_elect=True)
    old.wait("lease acquired")
    new = Controller(name="second", leader_elect=True)
    new.wait("caches synced")
    setup_pool(api, NS, CLAIMS + 20)
    clock = Clock(api, [NS])
    say(f"{PER_SECOND} claims a second, the leader is killed after {KILL_AFTER_S} s")
    half = PER_SECOND * KILL_AFTER_S
    plan = [(i / PER_SECOND, NS, f"c{i:04}") for i in range(CLAIMS)]
    pace(clock, plan[:half], 4)
    old.kill()
    killed = time.time()
    spec = api.call("GET", f"{url('leases', LEASE_NS)}/{LEASE}")["spec"]
    expiry = wall(spec["renewTime"]) + spec["leaseDurationSeconds"]
    pace(clock, [(at - half / PER_SECOND, ns, name) for at, ns, name in plan[half:]], 4)
    new.wait("lease acquired", 60)
    clock.wait()
    taken = logged(new, "lease acquired")
    table.add("P5 from the kill to the new leader", taken - killed, "s")
    table.add("P5 from the Lease's expiry to the new leader", taken - expiry, "s", most=3)
    table.add("P5 from there until all claims are Ready", max(clock.ready.values()) - new.times["lease acquired"], "s")
    check_bindings(api, clock, table)
    clock.stop()
    teardown(api, NS)
    new.stop()
    return table.show()
