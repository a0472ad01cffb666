# SPDX-License-Identifier: Apache-2.0
"""The NetworkPolicy of a template: secure by default, given up and taken back."""
from k8s import check, get, namespace, wait_for, wait_gone, wait_pool, wait_ready
from objects import apply_all, claim, controller_of, name_hash, patch, pod_spec, pool, template

REF_HASH = "agents.x-k8s.io/sandbox-template-ref-hash"
DEFAULT_EGRESS = [{"to": [
    {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"]}},
    {"ipBlock": {"cidr": "::/0", "except": ["fc00::/7", "fe80::/10"]}}]}]
DEFAULT_INGRESS = [{"from": [{
    "podSelector": {"matchLabels": {"app": "sandbox-router"}},
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "agent-sandbox-system"}}}]}]


def policy(ns):
    return get("networkpolicy", "t-network-policy", ns)


def scenario_template_without_rules_gets_the_secure_ones():
    with namespace("e2e-secure") as ns:
        pod = pod_spec()
        del pod["automountServiceAccountToken"]
        apply_all(template("t", ns, pod, networkPolicyManagement=None), pool("p", ns, "t", 1))
        wait_pool("p", ns)
        got = policy(ns)
        check(got["spec"]["egress"] == DEFAULT_EGRESS, str(got["spec"]["egress"]))
        check(got["spec"]["ingress"] == DEFAULT_INGRESS, str(got["spec"]["ingress"]))
        check(got["spec"]["podSelector"] == {"matchLabels": {REF_HASH: name_hash("t")}}, "selector")
        check(got["spec"]["policyTypes"] == ["Ingress", "Egress"], "directions")
        check(controller_of(got) == ("SandboxTemplate", "t"), "owner")
        apply_all(claim("c", ns, "p"))
        bound = wait_ready("sandboxclaim", "c", ns)["status"]["sandbox"]["name"]
        pod = get("pod", bound, ns)
        check(pod["spec"]["dnsPolicy"] == "None", pod["spec"]["dnsPolicy"])
        check(pod["spec"]["dnsConfig"]["nameservers"] == ["8.8.8.8", "1.1.1.1"], str(pod["spec"]["dnsConfig"]))
        check(pod["spec"]["automountServiceAccountToken"] is False, "a token is mounted")
        check(pod["metadata"]["labels"][REF_HASH] == name_hash("t"), "the pod is outside of the policy")


def scenario_policy_is_given_up_and_taken_back():
    with namespace("e2e-managed") as ns:
        rules = {"egress": [{"ports": [{"port": 443}]}], "ingress": []}
        apply_all(template("t", ns, networkPolicyManagement="Managed", networkPolicy=rules))
        first = wait_for("no policy", lambda: policy(ns), 10)
        check(first["spec"]["egress"] == [{"ports": [{"port": 443, "protocol": "TCP"}]}], str(first["spec"]))
        check("ingress" not in first["spec"] and first["spec"]["policyTypes"] == ["Ingress", "Egress"], "deny all in")
        patch("sandboxtemplate", "t", ns, {"spec": {"networkPolicyManagement": "Unmanaged"}})
        wait_gone("networkpolicy", "t-network-policy", ns)
        patch("sandboxtemplate", "t", ns, {"spec": {"networkPolicyManagement": "Managed"}})
        again = wait_for("no policy", lambda: policy(ns), 10)
        check(again["spec"] == first["spec"], "other rules than before")
        patch("networkpolicy", "t-network-policy", ns, {"spec": {"egress": None}})
        wait_for("what a user broke is not mended", lambda: policy(ns)["spec"] == first["spec"], 10)
        patch("sandboxtemplate", "t", ns, {"spec": {"networkPolicy": None}})
        wait_for("not the default rules", lambda: policy(ns)["spec"]["egress"] == DEFAULT_EGRESS, 10)
