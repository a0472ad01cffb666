# SPDX-License-Identifier: Apache-2.0
"""Claims beyond the happy path: cold starts, many at once, expiry, deletion, trouble that is explained."""
import datetime

from k8s import (NS, POOL, apply, check, claim, condition, get, kubectl, members, wait_for, wait_gone, wait_pool,
                 wait_ready)


def drop(*names):
    kubectl("delete", "sandboxclaim", "-n", NS, "--wait=false", "--ignore-not-found", *names)
    for name in names:
        wait_gone("sandboxclaim", name)


def scenario_warm_claim_adopts_a_member():
    wait_pool()
    before = members()
    apply(claim("warm"))
    got = wait_ready("sandboxclaim", "warm")
    name = got["status"]["sandbox"]["name"]
    check(name in before, f"{name} was not a member: {before}")
    check(got["metadata"]["annotations"]["agents.x-k8s.io/sandbox-name"] == name, "assignment")
    sandbox = get("sandbox", name)
    owners = sandbox["metadata"]["ownerReferences"]
    check(len(owners) == 1 and owners[0]["uid"] == got["metadata"]["uid"] and owners[0]["controller"], str(owners))
    labels = sandbox["metadata"]["labels"]
    check(labels["agents.x-k8s.io/launch-type"] == "warm", "launch-type")
    check("agents.x-k8s.io/warm-pool-sandbox" not in labels, "still labelled as a member")
    check(got["status"]["sandbox"]["podIPs"] == sandbox["status"]["podIPs"], "podIPs")

    def pod_left_the_pool():
        return "agents.x-k8s.io/warm-pool-sandbox" not in get("pod", name)["metadata"]["labels"]
    wait_for("the pod keeps the pool's label", pod_left_the_pool, 5)
    drop("warm")
    wait_gone("sandbox", name)
    wait_gone("pod", name)


def scenario_more_claims_than_members_all_become_ready_and_none_shares():
    wait_pool()
    names = [f"burst-{i}" for i in range(6)]
    for name in names:
        apply(claim(name))
    bound = [wait_ready("sandboxclaim", n)["status"]["sandbox"]["name"] for n in names]
    check(len(set(bound)) == len(names), f"two claims share a sandbox: {bound}")
    for name, sandbox in zip(names, bound):
        owners = get("sandbox", sandbox)["metadata"]["ownerReferences"]
        check([o["name"] for o in owners] == [name], f"{sandbox} is owned by {owners}")
    drop(*names)
    wait_pool()


def scenario_claim_without_a_pool_says_so_and_recovers_when_it_comes():
    apply(claim("early", pool="late-pool"))
    got = wait_for("no condition", lambda: (lambda c: c if condition(c, "Ready") else None)(
        get("sandboxclaim", "early")), 10)
    check(condition(got, "Ready")["reason"] == "WarmPoolNotFound", str(condition(got, "Ready")))
    check(condition(got, "Ready")["message"] == 'SandboxWarmPool "late-pool" not found', "message")
    apply({"apiVersion": "extensions.agents.x-k8s.io/v1beta1", "kind": "SandboxWarmPool",
           "metadata": {"name": "late-pool", "namespace": NS},
           "spec": {"replicas": 0, "sandboxTemplateRef": {"name": "python-sandbox"}}})
    cold = wait_ready("sandboxclaim", "early")
    check(cold["status"]["sandbox"]["name"] == "early", "a cold sandbox has the claim's name")
    check(get("sandbox", "early")["metadata"]["labels"]["agents.x-k8s.io/launch-type"] == "cold", "launch-type")
    drop("early")
    kubectl("delete", "swp", "late-pool", "-n", NS)


def scenario_shutdown_time_deletes_the_claim_and_all_below():
    wait_pool()
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4)).strftime("%Y-%m-%dT%H:%M:%SZ")
    apply(claim("mayfly", lifecycle={"shutdownTime": soon, "shutdownPolicy": "Delete"}))
    name = wait_ready("sandboxclaim", "mayfly")["status"]["sandbox"]["name"]
    wait_gone("sandboxclaim", "mayfly", seconds=20)
    wait_gone("sandbox", name)
    wait_gone("pod", name)


def scenario_retain_keeps_the_claim_and_removes_the_sandbox():
    wait_pool()
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4)).strftime("%Y-%m-%dT%H:%M:%SZ")
    apply(claim("kept", lifecycle={"shutdownTime": soon, "shutdownPolicy": "Retain"}))
    name = wait_ready("sandboxclaim", "kept")["status"]["sandbox"]["name"]
    wait_gone("sandbox", name, seconds=20)
    ready = condition(get("sandboxclaim", "kept"), "Ready")
    check((ready["status"], ready["reason"]) == ("False", "ClaimExpired"), str(ready))
    drop("kept")


def scenario_deleted_sandbox_is_not_replaced_in_silence():
    wait_pool()
    apply(claim("bereft"))
    name = wait_ready("sandboxclaim", "bereft")["status"]["sandbox"]["name"]
    kubectl("delete", "sandbox", name, "-n", NS, "--wait=false")
    wait_gone("sandbox", name)

    def missing():
        return condition(get("sandboxclaim", "bereft"), "Ready").get("reason") == "SandboxMissing"
    wait_for("Ready is not SandboxMissing", missing, 10)
    kubectl("annotate", "sandboxclaim", "bereft", "-n", NS, "cofferdam.dev/rebind=true")
    again = wait_ready("sandboxclaim", "bereft")
    check(again["status"]["sandbox"]["name"] != name, "rebound to the dead sandbox")
    drop("bereft")


def scenario_image_that_cannot_be_pulled_is_named_in_the_claim():
    template = get("sandboxtemplate", POOL)
    spec = template["spec"]
    spec["podTemplate"]["spec"]["containers"][0]["image"] = "localhost/cofferdam/no-such-image:1"
    apply({"apiVersion": template["apiVersion"], "kind": "SandboxTemplate",
           "metadata": {"name": "broken", "namespace": NS}, "spec": spec})
    apply({"apiVersion": template["apiVersion"], "kind": "SandboxWarmPool",
           "metadata": {"name": "broken", "namespace": NS},
           "spec": {"replicas": 0, "sandboxTemplateRef": {"name": "broken"}}})
    apply(claim("unlucky", pool="broken"))

    def explained():
        message = condition(get("sandboxclaim", "unlucky"), "Ready").get("message", "")
        return "no-such-image" in message
    wait_for("the claim does not name the image", explained, 60)
    drop("unlucky")
    kubectl("delete", "swp/broken", "sandboxtemplate/broken", "-n", NS)
