# SPDX-License-Identifier: Apache-2.0
"""P1 side by side: kubernetes-sigs/agent-sandbox's controller and ours take turns on one API server, on the same loads.
A ratio is the median of the peer's rounds over the median of ours."""
import os
import statistics

from kit import Api, Controller, Peer, Table, quantile, say
from p1 import burst, measure, rate, serial

ROUNDS = int(os.environ.get("ROUNDS", "3"))
SIDES = {"upstream": Peer, "ours": Controller}

# what | pool | load(namespace) | least ratio of each figure (performance.md; None: told, not judged)
LOADS = (
    ("75/s for 10 s, pool 1,050", 1050, lambda ns: rate(ns, 75, 10), {"p90": 4}),
    ("300 at once, pool 300", 300, lambda ns: burst(ns, 300), {"all": 3}),
    ("one each 0.5 s, pool 40", 40, lambda ns: serial(ns, 40, 0.5), {}),
)


def figures(result):
    clock, cpu, writes = result
    ms, n = clock.latencies(), len(clock.created)
    return {"p50": quantile(ms, 0.5), "p90": quantile(ms, 0.9), "p99": quantile(ms, 0.99), "all": clock.span() * 1000,
            "CPU": cpu, "writes": sum(writes.values()) / n}


def one_round(api, side, name):
    """Every load once, with a process of its own."""
    controller = side()
    controller.wait(controller.synced)
    results = []
    for i, (what, size, load, _) in enumerate(LOADS):
        ns = f"bench-{name}-{i}"
        say(f"{name}: {what}")
        results.append(figures(measure(api, controller, {ns: size}, load(ns))))
    memory = dict(zip(("RSS", "anonymous"), controller.memory()))
    controller.stop()
    return results, memory


def show(table, rounds):
    for i, (what, _, _, least) in enumerate(LOADS):
        for figure in rounds["ours"][0][0][i]:
            both = {name: [r[0][i][figure] for r in rounds[name]] for name in SIDES}
            compare(table, f"{what}: {figure}", both, least.get(figure))
    for figure in ("RSS", "anonymous"):
        compare(table, f"memory at the end: {figure}, MB",
                {name: [r[1][figure] for r in rounds[name]] for name in SIDES}, None)


def compare(table, what, both, least):
    told = "; ".join(f"{name} {statistics.median(v):.4g} ({min(v):.4g} to {max(v):.4g})" for name, v in both.items())
    ratio = statistics.median(both["upstream"]) / statistics.median(both["ours"])
    table.add(f"{what}, upstream over ours", ratio, "x", least=least, note=told)


def main():
    api = Api()
    table = Table(f"P1 beside upstream's controller, {ROUNDS} rounds in turns; times in ms")
    rounds = {name: [] for name in SIDES}
    for _ in range(ROUNDS):
        for name, side in SIDES.items():
            rounds[name].append(one_round(api, side, name))
    show(table, rounds)
    return table.show()
