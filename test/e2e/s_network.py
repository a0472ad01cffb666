# SPDX-License-Identifier: Apache-2.0
"""What code in a sandbox can reach, tried from inside one; and who can reach it."""
import contextlib

from k8s_agent_sandbox import SandboxClient

from k8s import NS, POOL, SYSTEM, check, get, kubectl, wait_pool
from s_sdk import direct

CONNECT = """python3 -c "
import socket, sys
s = socket.socket(); s.settimeout(3)
try:
    s.connect((sys.argv[1], int(sys.argv[2]))); print('open')
except TimeoutError: print('timeout')
except OSError as e: print(type(e).__name__)
" {host} {port}"""


@contextlib.contextmanager
def sandbox():
    wait_pool()
    box = SandboxClient(connection_config=direct()).create_sandbox(warmpool=POOL, namespace=NS)
    try:
        yield box
    finally:
        box.terminate()


def reach(box, host, port):
    return box.commands.run(CONNECT.format(host=host, port=port), timeout=30).stdout.strip()


def scenario_private_network_is_blocked_and_the_internet_is_open():
    api = kubectl("get", "endpoints", "kubernetes", "-n", "default", "-o", "jsonpath={.subsets[0].addresses[0].ip}")
    with sandbox() as box:
        other = next(p["status"]["podIP"] for p in get("pod", selector="agents.x-k8s.io/sandbox-name-hash")
                     if p["metadata"]["name"] != box.sandbox_id and p["status"].get("podIP"))
        router = get("pod", ns=SYSTEM, selector="app=sandbox-router")[0]["status"]["podIP"]
        check(reach(box, "internet.test", 80) == "open", "the internet is not reachable by name")
        check(reach(box, "203.0.113.10", 80) == "open", "the internet is not reachable by address")
        for what, host, port in [("another sandbox", other, 8888), ("the API server", api, 6443),
                                 ("its Service", "10.96.0.1", 443), ("the router", router, 8080)]:
            got = reach(box, host, port)
            check(got == "timeout", f"{what} ({host}:{port}): {got}")


def scenario_sandbox_has_no_credentials_and_few_rights():
    with sandbox() as box:
        run = lambda text: box.commands.run(text, timeout=30)  # noqa: E731
        check(run("ls /var/run/secrets/kubernetes.io").exit_code != 0, "a service account token is mounted")
        check(run("id -u").stdout == "65532\n", "uid")
        check("CapEff:\t0000000000000000" in run("cat /proc/self/status").stdout, "capabilities")
        check(run("touch /usr/x").exit_code != 0, "the root file system is writable")
