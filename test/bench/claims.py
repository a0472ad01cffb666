#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a warm claim costs the controller, against a real API server with fake nodes.

test/bench/claims.py [--controller FILE] [--claims N] [--rate R] [--callgrind]

Runs inside the test cluster's network ($CLUSTER_DIR/run). The controller runs beside the cluster, so that its CPU,
memory and instructions are read from this machine. Claims come at a steady rate, live for three seconds and are deleted;
their end and the pool's refill are part of the price. CPU is what the scheduler counted in nanoseconds, instructions
are callgrind's: neither depends on what else the machine does, latency does. Ends with a table of figures and targets
and never fails on them."""
import argparse
import base64
import collections
import glob
import http.client
import json
import os
import signal
import ssl
import subprocess
import tempfile
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
AUDIT_LOG = os.path.join(os.environ.get("CLUSTER_DIR") or os.path.join(ROOT, "build", "cluster"), "audit.log")
NS = "bench-claims"
CORE = "agents.x-k8s.io/v1beta1"
EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"
CLAIMS = f"/apis/{EXTENSIONS}/namespaces/{NS}/sandboxclaims"
POOL_SIZE = 50
DWELL_S = 3
LEAN = ["--disable-sandbox-events", "--disable-claim-events", "--disable-claim-observability-annotations"]


class Server:
    """The API server as the administrator of the test cluster sees it; one connection a thread."""

    def __init__(self, folder):
        config = json.loads(subprocess.run(["kubectl", "config", "view", "--raw", "--flatten", "-o", "json"],
                                           check=True, capture_output=True).stdout)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.address = cluster["server"].removeprefix("https://")
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=ca)
        pair = os.path.join(folder, "pair.pem")
        with open(os.open(pair, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as f:
            f.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        self.tls.load_cert_chain(pair)
        self.local = threading.local()

    def connect(self):
        return http.client.HTTPSConnection(self.address, context=self.tls, timeout=600)

    def call(self, method, path, body=None):
        if not hasattr(self.local, "connection"):
            self.local.connection = self.connect()
        self.local.connection.request(method, path, json.dumps(body) if body else None,
                                      {"Content-Type": "application/json"})
        answer = self.local.connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {text[:300]!r}")
        return json.loads(text)


class Watch(threading.Thread):
    """Notes when each claim was first seen Ready."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.ready = {}
        self.changed = threading.Condition()

    def run(self):
        self.connection.request("GET", CLAIMS + "?watch=true")
        answer = self.connection.getresponse()
        while line := answer.readline():
            claim = json.loads(line)["object"]
            conditions = claim.get("status", {}).get("conditions", [])
            if any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
                with self.changed:
                    self.ready.setdefault(claim["metadata"]["name"], time.monotonic())
                    self.changed.notify_all()

    def wait(self, names, seconds):
        with self.changed:
            if not self.changed.wait_for(lambda: all(n in self.ready for n in names), seconds):
                raise RuntimeError(f"after {seconds} s {sum(n not in self.ready for n in names)} claims are not Ready")


