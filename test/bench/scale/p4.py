# SPDX-License-Identifier: Apache-2.0
"""P4: a pool of 2,000 from empty while every watch of the controller lags by two seconds. Judged by a watch of our
own, without lag, and by the API server's audit log: never one Sandbox too many."""
import os
import tempfile
import time

from kit import (Api, Controller, Failed, Table, Watch, audit_offset, controller_writes, pool, say, teardown, template,
                 wait_pool)
from lag import Lag

NS = "bench-lag"
REPLICAS = int(os.environ.get("REPLICAS", "2000"))
LAG_S = 2


class Census:
    """How many Sandboxes there are, and the most there ever were."""

    def __init__(self):
        self.there, self.most = set(), 0

    def on_event(self, kind, obj, _):
        uid = obj["metadata"]["uid"]
        (self.there.discard if kind == "DELETED" else self.there.add)(uid)
        self.most = max(self.most, len(self.there))


def main():
    api = Api()
    table = Table(f"P4: a pool of {REPLICAS} with watches {LAG_S} s late")
    with tempfile.TemporaryDirectory() as directory:
        proxy = Lag(api, LAG_S, directory)
        api.namespace(NS)
        if api.count("sandboxes", NS):
            raise Failed(f"there are Sandboxes in {NS} already")
        census = Census()
        watch = Watch(api, "sandboxes", NS, census.on_event)
        controller = Controller(kubeconfig_path=proxy.kubeconfig)
        controller.wait("caches synced")
        offset, began, cpu = audit_offset(), time.monotonic(), controller.cpu()
        api.create("sandboxtemplates", NS, template("t"))
        api.create("sandboxwarmpools", NS, pool("p", "t", REPLICAS))
        wait_pool(api, NS, REPLICAS, 120 + REPLICAS / 5)
        full = time.monotonic() - began
        time.sleep(3 * LAG_S)  # too many would come late
        cpu, writes = controller.cpu() - cpu, controller_writes(offset)
        if writes["create sandboxes"] < REPLICAS:
            raise Failed(f"the audit log lacks creates: {dict(writes)}")
        say("changing the number: half, then all again")
        for replicas in (REPLICAS // 2, REPLICAS):
            api.call("PATCH", f"/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/{NS}/sandboxwarmpools/p",
                     {"spec": {"replicas": replicas}}, "application/merge-patch+json")
            end = time.monotonic() + 180
            while len(census.there) != replicas and time.monotonic() < end:
                time.sleep(0.2)
            time.sleep(2 * LAG_S)
            table.add(f"P4 Sandboxes after a change to {replicas}", len(census.there), "", most=replicas, least=replicas)
        controller.stop()
        watch.stop()
        table.add("P4 most Sandboxes at any time", census.most, "", most=REPLICAS)
        table.add("P4 creates for the first fill (audit log)", writes["create sandboxes"], "", most=REPLICAS,
                  note=f"refused {writes['create sandboxes failed']}")
        table.add("P4 deletes meanwhile", writes["delete sandboxes"], "", most=0)
        table.add("P4 full after", full, "s")
        table.add("P4 controller CPU a member", cpu / REPLICAS * 1000, "ms")
        teardown(api, NS)
    return table.show()
