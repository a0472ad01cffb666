#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job, step by step, with the public SDK. Run by test/demo/run in the cluster's network.

The environment: KUBECONFIG; DEMO_KUBECTL, what a person types for kubectl; DEMO_CLUSTER, the state of the test
cluster, empty on another one; DEMO_SECOND_IMAGE, a second name of the template's image, empty to change an
environment variable instead; DEMO_URL, what stands for the internet, empty to leave that step out.
"""
import ipaddress
import json
import os
import shlex
import sys
import time
import urllib.parse

from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig, SandboxLocalTunnelConnectionConfig

import cluster
from cluster import NAME, NS, SYSTEM, get, kubectl, pool_state, wait_for
from screen import BOLD, OFF, RED, Failed, heading, note, step

KUBECTL = os.environ.get("DEMO_KUBECTL", "kubectl")
TEST_CLUSTER = os.environ.get("DEMO_CLUSTER", "")
SECOND_IMAGE = os.environ.get("DEMO_SECOND_IMAGE", "")
URL = os.environ.get("DEMO_URL", "")
RESOURCES = "sandboxtemplates,sandboxwarmpools,sandboxclaims,sandboxes,pods,networkpolicies"

PANDAS = """
import pandas as pd
df = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo"], "visits": [3, 4, 5]})
print(df.groupby("city").visits.sum().to_string())
"""
# Tries each HOST:PORT of its arguments at once; prints what came of it as JSON.
CONNECT = """
import json, socket, sys, threading
result = {}
def reach(address):
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
        result[address] = "open"
    except OSError as e:
        result[address] = "no answer" if isinstance(e, TimeoutError) else str(e)
threads = [threading.Thread(target=reach, args=(a,)) for a in sys.argv[1:]]
[t.start() for t in threads]
[t.join() for t in threads]
print(json.dumps(result))
"""
FETCH = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=5).read(200).decode().strip())
"""


def python(code, *args):
    """A command that runs code; the runtime splits it as a shell would, without being one."""
    return shlex.join(["python3", "-c", code, *args])


def expect(got, wanted):
    if got != wanted:
        raise AssertionError(f"expected {wanted!r}, got {got!r}")


def answer(box, command, timeout=30):
    """What the command prints; it has to succeed and be silent on stderr."""
    result = box.commands.run(command, timeout=timeout)
    if result.exit_code != 0 or result.stderr:
        last = (result.stderr.strip().split("\n") or [""])[-1]
        raise AssertionError(f"the command ended with exit code {result.exit_code}: {last}")
    return result.stdout


def connection():
    """In the test cluster we are in the node's network and reach Services; elsewhere by port-forward."""
    if not TEST_CLUSTER:
        return SandboxLocalTunnelConnectionConfig(), "through kubectl port-forward"
    service = get("service", "sandbox-router-svc", ns=SYSTEM)
    url = f"http://{service['spec']['clusterIP']}:8080"
    return SandboxDirectConnectionConfig(api_url=url), f"directly at {url}"


def pool_fills(text):
    with step(text) as s:
        wait_for(s, "a full pool", pool_state)
        s.note(s.status)


def claims(client):
    with step("create_sandbox: a claim, bound and Ready") as s:
        box = client.create_sandbox(warmpool=NAME, namespace=NS)
        s.note(f"claim {box.claim_name} holds the sandbox {box.sandbox_id}")
    return box


def runs_python(box):
    with step("python3 -c with pandas") as s:
        table = answer(box, python(PANDAS), timeout=60)
        expect(table.split()[-4:], ["Oslo", "8", "Rome", "4"])
        s.note(table)


def keeps_files(box):
    content = b"caf\xc3\xa9 \x00\xff " * 1000
    with step("write a file, list it, read it back"):
        box.files.write("data/hello.bin", content)
        expect([(e.name, e.size) for e in box.files.list("data")], [("hello.bin", len(content))])
        expect(box.files.read("data/hello.bin"), content)


def times_out(box):
    with step("sleep 60, limited to 1 s: exit code 124") as s:
        began = time.monotonic()
        result = box.commands.run("sleep 60", command_timeout=1)
        expect(result.exit_code, 124)
        if time.monotonic() - began > 10:
            raise AssertionError("it took far longer than its limit")
        s.note(f"exit_code={result.exit_code} timed_out={result.timed_out}")


def private_addresses(box):
    """Addresses that code in a sandbox must not reach: (what, HOST:PORT)."""
    pods = [p for p in get("pod", selector="agents.x-k8s.io/sandbox-name-hash")
            if p["status"].get("podIP") and p["metadata"]["name"] != box.sandbox_id]
    found = [("another sandbox", f"{pods[0]['status']['podIP']}:8888")] if pods else []
    router = get("pod", ns=SYSTEM, selector="app=sandbox-router")[0]
    found.append(("the router", f"{router['status']['podIP']}:8080"))
    api = get("endpoints", "kubernetes", ns="default")["subsets"][0]
    address = api["addresses"][0]["ip"]
    if ipaddress.ip_address(address).is_private:
        service = get("service", "kubernetes", ns="default")["spec"]["clusterIP"]
        found += [("the API server", f"{address}:{api['ports'][0]['port']}"), ("its Service", f"{service}:443")]
    return found


