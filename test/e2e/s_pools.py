# SPDX-License-Identifier: Apache-2.0
"""Warm pools: scaling, a changed image, self-healing, templates that cannot become pods."""
from k8s import (NS, POOL, SYSTEM, TEMPLATE, apply, check, claim, condition, get, kubectl, members, wait_for,
                 wait_gone, wait_pool, wait_ready)

API = "extensions.agents.x-k8s.io/v1beta1"


def scale(n, pool=POOL):
    kubectl("scale", "swp", pool, "-n", NS, f"--replicas={n}")


def scenario_pool_scales_up_and_down():
    wait_pool()
    scale(5)
    wait_pool()
    check(len(members()) == 5, str(members()))
    scale(3)
    wait_pool()
    wait_for("surplus members", lambda: len(members()) == 3)


def scenario_deleted_member_is_replaced():
    wait_pool()
    victim = sorted(members())[0]
    kubectl("delete", "sandbox", victim, "-n", NS, "--wait=false")
    wait_for("the pool has 3 others", lambda: victim not in members() and len(members()) == 3)
    wait_pool()


def scenario_deleted_pod_comes_back():
    wait_pool()
    victim = sorted(members())[0]
    uid = get("pod", victim)["metadata"]["uid"]
    kubectl("delete", "pod", victim, "-n", NS, "--wait=false", "--grace-period=1")
    wait_for("no new pod", lambda: (get("pod", victim) or {}).get("metadata", {}).get("uid", uid) != uid)
    wait_pool()


def container(template, **changes):
    spec = get("sandboxtemplate", template)["spec"]
    spec["podTemplate"]["spec"]["containers"][0].update(changes)
    return spec


def scenario_changed_template_replaces_members_and_never_empties_the_pool():
    wait_pool()
    old = members()
    patch = '[{"op":"add","path":"/spec/podTemplate/spec/containers/0/env","value":[{"name":"EDITION","value":"2"}]}]'
    kubectl("patch", "sandboxtemplate", TEMPLATE, "-n", NS, "--type=json", "-p", patch)
    lowest, most = 99, 0

    def replaced():
        nonlocal lowest, most
        status = get("swp", POOL).get("status", {})
        lowest = min(lowest, status.get("readyReplicas", 0))
        most = max(most, len(members()))
        return not (members() & old) and status.get("readyReplicas") == 3
    wait_for("old members are left", replaced, 90)
    check(lowest >= 2, f"only {lowest} of 3 were ready on the way")
    check(most <= 4, f"{most} members at once: surge is at most one")
    apply(claim("edition"))
    name = wait_ready("sandboxclaim", "edition")["status"]["sandbox"]["name"]
    env = get("pod", name)["spec"]["containers"][0]["env"]
    check({"name": "EDITION", "value": "2"} in env, str(env))
    kubectl("delete", "sandboxclaim", "edition", "-n", NS, "--wait=false")
    kubectl("patch", "sandboxtemplate", TEMPLATE, "-n", NS, "--type=json",
            "-p", '[{"op":"remove","path":"/spec/podTemplate/spec/containers/0/env"}]')
    wait_gone("sandboxclaim", "edition")
    wait_for("the pool is current again", lambda: all(
        "env" not in p["spec"]["containers"][0] for p in get("pod", selector="agents.x-k8s.io/warm-pool-sandbox")), 90)
    wait_pool(seconds=90)


def scenario_egress_change_reaches_running_sandboxes_in_place():
    wait_pool()
    before = members()
    kubectl("patch", "sandboxtemplate", TEMPLATE, "-n", NS, "--type=json", "-p",
            '[{"op":"add","path":"/spec/networkPolicy/egress/-","value":{"ports":[{"port":9999}]}}]')

    def updated():
        egress = get("networkpolicy", f"{TEMPLATE}-network-policy")["spec"]["egress"]
        return any(p.get("port") == 9999 for rule in egress for p in rule.get("ports", []))
    wait_for("the policy is not updated", updated, 10)
    check(members() == before, "members were replaced for an egress change")
    kubectl("patch", "sandboxtemplate", TEMPLATE, "-n", NS, "--type=json", "-p",
            '[{"op":"remove","path":"/spec/networkPolicy/egress/2"}]')
    wait_for("the rule is still there", lambda: not updated(), 10)


def scenario_template_that_cannot_become_a_pod_is_explained():
    spec = container(TEMPLATE, volumeMounts=[{"name": "nowhere", "mountPath": "/nowhere"}])
    apply({"apiVersion": API, "kind": "SandboxTemplate", "metadata": {"name": "invalid", "namespace": NS}, "spec": spec})
    apply({"apiVersion": API, "kind": "SandboxWarmPool", "metadata": {"name": "invalid", "namespace": NS},
           "spec": {"replicas": 0, "sandboxTemplateRef": {"name": "invalid"}}})
    apply(claim("invalid", pool="invalid"))

    def terminal():
        ready = condition(get("sandboxclaim", "invalid"), "Ready")
        return ready.get("reason") == "InvalidConfiguration" and "nowhere" in ready.get("message", "")
    wait_for(f"not InvalidConfiguration: {condition(get('sandboxclaim', 'invalid'), 'Ready')}", terminal, 20)
    kubectl("delete", "sandboxclaim/invalid", "swp/invalid", "sandboxtemplate/invalid", "-n", NS)


def scenario_controller_writes_nothing_at_rest():
    import k8s
    import time
    wait_pool()
    time.sleep(3)
    offset = k8s.audit_offset()
    time.sleep(5)
    writes = [e for e in k8s.audit_entries(offset)
              if e["user"]["username"] == f"system:serviceaccount:{SYSTEM}:agent-sandbox-controller"
              and e["objectRef"].get("resource") != "leases"]
    check(not writes, f"{len(writes)} writes at rest: {[(w['verb'], w['objectRef']) for w in writes[:3]]}")