class Controller:
    def __init__(self, program, extra, callgrind):
        port = 19080
        self.out = callgrind
        command = [program, "--extensions", "--leader-elect=false", f"--metrics-bind-address=127.0.0.1:{port}",
                   "--health-probe-bind-address=0", *extra]
        if callgrind:
            command = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={callgrind}",
                       *command]
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(command, stderr=open(os.environ.get("BENCH_LOG", os.devnull), "w",
                                                             encoding="utf-8"))
        self.pid = self.process.pid

    def cpu_s(self):
        total = 0
        for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with open(path, encoding="utf-8") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def kernel_share(self):
        """Of all CPU time so far; counted in ticks, so it needs some seconds to mean something."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            user, system = map(int, f.read().rsplit(")", 1)[1].split()[11:13])
        return system / max(1, user + system)

    def memory(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            fields = dict(line.split(":", 1) for line in f)
        return {key: int(fields[key].split()[0]) / 1024 for key in ("VmRSS", "RssAnon")}

    def control(self, *args):
        subprocess.run(["callgrind_control", *args, str(self.pid)], check=True, capture_output=True)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def apply(*objects):
    subprocess.run(["kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-"], check=True,
                   capture_output=True, input="\n---\n".join(map(json.dumps, objects)).encode())


def setup():
    subprocess.run(["kubectl", "apply", "--server-side", "--force-conflicts", "-k", os.path.join(ROOT, "crds")],
                   check=True, capture_output=True)
    pod = {"containers": [{"name": "c", "image": "none/none:1"}], "automountServiceAccountToken": False,
           "nodeSelector": {"type": "kwok"},
           "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}]}
    meta = {"name": "bench", "namespace": NS}
    apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    apply({"apiVersion": EXTENSIONS, "kind": "SandboxTemplate", "metadata": meta,
           "spec": {"networkPolicyManagement": "Unmanaged", "podTemplate": {"spec": pod}}},
          {"apiVersion": EXTENSIONS, "kind": "SandboxWarmPool", "metadata": meta,
           "spec": {"replicas": POOL_SIZE, "sandboxTemplateRef": {"name": "bench"}}})


def wait_pool(server, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        status = server.call("GET", f"/apis/{EXTENSIONS}/namespaces/{NS}/sandboxwarmpools/bench").get("status", {})
        if status.get("readyReplicas") == POOL_SIZE == status.get("replicas"):
            return
        time.sleep(0.5)
    raise RuntimeError("the pool does not fill")


def drive(server, watch, first, number, rate):
    """Creates and, a dwell later, deletes claims; returns their latencies in ms."""
    created, doomed = {}, collections.deque()
    begin = time.monotonic()

    def reap(until):
        while doomed and doomed[0][0] <= until:
            server.call("DELETE", f"{CLAIMS}/{doomed.popleft()[1]}")

    for i in range(first, first + number):
        time.sleep(max(0.0, begin + (i - first) / rate - time.monotonic()))
        name = f"bench-{i}"
        created[name] = time.monotonic()
        server.call("POST", CLAIMS, {"apiVersion": EXTENSIONS, "kind": "SandboxClaim", "metadata": {"name": name},
                                     "spec": {"warmPoolRef": {"name": "bench"}}})
        doomed.append((time.monotonic() + DWELL_S, name))
        reap(time.monotonic())
    watch.wait(created, 120)
    while doomed:
        time.sleep(max(0.0, doomed[0][0] - time.monotonic()))
        reap(time.monotonic())
    wait_pool(server)
    time.sleep(12)  # what is still owed: status that is put off, memory that goes back
    return sorted((watch.ready[n] - t) * 1000 for n, t in created.items())


def writes(offset):
    counts = collections.Counter()
    with open(AUDIT_LOG, encoding="utf-8") as f:
        f.seek(offset)
        for line in f:
            entry = json.loads(line)
            if line.endswith("\n") and entry.get("userAgent", "").startswith("cofferdam/"):
                ref = entry["objectRef"]
                sub = "/" + ref["subresource"] if "subresource" in ref else ""
                counts[f"{entry['verb']} {ref['resource']}{sub}"] += 1
    return counts


def row(what, figure, unit, target):
    print(f"  {what:52}{figure:10.2f} {unit:8}{target}")


def measure(server, watch, controller, args):
    lean = " (lean)" if args.lean else ""
    wait_pool(server)
    time.sleep(12)
    small = controller.memory()
    drive(server, watch, 0, 20, args.rate)  # connections, caches, tables
    if args.callgrind:
        controller.control("-i", "on")
    offset, cpu = os.path.getsize(AUDIT_LOG), controller.cpu_s()
    times = drive(server, watch, 1000, args.claims, args.rate)
    cpu = controller.cpu_s() - cpu
    big = controller.memory()
    if args.callgrind:
        controller.control("-i", "off")
        controller.control("-d")
    counts = writes(offset)
    print(f"claims: {args.claims} at {args.rate}/s on a pool of {POOL_SIZE}{lean}; p50 {times[len(times) // 2]:.0f} ms, "
          f"p99 {times[len(times) * 99 // 100]:.0f} ms")
    for key, n in sorted(counts.items()):
        print(f"    {key:50}{n / args.claims:10.2f}")
    row("writes a claim", sum(counts.values()) / args.claims, "", "<= 7" if args.lean else "<= 9")
    if args.callgrind:
        return
    row("controller CPU a claim", cpu * 1000 / args.claims, "ms", "<= 2 (upstream 33)")
    print(f"    of it in the kernel {controller.kernel_share():45.0%}")
    row(f"RssAnon with {POOL_SIZE} sandboxes", small["RssAnon"], "MiB", "<= 5")
    row(f"RSS with {POOL_SIZE} sandboxes", small["VmRSS"], "MiB", "<= 16 (upstream 54)")
    row(f"RssAnon after {args.claims} claims", big["RssAnon"], "MiB", "<= 9")
    row(f"RSS after {args.claims} claims", big["VmRSS"], "MiB", "<= 20 (upstream 70)")


def instructions(path, number):
    total = 0
    for part in glob.glob(path + "*"):
        with open(part, encoding="utf-8") as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith("totals:"))
    row("instructions of the controller a claim", total / number / 1e6, "million", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--controller", default=os.path.join(ROOT, "build/bin/sandbox-controller"))
    parser.add_argument("--claims", type=int, default=600)
    parser.add_argument("--rate", type=float, default=8)
    parser.add_argument("--lean", action="store_true")
    parser.add_argument("--callgrind", metavar="FILE", help="count instructions, profile into FILE")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        setup()
        watch = Watch(server)
        controller = Controller(args.controller, LEAN if args.lean else [], args.callgrind)
        try:
            watch.start()
            measure(server, watch, controller, args)
        finally:
            controller.stop()
            subprocess.run(["kubectl", "delete", "namespace", NS, "--wait=true"], check=False, capture_output=True)
    if args.callgrind:
        instructions(args.callgrind, args.claims)


if __name__ == "__main__":
    main()
