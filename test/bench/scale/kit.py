# SPDX-License-Identifier: Apache-2.0
"""What the scale benchmarks share: a client of the API server, the controller as a process of ours, the audit log, a
table with verdicts. Everything runs inside the node's network namespace (run.sh sees to that)."""
import atexit
import base64
import collections
import http.client
import json
import os
import queue
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
CLUSTER = os.environ["CLUSTER_DIR"]
CONTROLLER = os.environ.get("CONTROLLER") or os.path.join(ROOT, "build", "bin", "sandbox-controller")
AUDIT_LOG = os.path.join(CLUSTER, "audit.log")
LEASE = "a3317529.agent-sandbox.x-k8s.io"
LEASE_NS = "bench-lease"
TICKS = os.sysconf("SC_CLK_TCK")
CORE, AGENTS, EXTENSIONS = "/api/v1", "/apis/agents.x-k8s.io/v1beta1", "/apis/extensions.agents.x-k8s.io/v1beta1"
BASE = {"sandboxes": AGENTS, "sandboxclaims": EXTENSIONS, "sandboxtemplates": EXTENSIONS,
        "sandboxwarmpools": EXTENSIONS, "leases": "/apis/coordination.k8s.io/v1"}
MERGE = "application/merge-patch+json"
LEAN = ["--disable-sandbox-events", "--disable-claim-events", "--disable-claim-observability-annotations"]


def say(text):
    print(f"  {time.strftime('%H:%M:%S')}  {text}", flush=True)


class Failed(Exception):
    """The API server said no, or something did not come in time."""


# ---- API server ----

