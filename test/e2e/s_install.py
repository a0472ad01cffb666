# SPDX-License-Identifier: Apache-2.0
"""What an administrator sees after `kubectl apply -k manifests/`."""
import json

from k8s import NS, SYSTEM, check, get, kubectl, members, wait_for, wait_pool


def ready_pods(label):
    return [p for p in get("pod", ns=SYSTEM, selector=f"app={label}")
            if "deletionTimestamp" not in p["metadata"]
            and any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))]


def scenario_controller_has_two_replicas_and_one_leader():
    wait_for("two ready controller pods", lambda: len(ready_pods("agent-sandbox-controller")) == 2)
    names = [p["metadata"]["name"] for p in ready_pods("agent-sandbox-controller")]

    def holder():
        lease = get("lease", "a3317529.agent-sandbox.x-k8s.io", ns=SYSTEM)
        return lease and lease["spec"].get("holderIdentity", "").rsplit("_", 1)[0] in names
    wait_for(f"none of {names} holds the lease", holder, 30)


def scenario_pods_are_hardened():
    for pod in get("pod", ns=SYSTEM):
        spec = pod["spec"]
        check(spec["securityContext"]["runAsNonRoot"], pod["metadata"]["name"])
        for c in spec["containers"]:
            check(c["securityContext"]["readOnlyRootFilesystem"], c["name"])
            check(c["securityContext"]["capabilities"]["drop"] == ["ALL"], c["name"])


def scenario_pool_fills_and_reports_it():
    wait_pool()
    pool = get("sandboxwarmpool", "python-sandbox")
    check(pool["status"]["observedGeneration"] == pool["metadata"]["generation"], "observedGeneration is behind")
    # An earlier deployment's template may have been replaced just now: a surge is over within seconds.
    wait_for(f"members: {members()}", lambda: len(members()) == pool["spec"]["replicas"], 60)
    wait_pool()
    table = kubectl("get", "swp", "python-sandbox", "-n", NS, "--no-headers").split()
    check(table[:3] == ["python-sandbox", str(pool["spec"]["replicas"]), str(pool["spec"]["replicas"])], str(table))


def scenario_template_has_its_network_policy():
    policy = get("networkpolicy", "python-sandbox-network-policy")
    check(policy["spec"]["policyTypes"] == ["Ingress", "Egress"], "both directions")
    template = get("sandboxtemplate", "python-sandbox")
    label = template["metadata"]["labels"]["agents.x-k8s.io/sandbox-template-ref-hash"]
    check(policy["spec"]["podSelector"]["matchLabels"] ==
          {"agents.x-k8s.io/sandbox-template-ref-hash": label}, "selector")
    for pod in get("pod", selector="agents.x-k8s.io/sandbox-name-hash"):
        check(pod["metadata"]["labels"]["agents.x-k8s.io/sandbox-template-ref-hash"] == label, "pod label")


def scenario_service_account_may_do_no_more_than_needed():
    who = f"--as=system:serviceaccount:{SYSTEM}:agent-sandbox-controller"
    for verb, what in [("get", "secrets"), ("list", "nodes"), ("create", "pods --subresource=exec"), ("update", "pods"),
                       ("create", "clusterroles"), ("get", "configmaps")]:
        done = kubectl("auth", "can-i", verb, *what.split(), who, "-A", ok=False)
        check(done.stdout.strip() == "no", f"the controller can {verb} {what}")
    done = kubectl("auth", "can-i", "--list", f"--as=system:serviceaccount:{SYSTEM}:sandbox-router", "-n", NS)
    rules = [line.split()[0] for line in done.splitlines() if line.startswith(("pods", "secrets", "sandbox"))]
    check(rules == ["pods"], f"the router may: {json.dumps(rules)}")
