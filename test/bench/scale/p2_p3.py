# SPDX-License-Identifier: Apache-2.0
"""P2 and P3: many Sandboxes. What one reconcile costs with few and with many of them, memory, idle CPU; then a
restart: how soon the caches are there, and that it writes nothing.

The Sandboxes are plain ones whose pods name their fake node themselves, which spares the scheduler's writes and
changes nothing for the controller."""
import os
import time

from kit import (AGENTS, MERGE, Api, Controller, Failed, Table, audit_offset, controller_writes, is_ready, sandbox, say,
                 teardown)

NS = "bench-boxes"
FEW = int(os.environ.get("FEW", "1000"))
MANY = int(os.environ.get("MANY", "20000"))
TOUCHES = 300
IDLE_S = 30


def nodes(api):
    return [n["metadata"]["name"] for n in api.call("GET", "/api/v1/nodes?labelSelector=type=kwok")["items"]]


def ready_count(controller):
    return sum(v for k, v in controller.metrics().items()
               if k.startswith("agent_sandboxes{") and 'ready_condition="true"' in k)


def grow(api, controller, first, last):
    """Sandboxes first..last, and the wait until all up to `last` are Ready. Returns CPU s of the controller and s."""
    cpu, began = controller.cpu(), time.monotonic()
    where = nodes(api)
    api.create_all("sandboxes", [(NS, sandbox(f"s{i:05}", where[i % len(where)])) for i in range(first, last)],
                   progress="created")
    end, said, seen, since = began + 60 + (last - first) / 10, 0, -1, time.monotonic()
    while True:
        n = ready_count(controller)
        if n >= last:
            break
        if n != seen:
            seen, since = n, time.monotonic()
        if time.monotonic() > end or time.monotonic() - since > 90:
            raise Failed(f"{n:.0f} of {last} Sandboxes are Ready")
        if time.monotonic() - said > 5:
            said = time.monotonic()
            say(f"{n:.0f} of {last} are Ready")
        time.sleep(0.5)
    return controller.cpu() - cpu, time.monotonic() - began


def idle(controller, seconds=IDLE_S):
    """CPU in percent of one core while nothing happens."""
    cpu = controller.cpu()
    time.sleep(seconds)
    return (controller.cpu() - cpu) / seconds * 100


def settle(controller, limit=120):
    """Until it has stopped working: two seconds below one percent. Returns the seconds that took."""
    began = time.monotonic()
    while time.monotonic() - began < limit:
        if idle(controller, 2) < 1:
            return time.monotonic() - began
    return limit


def touch(api, controller, total):
    """CPU ms a reconcile of one Sandbox whose annotation changed; spread over all of them."""
    settle(controller)
    stamp = str(time.time_ns())
    runs = controller.reconciles()  # a scrape looks at all Sandboxes: outside of what is measured
    cpu = controller.cpu()
    for i in range(TOUCHES):
        name = f"s{i * (total // TOUCHES):05}"
        api.call("PATCH", f"{AGENTS}/namespaces/{NS}/sandboxes/{name}", {"metadata": {"annotations": {"touch": stamp}}},
                 MERGE)
    time.sleep(1)
    cpu = controller.cpu() - cpu
    runs = controller.reconciles() - runs
    if runs < TOUCHES:
        raise Failed(f"{TOUCHES} touches, {runs:.0f} reconciles")
    return cpu / runs * 1000


def restart(table, old):
    old.stop()
    time.sleep(2)
    offset = audit_offset()
    controller = Controller()
    synced = controller.wait("caches synced", 120)
    quiet = settle(controller)
    rss, anon = controller.memory()
    cpu = controller.cpu()
    busy = idle(controller)
    writes = controller_writes(offset)
    table.add("P3 restart: caches synced after", synced, "s", most=10)
    table.add("P3 restart: all looked at after", synced + quiet, "s")
    table.add("P3 restart: writes", sum(writes.values()), "", most=0, note=str(dict(writes)) if writes else "")
    table.add("P3 restart: CPU", cpu, "s")
    table.add("P2 RSS after a restart", rss, "MB", most=130, note=f"anonymous {anon:.1f} MB")
    table.add("P2 idle CPU after a restart", busy, "%", most=1)
    return controller


def main():
    api = Api()
    api.namespace(NS)
    table = Table(f"P2, P3: {MANY} Sandboxes on fake nodes")
    controller = Controller()
    controller.wait("caches synced")
    have = api.count("sandboxes", NS)
    offset = audit_offset()
    if have < MANY:
        if have < FEW:
            grow(api, controller, have, FEW)
            have = FEW
            if not controller_writes(offset)["create pods"]:
                raise Failed("the audit log lacks what the controller writes: a count of 0 would prove nothing")
        if have == FEW:
            table.add(f"P2 reconcile of one of {FEW}", few := touch(api, controller, FEW), "ms CPU")
            rss, anon = controller.memory()
            table.add(f"P2 RSS with {FEW}", rss, "MB", note=f"anonymous {anon:.1f} MB")
        cpu, took = grow(api, controller, have, MANY)
        table.add(f"P2 making {MANY - have} Sandboxes: CPU of each", cpu / (MANY - have) * 1000, "ms", note=f"{took:.0f} s")
    many = touch(api, controller, MANY)
    rss, anon = controller.memory()
    table.add(f"P2 reconcile of one of {MANY}", many, "ms CPU")
    if have == FEW:
        table.add("P2 ratio of the two", many / few, "x", most=1.5)
    table.add(f"P2 RSS with {MANY}, just made", rss, "MB", most=130, note=f"anonymous {anon:.1f} MB")
    table.add("P2 idle CPU", idle(controller), "%", most=1)
    controller = restart(table, controller)
    if not all(is_ready(s) for s in api.items("sandboxes", NS)):
        raise Failed("not all Sandboxes are Ready any more")
    if os.environ.get("KEEP") != "1":
        say("removing them")
        teardown(api, NS, seconds=900)
    controller.stop()
    return table.show()
