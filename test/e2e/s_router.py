# SPDX-License-Identifier: Apache-2.0
"""The router on the cluster: suspended sandboxes woken by requests, last use written, rollouts that nobody notices."""
import http.client
import json
import threading
import time

from k8s import SYSTEM, check, get, kubectl, namespace, wait_for, wait_gone, wait_ready
from objects import apply_all, patch
from routers import ask, own_router, runtime

ANNOTATION = "cofferdam.dev/last-activity"


def suspend(name, ns):
    patch("sandbox", name, ns, {"spec": {"operatingMode": "Suspended"}})
    wait_gone("pod", name, ns)


def mode(name, ns):
    return get("sandbox", name, ns)["spec"]["operatingMode"]


def used(name, ns):
    return get("sandbox", name, ns)["metadata"].get("annotations", {}).get(ANNOTATION)


def scenario_a_request_wakes_a_suspended_sandbox_and_a_probe_does_not():
    with namespace("e2e-wake") as ns, own_router(ns, "router-wake", "--activity-interval=2s") as address:
        apply_all(runtime("box", ns))
        wait_ready("sandbox", "box", ns)
        wait_for("the router answers", lambda: ask(address, "box", ns)[0] == 200, 10)
        before = wait_for("last use is written", lambda: used("box", ns), 15)
        suspend("box", ns)
        status, fields, body = ask(address, "box", ns, User_Agent="kube-probe/1.37")
        check((status, "is suspended" in body.decode()) == (503, True), f"probe: {status} {body}")
        check(int(fields["retry-after"]) > 0, str(fields))
        check(mode("box", ns) == "Suspended", "a probe woke it")
        began = time.monotonic()
        command = json.dumps({"command": "echo awake"})
        statuses, threads = [], []
        for _ in range(8):
            threads.append(threading.Thread(target=lambda: statuses.append(
                ask(address, "box", ns, "POST", "/execute", command, Content_Type="application/json"))))
            threads[-1].start()
        for thread in threads:
            thread.join()
        check({s[0] for s in statuses} == {200}, f"woken: {statuses}")
        check({json.loads(s[2])["stdout"] for s in statuses} == {"awake\n"}, f"woken: {statuses}")
        print(f"       awake and answered in {time.monotonic() - began:.1f} s")
        check(mode("box", ns) == "Running", "not resumed")
        wait_for("a later use is written", lambda: used("box", ns) > before, 15)
        status, _, body = ask(address, "nobody", ns)
        check((status, "is not known" in body.decode()) == (404, True), f"unknown: {status} {body}")


def scenario_the_router_as_installed_wakes_nobody():
    address = kubectl("get", "service", "sandbox-router-svc", "-n", SYSTEM, "-o", "jsonpath={.spec.clusterIP}")
    with namespace("e2e-nowake") as ns:
        apply_all(runtime("box", ns))
        wait_ready("sandbox", "box", ns)
        wait_for("the router answers", lambda: ask(address, "box", ns)[0] == 200, 10)
        suspend("box", ns)
        status, _, body = ask(address, "box", ns)
        check((status, mode("box", ns)) == (404, "Suspended"), f"{status} {body}")
        check(used("box", ns) is None, "an annotation was written")


def scenario_a_rollout_of_the_router_loses_no_request():
    address = kubectl("get", "service", "sandbox-router-svc", "-n", SYSTEM, "-o", "jsonpath={.spec.clusterIP}")
    with namespace("e2e-drain") as ns:
        apply_all(runtime("box", ns))
        wait_ready("sandbox", "box", ns)
        wait_for("the router answers", lambda: ask(address, "box", ns)[0] == 200, 10)
        results, failures, stop = [], [], threading.Event()

        def call(seconds):
            """An upload and, while the router goes, a command that takes its time."""
            body = json.dumps({"command": f"sleep {seconds}"})
            try:
                status = ask(address, "box", ns, "POST", "/execute", body, Content_Type="application/json")[0]
                (results if status == 200 else failures).append(status)
            except (OSError, http.client.HTTPException) as e:
                failures.append(repr(e))

        def stream():
            while not stop.is_set():
                call(0)
                time.sleep(0.05)
        threads = [threading.Thread(target=stream) for _ in range(2)]
        threads += [threading.Thread(target=call, args=(8,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        kubectl("-n", SYSTEM, "rollout", "restart", "deployment/sandbox-router")
        kubectl("-n", SYSTEM, "rollout", "status", "deployment/sandbox-router", "--timeout=120s")
        time.sleep(3)
        stop.set()
        for thread in threads:
            thread.join()
        check(not failures, f"{len(failures)} of {len(failures) + len(results)} failed: {failures[:5]}")
        check(len(results) > 50, f"only {len(results)} requests were made")