def kubeconfig():
    """Server and TLS context of the cluster's administrator."""
    with open(os.path.join(CLUSTER, "kubeconfig"), encoding="utf-8") as f:
        text = f.read()
    field = {key: value for key, value in re.findall(r"([\w-]+): (\S+)", text)}
    context = ssl.create_default_context(cadata=base64.b64decode(field["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as pem:
        pem.write(base64.b64decode(field["client-certificate-data"]) + base64.b64decode(field["client-key-data"]))
        pem.flush()
        context.load_cert_chain(pem.name)
    return urlsplit(field["server"]), context


class Api:
    """One keep-alive connection a thread."""

    def __init__(self):
        self.server, self.context = kubeconfig()
        self.local = threading.local()

    def connect(self, timeout=60):
        return http.client.HTTPSConnection(self.server.hostname, self.server.port, context=self.context,
                                           timeout=timeout)

    def call(self, method, path, body=None, kind="application/json", ok=()):
        data = json.dumps(body) if body is not None else None
        for attempt in range(5):
            c = getattr(self.local, "c", None) or self.connect()
            self.local.c = c
            try:
                c.request(method, path, data, {"Content-Type": kind, "User-Agent": "bench-scale"})
                r = c.getresponse()
                text = r.read()
            except (OSError, http.client.HTTPException):
                c.close()
                self.local.c = None
                time.sleep(0.1 * attempt)
                continue
            if r.status < 300 or r.status in ok:
                return json.loads(text) if text else None
            if r.status == 429:
                time.sleep(0.2 * (attempt + 1))
                continue
            raise Failed(f"{method} {path}: {r.status} {text[:300]!r}")
        raise Failed(f"{method} {path}: no answer in five attempts")

    def create(self, plural, ns, obj):
        return self.call("POST", f"{url(plural, ns)}", obj, ok=(409,))

    def create_all(self, plural, objects, connections=4, progress=None):
        """Creates (ns, obj) pairs over so many connections; `progress` names them in a line every five seconds."""
        done, last = 0, time.monotonic()
        with ThreadPoolExecutor(connections) as pool:
            for _ in pool.map(lambda o: self.create(plural, *o), objects):
                done += 1
                if progress and time.monotonic() - last > 5:
                    last = time.monotonic()
                    say(f"{progress}: {done}/{len(objects)}")

    def namespace(self, name):
        self.call("POST", f"{CORE}/namespaces", {"metadata": {"name": name}}, ok=(409,))

    def items(self, plural, ns=None, selector="", limit=1000):
        """All objects of a kind, page by page."""
        cont = ""
        while True:
            page = self.call("GET", f"{url(plural, ns)}?limit={limit}&continue={cont}&labelSelector={selector}")
            yield from page["items"]
            cont = page["metadata"].get("continue", "")
            if not cont:
                return

    def count(self, plural, ns=None):
        page = self.call("GET", f"{url(plural, ns)}?limit=1")
        return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)

    def delete_all(self, plural, ns):
        self.call("DELETE", url(plural, ns), {"propagationPolicy": "Background"}, ok=(404,))


def url(plural, ns=None):
    return f"{BASE.get(plural, CORE)}{'/namespaces/' + ns if ns else ''}/{plural}"


class Watch(threading.Thread):
    """Events of a kind with the time of their arrival: fn(type, object, seconds of time.monotonic). A watch that the
    server ends is resumed where it was."""

    def __init__(self, api, plural, ns, fn):
        super().__init__(daemon=True)
        self.api, self.base, self.fn, self.over = api, f"{url(plural, ns)}?watch=1&timeoutSeconds=3000", fn, False
        self.rv = api.call("GET", f"{url(plural, ns)}?limit=1")["metadata"]["resourceVersion"]
        self.open()
        self.start()

    def open(self):
        self.c = self.api.connect(3600)
        self.c.request("GET", f"{self.base}&resourceVersion={self.rv}", headers={"User-Agent": "bench-scale"})
        self.answer = self.c.getresponse()
        if self.answer.status != 200:
            raise Failed(f"watch {self.base}: {self.answer.status}")

    def follow(self):
        rest = b""
        while data := self.answer.read1(1 << 18):
            now = time.monotonic()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                event = json.loads(line)
                self.rv = event["object"]["metadata"].get("resourceVersion", self.rv)
                self.fn(event["type"], event["object"], now)

    def run(self):
        while not self.over:
            try:
                self.follow()
            except (OSError, ValueError, AttributeError, http.client.HTTPException) as e:
                if not self.over:
                    say(f"a watch of the benchmark broke and is resumed: {e!r}")
            if not self.over:
                self.open()

    def stop(self):
        self.over = True
        sock = self.c.sock
        if sock:
            sock.shutdown(socket.SHUT_RDWR)


# ---- the controller ----

class Process:
    """What /proc says of a process."""

    def __init__(self, pid):
        self.pid = pid

    def cpu(self):
        """Seconds of CPU of all its threads, to the nanosecond."""
        total = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1e9

    def memory(self):
        """RSS and its anonymous part in MB."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            fields = dict(line.split(":", 1) for line in f)
        return tuple(int(fields[k].split()[0]) / 1000 for k in ("VmRSS", "RssAnon"))


class Controller(Process):
    """sandbox-controller from the build, against the API server. Its log is read as it is written."""

    ports = iter(range(19080, 20000, 2))
    alive = []
    binary, own_flags, agent = CONTROLLER, ["--zap-time-encoding=rfc3339nano"], "cofferdam/"
    synced = "caches synced"

    def __init__(self, *flags, kubeconfig_path=None, name="controller", leader_elect=False):
        port = next(self.ports)
        command = [self.binary, "--extensions", f"--leader-elect={str(leader_elect).lower()}",
                   f"--leader-election-namespace={LEASE_NS}", f"--metrics-bind-address=127.0.0.1:{port}",
                   f"--health-probe-bind-address=127.0.0.1:{port + 1}", *self.own_flags, *flags]
        self.metrics_port, self.name, self.lines = port, name, queue.Queue()
        self.began = time.monotonic()
        env = {**os.environ, "KUBECONFIG": kubeconfig_path or os.path.join(CLUSTER, "kubeconfig")}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env, text=True)
        super().__init__(self.process.pid)
        self.log, self.times = [], {}
        threading.Thread(target=self.read, daemon=True).start()
        self.alive.append(self)

    def read(self):
        for line in self.process.stderr:
            now = time.monotonic()
            self.log.append(line)
            try:
                message = json.loads(line).get("msg", "")
            except ValueError:
                message = line
            self.times.setdefault(message, now)

    def wait(self, message, seconds=60):
        """Seconds from start (or from when the process was made) until the log said so."""
        end = time.monotonic() + seconds
        while message not in self.times:
            if time.monotonic() > end or self.process.poll() is not None:
                raise Failed(f"{self.name}: no {message!r} in its log: {''.join(self.log[-5:])}")
            time.sleep(0.02)
        return self.times[message] - self.began

    def metrics(self):
        c = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=10)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        return {m[0]: float(m[1]) for m in re.findall(r"^([^#\s]\S*) (\S+)$", text, re.M)}

    def reconciles(self, controller="sandbox"):
        return sum(v for k, v in self.metrics().items()
                   if k.startswith("controller_runtime_reconcile_total") and f'controller="{controller}"' in k)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    @classmethod
    def end_all(cls):
        """A part that was broken off must not have its controller in the next one."""
        while cls.alive:
            cls.alive.pop().kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Peer(Controller):
    """kubernetes-sigs/agent-sandbox's own controller, with the flags of its scalability presubmit."""

    binary = os.path.join(ROOT, "build", "tools", "bin", "agent-sandbox-controller")
    own_flags = ["--enable-webhook=false", "--kube-api-qps=1000", "--kube-api-burst=2000",
                 "--sandbox-concurrent-workers=50", "--sandbox-claim-concurrent-workers=50",
                 "--sandbox-warm-pool-concurrent-workers=1", "--sandbox-template-concurrent-workers=1",
                 "--sandbox-warm-pool-max-batch-size=300"]
    agent = "agent-sandbox-controller/"
    synced = "Starting workers"


atexit.register(Controller.end_all)


# ---- the audit log ----

def audit_offset():
    return os.path.getsize(AUDIT_LOG)


def audit_entries(offset, settle=1.0):
    """Entries after an offset; the API server may still be writing the last ones."""
    time.sleep(settle)
    with open(AUDIT_LOG, encoding="utf-8") as f:
        f.seek(offset)
        for line in f:
            if line.endswith("\n"):
                yield json.loads(line)


def controller_writes(offset, agent=Controller.agent):
    """Writes of a controller since an offset: a Counter by verb and resource. The Lease is not counted."""
    counts = collections.Counter()
    for e in audit_entries(offset):
        ref = e.get("objectRef", {})
        if e.get("userAgent", "").startswith(agent) and ref.get("resource") != "leases":
            sub = "/" + ref["subresource"] if "subresource" in ref else ""
            failed = " failed" if e.get("responseStatus", {}).get("code", 0) >= 400 else ""
            counts[f"{e['verb']} {ref.get('resource')}{sub}{failed}"] += 1
    return counts


# ---- objects ----

FAKE = {"tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists", "effect": "NoSchedule"}],
        "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0}
CONTAINERS = [{"name": "main", "image": "localhost/cofferdam-test/pause:1"}]


def pod_spec(node=None):
    """A pod for fake nodes: for the scheduler to place, or placed already."""
    where = {"nodeName": node} if node else {"nodeSelector": {"type": "kwok"}}
    return {**FAKE, **where, "containers": CONTAINERS}


def sandbox(name, node):
    return {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {"name": name},
            "spec": {"podTemplate": {"spec": pod_spec(node)}}}


def template(name):
    return {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxTemplate", "metadata": {"name": name},
            "spec": {"podTemplate": {"spec": pod_spec()}, "networkPolicyManagement": "Unmanaged"}}


def pool(name, template_name, replicas):
    return {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool", "metadata": {"name": name},
            "spec": {"replicas": replicas, "sandboxTemplateRef": {"name": template_name}}}


def claim(name, pool_name):
    return {"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxClaim", "metadata": {"name": name},
            "spec": {"warmPoolRef": {"name": pool_name}}}


def is_ready(obj):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in obj.get("status", {}).get("conditions", []))