def network_is_bounded(box):
    with step("private network from inside: blocked") as s:
        targets = private_addresses(box)
        seen = json.loads(answer(box, python(CONNECT, *[a for _, a in targets])))
        for what, address in targets:
            s.note(f"{what + ',':17} {address}: {seen[address]}")
        reached = [what for what, address in targets if seen[address] == "open"]
        if reached:
            raise AssertionError(f"reached {', '.join(reached)}: does this cluster's network plugin enforce policies?")
    if not URL:
        note("the internet is not tried on a cluster that is not ours; DEMO_URL=http://... names a page to fetch")
        return
    with step(f"internet from inside: {urllib.parse.urlsplit(URL).hostname}") as s:
        s.note(f"{URL} says: {answer(box, python(FETCH, URL)).strip()[:60]}")


def change_template():
    """Changes the template so that its pool is stale; returns what was done, in words."""
    path = "/spec/podTemplate/spec/containers/0/"
    if SECOND_IMAGE:
        op, text = {"op": "replace", "path": path + "image", "value": SECOND_IMAGE}, f"image is now {SECOND_IMAGE}"
    else:
        first = get("sandboxtemplate", NAME)["spec"]["podTemplate"]["spec"]["containers"][0]
        env = [e for e in first.get("env", []) if e["name"] != "DEMO_EDITION"]
        env.append({"name": "DEMO_EDITION", "value": str(int(time.time()))})
        op, text = {"op": "add", "path": path + "env", "value": env}, (
            "no second image on a cluster that is not ours: the variable DEMO_EDITION was changed instead")
    kubectl("patch", "sandboxtemplate", NAME, "-n", NS, "--type=json", "-p", json.dumps([op]))
    return text


def pool_is_replaced(box):
    old = {m["metadata"]["uid"] for m in cluster.members()}
    lowest = len(old)

    def replaced():
        nonlocal lowest
        full, text = pool_state()
        pool = get("sandboxwarmpool", NAME)
        lowest = min(lowest, pool.get("status", {}).get("readyReplicas", 0))
        return full and not old & {m["metadata"]["uid"] for m in cluster.members()}, text
    with step("template changed: the pool is replaced") as s:
        s.note(change_template())
        wait_for(s, "a pool of the new template", replaced)
        s.note(f"{len(old)} old members gone, never fewer than {lowest} ready")
    with step("the claimed sandbox was left alone"):
        expect(box.files.exists("data/hello.bin"), True)


def ends(box):
    with step("terminate: claim, sandbox and pod are gone") as s:
        name = box.sandbox_id
        box.terminate()

        def gone():
            left = [kind for kind, n in (("claim", box.claim_name), ("sandbox", name), ("pod", name))
                    if get(f"sandbox{kind}" if kind == "claim" else kind, n)]
            return not left, f"still there: {', '.join(left)}"
        wait_for(s, "the end of the sandbox", gone)
    pool_fills("the pool is full again")


def main_job():
    heading(f"The pool {NS}/{NAME}")
    pool_fills("the warm pool fills")
    config, how = connection()
    heading("The public SDK, k8s-agent-sandbox 1.0.8 unmodified, " + how)
    with SandboxClient(connection_config=config) as client:
        box = claims(client)
        try:
            runs_python(box)
            keeps_files(box)
            times_out(box)
            network_is_bounded(box)
            heading("A new image, and the end")
            pool_is_replaced(box)
        except BaseException:
            box.terminate()
            raise
        ends(box)


def what_next():
    heading("What is there now")
    print(kubectl("get", RESOURCES, "-A"))
    heading("Go on by hand")
    print(f"""  {KUBECTL} -n {NS} scale swp {NAME} --replicas=5
  {KUBECTL} -n {NS} get swp,sandbox,pods -w
  {KUBECTL} -n {NS} exec POD -- python3 -c 'import pandas; print(pandas.__version__)'""")
    if TEST_CLUSTER:
        print(f"""  {TEST_CLUSTER}/run build/tools/venv/bin/python     # the SDK, in the cluster's network
  make e2e                                    # the scenarios of test/e2e

{BOLD}Clean up{OFF}
  make cluster-down                           # the cluster and all in it
  make distclean                              # build/ whole; make clean keeps tools and images""")
    else:
        print(f"""
{BOLD}Clean up{OFF}
  {KUBECTL} delete -k build/deploy/examples
  {KUBECTL} delete -k build/deploy/system      # the CRDs too, and with them every sandbox""")


def where_to_look():
    print(f"""
Where to look:
  {KUBECTL} -n {NS} get swp,sandboxclaim,sandbox,pods
  {KUBECTL} -n {NS} get events --sort-by=.lastTimestamp
  {KUBECTL} -n {SYSTEM} logs deployment/agent-sandbox-controller --tail=50
  {KUBECTL} -n {SYSTEM} logs deployment/sandbox-router --tail=50""")
    if TEST_CLUSTER:
        print(f"  {TEST_CLUSTER}/log/*.log                      # the cluster's own programs")
    print("docs/operations.md says what conditions mean.")


def main():
    try:
        main_job()
    except Exception as e:  # steps raise Failed; anything else is told the same way
        what = e if isinstance(e, Failed) else f"{type(e).__name__}: {e}"
        print(f"\n{RED}demo: {what}{OFF}", flush=True)
        where_to_look()
        return 1
    except KeyboardInterrupt:
        print("\ndemo: interrupted")
        return 130
    what_next()
    return 0


if __name__ == "__main__":
    sys.exit(main())
