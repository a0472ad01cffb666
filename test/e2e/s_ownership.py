# SPDX-License-Identifier: Apache-2.0
"""Objects in the way: taken in with consent, refused otherwise, and never stolen."""
import json
import time

from k8s import apply, check, condition, get, kubectl, namespace, wait_for, wait_pool, wait_ready
from objects import (NAME_HASH, POOL_HASH, apply_all, claim, config_map, controller_of, name_hash, patch, pod_spec,
                     pool, sandbox, template, volume, wait_reason)

ADOPTABLE = {"agents.x-k8s.io/adoptable": "true"}


def pod(name, ns, owners=None, labels=None):
    return {"apiVersion": "v1", "kind": "Pod", "spec": pod_spec(),
            "metadata": {"name": name, "namespace": ns, "labels": labels or {}, "ownerReferences": owners or []}}


def untouched(kind, name, ns, before):
    got = get(kind, name, ns)
    check(got and "deletionTimestamp" not in got["metadata"], f"{kind} {name} was deleted")
    for part in ("uid", "labels", "ownerReferences"):
        check(got["metadata"].get(part) == before["metadata"].get(part), f"{part} of {kind} {name} was changed")


def scenario_pods_in_the_way():
    with namespace("e2e-pods") as ns:
        owner = config_map("stranger", ns)
        apply_all(pod("willing", ns, labels=ADOPTABLE), pod("hashed", ns, labels={NAME_HASH: name_hash("hashed")}),
                  pod("unowned", ns), pod("foreign", ns, [owner], ADOPTABLE), pod("sleeping", ns))
        before = {n: get("pod", n, ns) for n in ("willing", "hashed", "unowned", "foreign", "sleeping")}
        apply_all(*[sandbox(n, ns) for n in ("willing", "hashed", "unowned", "foreign")],
                  sandbox("sleeping", ns, operatingMode="Suspended", service=True))
        for name in ("willing", "hashed"):
            wait_ready("sandbox", name, ns)
            got = get("pod", name, ns)
            check(got["metadata"]["uid"] == before[name]["metadata"]["uid"], "another pod")
            check(controller_of(got) == ("Sandbox", name), str(controller_of(got)))
            check(got["metadata"]["labels"][NAME_HASH] == name_hash(name), "label")
        for name in ("unowned", "foreign"):
            text = wait_reason("sandbox", name, ns, "ReconcilerError")
            check(text.startswith("Error seen: ") and name in text, text)
            check("podIPs" not in get("sandbox", name, ns)["status"], "tells a stranger's address")
            untouched("pod", name, ns, before[name])

        def refused():
            got = condition(get("sandbox", "sleeping", ns), "Suspended")
            return (got.get("status"), got.get("reason"), got.get("message")) == (
                "False", "PodNotOwned", "Refused to delete pod because it is not owned by this sandbox")
        wait_for("Suspended is not PodNotOwned", refused, 20)
        check(wait_reason("sandbox", "sleeping", ns, "SandboxSuspended") == "Sandbox is suspending", "Ready")
        check(get("sandbox", "sleeping", ns)["status"]["service"] == "sleeping", "service")
        untouched("pod", "sleeping", ns, before["sleeping"])
        kubectl("delete", "pod", "foreign", "-n", ns, "--wait=false")
        wait_ready("sandbox", "foreign", ns)


def scenario_services_and_volumes_in_the_way():
    def service(name, labels=None, cluster_ip="None"):
        # With a selector: the API server marks headless Services without one as dual-stack, and then refuses one.
        spec = {"ports": [{"port": 1}], "selector": {"app": "old"}, **({"clusterIP": cluster_ip} if cluster_ip else {})}
        return {"apiVersion": "v1", "kind": "Service", "spec": spec,
                "metadata": {"name": name, "namespace": ns, "labels": labels or {}}}

    def pvc(name, labels=None):
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": volume(name)["spec"],
                "metadata": {"name": name, "namespace": ns, "labels": labels or {}}}

    data = [volume("d")]
    with namespace("e2e-children") as ns:
        apply_all(service("willing", ADOPTABLE), service("unowned"), service("addressed", ADOPTABLE, None),
                  service("ignored"), pvc("d-volume", ADOPTABLE), pvc("d-stranger"))
        before = {n: get("service", n, ns) for n in ("unowned", "addressed", "ignored")}
        stranger = get("pvc", "d-stranger", ns)
        apply_all(*[sandbox(n, ns, service=True) for n in ("willing", "unowned", "addressed")],
                  sandbox("ignored", ns, service=False),
                  *[sandbox(n, ns, volumeClaimTemplates=data) for n in ("volume", "stranger")])
        for name in ("willing", "ignored", "volume"):
            wait_ready("sandbox", name, ns)
        taken = get("service", "willing", ns)
        check(controller_of(taken) == ("Sandbox", "willing"), "not adopted")
        check(taken["spec"]["selector"] == {NAME_HASH: name_hash("willing")} and "ports" not in taken["spec"],
              str(taken["spec"]))
        check(controller_of(get("pvc", "d-volume", ns)) == ("Sandbox", "volume"), "not adopted")
        for name in ("unowned", "addressed", "stranger"):
            check(name in wait_reason("sandbox", name, ns, "ReconcilerError"), "the object is not named")
        for name, was in before.items():
            untouched("service", name, ns, was)
        untouched("pvc", "d-stranger", ns, stranger)


