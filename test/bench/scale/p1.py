# SPDX-License-Identifier: Apache-2.0
"""P1 and the baseline table: claims on warm pools, from their creation to Ready as a watch sees it, with what the
controller spends on each: CPU and writes, refill and pool status included."""
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from kit import (EXTENSIONS, LEAN, Api, Controller, Failed, Table, Watch, audit_offset, claim, controller_writes,
                 is_ready, quantile, say, setup_pool, teardown, wait_pool)

PATIENCE_S = 120


class Clock:
    """When each claim was created (before the request) and when a watch saw it Ready."""

    def __init__(self, api, namespaces):
        self.api, self.created, self.ready, self.lock = api, {}, {}, threading.Condition()
        self.watches = [Watch(api, "sandboxclaims", ns, self.on_event) for ns in namespaces]

    def on_event(self, kind, obj, now):
        key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
        if kind != "DELETED" and is_ready(obj):
            with self.lock:
                self.ready.setdefault(key, now)
                self.lock.notify_all()

    def claim(self, ns, name):
        with self.lock:
            self.created[(ns, name)] = time.monotonic()
        self.api.create("sandboxclaims", ns, claim(name, "p"))

    def wait(self, keys=None, seconds=PATIENCE_S):
        keys = list(self.created) if keys is None else keys
        with self.lock:
            if not self.lock.wait_for(lambda: all(k in self.ready for k in keys), seconds):
                missing = [k for k in keys if k not in self.ready]
                raise Failed(f"{len(missing)} of {len(keys)} claims are not Ready: {missing[:3]}")

    def latencies(self):
        return [(self.ready[k] - self.created[k]) * 1000 for k in self.created]

    def span(self):
        return max(self.ready.values()) - min(self.created.values())

    def stop(self):
        for w in self.watches:
            w.stop()


def pace(clock, plan, connections):
    """plan: (seconds from the start, ns, name), in order."""
    began = time.monotonic()

    def one(step):
        at, ns, name = step
        delay = began + at - time.monotonic()
        if delay > 0:
            time.sleep(delay)
        clock.claim(ns, name)

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(one, plan))


def measure(api, controller, pools, load):
    """Runs load(clock) on full pools and gives its clock, CPU ms and writes of the controller a claim."""
    for ns, size in pools.items():
        setup_pool(api, ns, size)
    time.sleep(4)  # what is still owed to pool status
    clock, offset, cpu = Clock(api, list(pools)), audit_offset(), controller.cpu()
    load(clock)
    clock.wait()
    for ns, size in pools.items():
        wait_pool(api, ns, size)
    time.sleep(5)
    n = len(clock.created)
    cpu, writes = (controller.cpu() - cpu) / n * 1000, controller_writes(offset, controller.agent)
    clock.stop()
    teardown(api, *pools)
    return clock, cpu, writes


def rows(table, what, result, targets=None, budget=9):
    clock, cpu, writes = result
    targets, ms, n = targets or {}, clock.latencies(), len(clock.created)
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        table.add(f"{what}: create to Ready {name}", quantile(ms, q), "ms", most=targets.get(name))
    table.add(f"{what}: all {n} Ready after", clock.span(), "s", most=targets.get("all"))
    table.add(f"{what}: controller CPU a claim", cpu, "ms", most=2)
    detail = ", ".join(f"{k} {v / n:.2f}" for k, v in writes.most_common())
    table.add(f"{what}: controller writes a claim", sum(writes.values()) / n, "", most=budget, note=detail)


# ---- loads ----

def rate(ns, per_second, seconds):
    """Claims at a steady rate, over enough connections that the client is not what is measured."""
    return lambda clock: pace(clock, [(i / per_second, ns, f"c{i:04}") for i in range(per_second * seconds)], 16)


def burst(ns, number):
    return lambda clock: pace(clock, [(0, ns, f"c{i:04}") for i in range(number)], 4)


def serial(ns, number, gap):
    return lambda clock: pace(clock, [(i * gap, ns, f"c{i:04}") for i in range(number)], 1)


def poisson(spaces, per_second, seconds, dwell=3):
    """Arrivals from a seeded source; each claim is deleted `dwell` seconds after it is Ready."""
    rng, plan, at = random.Random(per_second), [], 0.0
    while (at := at + rng.expovariate(per_second)) < seconds:
        plan.append((at, rng.choice(spaces), f"c{len(plan):04}"))

    def leave(clock, step):
        _, ns, name = step
        clock.wait([(ns, name)])
        time.sleep(max(0, clock.ready[(ns, name)] + dwell - time.monotonic()))
        clock.api.call("DELETE", f"{EXTENSIONS}/namespaces/{ns}/sandboxclaims/{name}", ok=(404,))

    def load(clock):
        with ThreadPoolExecutor(per_second * 8) as leavers:
            gone = [leavers.submit(leave, clock, step) for step in plan]
            pace(clock, plan, 8)
            for g in gone:
                g.result()

    return load


def gate(api, table):
    controller = Controller()
    controller.wait("caches synced")
    say("75 claims a second for 10 s on a pool of 1,050")
    result = measure(api, controller, {"bench-gate": 1050}, rate("bench-gate", 75, 10))
    rows(table, "75/s for 10 s, pool 1,050", result, {"p50": 300, "p90": 300, "p99": 500})
    controller.stop()


def baseline(api, table, mode, flags):
    lean = mode == "lean"
    budget = 7 if lean else 9
    controller = Controller(*flags)
    controller.wait("caches synced")
    say(f"{mode}: 40 claims, one each 0.5 s")
    rss = controller.memory
    result = measure(api, controller, {"bench-serial": 40}, serial("bench-serial", 40, 0.5))
    rows(table, f"{mode}, one each 0.5 s, pool 40", result, {"p50": 18}, budget)
    for n in (1, 2):
        say(f"{mode}: 300 claims at once, {n} of 2")
        result = measure(api, controller, {"bench-burst": 300}, burst("bench-burst", 300))
        rows(table, f"{mode}, 300 at once ({n})", result, {"all": 4.2 if lean else 5.6}, budget)
    total, anon = rss()
    table.add(f"{mode}, RSS after 600 claims", total, "MB", most=20)
    table.add(f"{mode}, anonymous part of it", anon, "MB", most=9)
    targets = {10: {"p50": 50, "p99": 300}, 15: {"p99": 500}, 20: {}}
    for per_second, wanted in targets.items():
        say(f"{mode}: Poisson {per_second}/s for 20 s")
        spaces = [f"bench-poisson-{i}" for i in range(4)]
        result = measure(api, controller, dict.fromkeys(spaces, 40), poisson(spaces, per_second, 20))
        rows(table, f"{mode}, Poisson {per_second}/s", result, wanted, 12)
    controller.stop()


def main():
    api = Api()
    table = Table("P1 and the baseline table: warm claims")
    gate(api, table)
    for mode, flags in (("default", []), ("lean", LEAN)):
        baseline(api, table, mode, flags)
    return table.show()
