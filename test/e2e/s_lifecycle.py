# SPDX-License-Identifier: Apache-2.0
"""Ends of claims: shutdownTime, TTL after Finished, the three policies, and what holds them up."""
import time

from k8s import check, condition, get, kubectl, namespace, wait_for, wait_gone, wait_ready
from objects import apply_all, claim, exits, hold, pod_spec, pool, release, soon, template, wait_reason


def deleting(kind, name, ns):
    return "deletionTimestamp" in (get(kind, name, ns) or {"metadata": {}})["metadata"]


def finished(name, ns):
    return condition(get("sandboxclaim", name, ns), "Finished").get("reason") == "PodSucceeded"


def pools(ns):
    """Cold pools: one whose pods stay, one whose pods end by themselves."""
    apply_all(template("stays", ns, pod_spec()), pool("stays", ns, "stays"),
              template("ends", ns, exits()), pool("ends", ns, "ends"))


def scenario_foreground_deletion_waits_for_the_pod():
    with namespace("e2e-foreground") as ns:
        pools(ns)
        policy = {"shutdownPolicy": "DeleteForeground"}
        apply_all(claim("timed", ns, "stays", lifecycle={"shutdownTime": soon(8), **policy}),
                  claim("ttl", ns, "ends", lifecycle={"ttlSecondsAfterFinished": 5, **policy}))
        both = ("timed", "ttl")
        for name in both:
            wait_for(f"no pod {name}", lambda n=name: get("pod", n, ns), 20, every=0.05)
            hold("pod", name, ns)
        try:
            for name in both:
                for kind in ("sandboxclaim", "sandbox", "pod"):
                    wait_for(f"{kind} {name} is not being deleted", lambda k=kind, n=name: deleting(k, n, ns), 30)
            for name in both:
                finalizers = get("sandboxclaim", name, ns)["metadata"]["finalizers"]
                check(finalizers == ["foregroundDeletion"], str(finalizers))
                ready = condition(get("sandboxclaim", name, ns), "Ready")
                check((ready["status"], ready["reason"], ready["message"]) == (
                    "False", "ClaimExpired", "Claim expired. Sandbox cleanup initiated."), str(ready))
        finally:
            for name in both:
                release("pod", name, ns)
        for name in both:
            for kind in ("sandboxclaim", "sandbox", "pod"):
                wait_gone(kind, name, ns)


def scenario_finished_claims_end_after_their_ttl_or_stay():
    """Five claims at once, since all of this is waiting."""
    with namespace("e2e-ttl") as ns:
        pools(ns)
        shutdown = soon(9)
        apply_all(claim("quick", ns, "ends", lifecycle={"ttlSecondsAfterFinished": 2, "shutdownPolicy": "Delete"}),
                  claim("kept", ns, "ends", lifecycle={"shutdownPolicy": "Delete"}),
                  claim("bare", ns, "ends"),
                  claim("zero", ns, "ends", lifecycle={"ttlSecondsAfterFinished": 0, "shutdownPolicy": "Retain"}),
                  claim("first", ns, "ends", lifecycle={"ttlSecondsAfterFinished": 120, "shutdownTime": shutdown,
                                                        "shutdownPolicy": "Delete"}))
        for name in ("kept", "bare", "first"):
            wait_for(f"{name} is not Finished", lambda n=name: finished(n, ns), 30)
        check(not deleting("sandboxclaim", "first", ns) or soon(0) >= shutdown, "deleted before either time")
        for kind in ("sandboxclaim", "sandbox", "pod"):
            wait_gone(kind, "quick", ns)
        wait_reason("sandboxclaim", "zero", ns, "ClaimExpired")
        wait_gone("sandbox", "zero", ns)
        check(finished("zero", ns), "Finished is lost with the Sandbox")
        wait_gone("sandboxclaim", "first", ns)
        check(soon(0) >= shutdown, "deleted before shutdownTime")
        for name in ("kept", "bare", "zero"):
            check(get("sandboxclaim", name, ns) and not deleting("sandboxclaim", name, ns), f"{name} was deleted")


def scenario_retained_claim_tells_finished_and_expired_while_its_sandbox_is_held():
    with namespace("e2e-held") as ns:
        pools(ns)
        apply_all(claim("held", ns, "ends", lifecycle={"ttlSecondsAfterFinished": 0, "shutdownPolicy": "Retain"}))
        wait_for("no sandbox", lambda: get("sandbox", "held", ns), 20, every=0.05)
        hold("sandbox", "held", ns)
        try:
            wait_for("the sandbox is not being deleted", lambda: deleting("sandbox", "held", ns), 30)
            check(finished("held", ns), "not Finished")
            wait_reason("sandboxclaim", "held", ns, "ClaimExpired")
        finally:
            release("sandbox", "held", ns)
        wait_gone("sandbox", "held", ns)
        time.sleep(1)
        check(finished("held", ns), "Finished is lost")
        wait_reason("sandboxclaim", "held", ns, "ClaimExpired")


def scenario_bound_claim_stays_ready_when_pool_and_template_go():
    with namespace("e2e-orphaned") as ns:
        apply_all(template("t", ns), pool("p", ns, "t", 1))
        wait_for("no ready member", lambda: get("swp", "p", ns).get("status", {}).get("readyReplicas") == 1, 30)
        apply_all(claim("bound", ns, "p", additionalPodMetadata={"labels": {"sandbox.users.io/team": "blue"}}))
        name = wait_ready("sandboxclaim", "bound", ns)["status"]["sandbox"]["name"]
        pod = get("pod", name, ns)["metadata"]["uid"]
        kubectl("delete", "swp/p", "sandboxtemplate/t", "-n", ns)
        kubectl("annotate", "sandboxclaim", "bound", "-n", ns, "look=again")
        time.sleep(1.5)
        got = get("sandboxclaim", "bound", ns)
        check(condition(got, "Ready")["status"] == "True", str(condition(got, "Ready")))
        check(get("pod", name, ns)["metadata"]["uid"] == pod, "another pod")