def setup_pool(api, ns, replicas, seconds=300):
    """A namespace with a pool that is full."""
    api.namespace(ns)
    api.create("sandboxtemplates", ns, template("t"))
    api.create("sandboxwarmpools", ns, pool("p", "t", replicas))
    wait_pool(api, ns, replicas, seconds)


def wait_pool(api, ns, replicas, seconds=300):
    end, said = time.monotonic() + seconds, 0
    while True:
        status = api.call("GET", f"{url('sandboxwarmpools', ns)}/p").get("status", {})
        if status.get("readyReplicas", 0) >= replicas:
            return
        if time.monotonic() > end:
            raise Failed(f"pool of {replicas} is not full: {status}")
        if time.monotonic() - said > 5:
            said = time.monotonic()
            say(f"{ns}: {status.get('readyReplicas', 0)} of {replicas} members are ready")
        time.sleep(0.5)


def teardown(api, *namespaces, seconds=300):
    """Namespaces of a run go in the order that makes least work, and are waited for."""
    for ns in namespaces:
        for plural in ("sandboxwarmpools", "sandboxclaims", "sandboxes"):
            api.delete_all(plural, ns)
        api.call("DELETE", f"{CORE}/namespaces/{ns}", ok=(404, 409))
    for ns in namespaces:
        end = time.monotonic() + seconds
        while api.call("GET", f"{CORE}/namespaces/{ns}", ok=(404,)).get("kind") == "Namespace":
            if time.monotonic() > end:
                raise Failed(f"namespace {ns} does not go")
            time.sleep(0.5)


# ---- numbers ----

def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


class Table:
    """Rows of figure, target and verdict; the last word is the number of misses."""

    def __init__(self, title):
        self.title, self.rows = title, []

    def add(self, what, value, unit="", most=None, least=None, note=""):
        verdict = ""
        if most is not None or least is not None:
            good = (most is None or value <= most) and (least is None or value >= least)
            verdict = "pass" if good else "FAIL"
        target = f"<= {most:g}" if most is not None else f">= {least:g}" if least is not None else ""
        self.rows.append((what, value, unit, target, verdict, note))
        say(f"{what} {value:.2f} {unit} {verdict}")

    def show(self):
        print(f"\n{self.title}")
        for what, value, unit, target, verdict, note in self.rows:
            figure = f"{value:.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.2f}"
            print(f"  {what:<58}{figure:>10} {unit:<7}{target:>10}  {verdict:<5}{note}")
        sys.stdout.flush()
        return sum(1 for r in self.rows if r[4] == "FAIL")