def scenario_claims_take_nothing_that_is_not_theirs():
    with namespace("e2e-hijack") as ns:
        apply_all(template("t", ns), pool("p", ns, "t", 1), pool("cold", ns, "t"))
        wait_pool("p", ns)
        apply_all(claim("victim", ns, "p"), sandbox("squatter", ns))
        victim = wait_ready("sandboxclaim", "victim", ns)["status"]["sandbox"]["name"]
        wait_ready("sandbox", "squatter", ns)
        owned, squatter = get("sandbox", victim, ns), get("sandbox", "squatter", ns)
        # A foreign Sandbox under the claim's name, an assignment and a status that name somebody else's.
        apply_all(claim("squatter", ns, "cold"),
                  claim("thief", ns, "cold", annotations={"agents.x-k8s.io/sandbox-name": victim}),
                  claim("forger", ns, "cold"))
        kubectl("patch", "sandboxclaim", "forger", "-n", ns, "--subresource=status", "--type=merge", "-p",
                json.dumps({"status": {"sandbox": {"name": victim, "podIPs": ["192.0.2.1"]}}}))
        text = wait_reason("sandboxclaim", "squatter", ns, "ReconcilerError")
        check('sandbox "squatter" is not controlled by claim "squatter". Please use a different claim name or delete '
              "the sandbox manually" in text, text)
        untouched("sandbox", "squatter", ns, squatter)
        thief = wait_ready("sandboxclaim", "thief", ns)
        check(thief["status"]["sandbox"]["name"] == "thief", f"bound to {thief['status']['sandbox']}")
        time.sleep(1)
        forger = get("sandboxclaim", "forger", ns)
        ready = condition(forger, "Ready")
        check(forger["status"].get("sandbox", {}).get("name") != victim or ready.get("status") != "True", str(forger))
        untouched("sandbox", victim, ns, owned)
        kubectl("delete", "sandboxclaim", "thief", "forger", "squatter", "-n", ns, "--wait=false")
        time.sleep(1)
        untouched("sandbox", victim, ns, owned)
        untouched("sandbox", "squatter", ns, squatter)


def scenario_strangers_with_a_pools_label_stay_strangers():
    with namespace("e2e-strangers") as ns:
        owner = config_map("stranger", ns)
        labels = {POOL_HASH: name_hash("p"), "agents.x-k8s.io/sandbox-template-ref-hash": name_hash("t")}
        foreign = sandbox("aaa-foreign", ns)
        foreign["metadata"].update(labels=labels, ownerReferences=[owner])
        other = pod_spec()
        other["containers"][0]["name"] = "something-else"
        differs = sandbox("aaa-differs", ns, other)
        differs["metadata"]["labels"] = labels
        apply_all(foreign, differs)
        for name in ("aaa-foreign", "aaa-differs"):
            wait_ready("sandbox", name, ns)
        before = {n: get("sandbox", n, ns) for n in ("aaa-foreign", "aaa-differs")}
        apply_all(template("t", ns), pool("p", ns, "t", 1))
        wait_pool("p", ns)
        apply_all(*[claim(f"c{i}", ns, "p") for i in range(3)])
        bound = {wait_ready("sandboxclaim", f"c{i}", ns)["status"]["sandbox"]["name"] for i in range(3)}
        check(len(bound) == 3 and not bound & set(before), f"bound: {bound}")
        kubectl("scale", "swp", "p", "-n", ns, "--replicas=0")
        wait_for("the pool is not empty", lambda: get("swp", "p", ns)["status"].get("replicas", 0) == 0)
        for name, was in before.items():
            untouched("sandbox", name, ns, was)
        for pod_name in before:
            check(POOL_HASH not in get("pod", pod_name, ns)["metadata"]["labels"], "a stranger's pod has the label")


def scenario_orphan_of_a_pool_is_taken_in_again():
    with namespace("e2e-orphan") as ns:
        apply_all(template("t", ns), pool("p", ns, "t", 1))
        wait_pool("p", ns)
        kubectl("delete", "swp", "p", "-n", ns, "--cascade=orphan")
        left = wait_for("the orphan", lambda: get("sandbox", ns=ns), 5)
        check(len(left) == 1 and controller_of(left[0]) is None, str([controller_of(s) for s in left]))
        apply_all(pool("p", ns, "t", 1))
        wait_pool("p", ns)
        got = get("sandbox", ns=ns)
        check([s["metadata"]["uid"] for s in got] == [left[0]["metadata"]["uid"]], "another Sandbox was made")
        check(controller_of(got[0]) == ("SandboxWarmPool", "p"), str(controller_of(got[0])))


def scenario_policy_of_somebody_else_is_not_overwritten():
    with namespace("e2e-policy") as ns:
        policy = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                  "metadata": {"name": "t-network-policy", "namespace": ns}, "spec": {"podSelector": {}}}
        apply(policy)
        before = get("networkpolicy", "t-network-policy", ns)
        apply_all(template("t", ns, networkPolicyManagement="Managed"), pool("p", ns, "t"), claim("c", ns, "p"))
        time.sleep(2)
        after = get("networkpolicy", "t-network-policy", ns)
        check(after["spec"] == before["spec"] and after["metadata"]["uid"] == before["metadata"]["uid"], "overwritten")
        check(get("pod", "c", ns) is None, "a pod runs outside of its policy")
        patch("sandboxtemplate", "t", ns, {"spec": {"networkPolicyManagement": "Unmanaged"}})
        wait_ready("sandboxclaim", "c", ns)
        check(get("networkpolicy", "t-network-policy", ns)["metadata"]["uid"] == before["metadata"]["uid"], "deleted")
