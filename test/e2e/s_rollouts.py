# SPDX-License-Identifier: Apache-2.0
"""Changed templates and other templates under both strategies of a pool."""
import time

from k8s import check, get, kubectl, members, namespace, wait_for, wait_pool, wait_ready
from objects import apply_all, claim, name_hash, patch, pod_spec, pool, template

REF = "agents.x-k8s.io/sandbox-template-ref"


def edition(value):
    spec = pod_spec()
    spec["containers"][0]["env"] = [{"name": "EDITION", "value": value}]
    return spec


def edition_of(name, ns):
    return get("pod", name, ns)["spec"]["containers"][0].get("env", [{}])[0].get("value")


def only_new(name, old, ns):
    return lambda: len(members(name, ns)) == 1 and not members(name, ns) & old


def scenario_changed_template_rolls_only_pools_that_recreate():
    with namespace("e2e-rollout") as ns:
        apply_all(template("t", ns, edition("1")), template("other", ns, edition("1")),
                  pool("lazy", ns, "t", 1), pool("onreplenish", ns, "t", 1, "OnReplenish"),
                  pool("eager", ns, "t", 1, "Recreate"), pool("elsewhere", ns, "other", 1, "Recreate"))
        names = ("lazy", "onreplenish", "eager", "elsewhere")
        for name in names:
            wait_pool(name, ns)
        old = {name: members(name, ns) for name in names}
        # Metadata alone rolls nothing, under no strategy.
        apply_all(template("t", ns, edition("1"), metadata={"labels": {"painted": "yes"}}))
        time.sleep(1.5)
        check({name: members(name, ns) for name in names} == old, "rolled for a label")
        apply_all(template("t", ns, edition("2"), metadata={"labels": {"painted": "yes"}}))
        wait_for("the pool that recreates does not", only_new("eager", old["eager"], ns))
        wait_pool("eager", ns)
        check(edition_of(*members("eager", ns), ns) == "2", "the new member is old")
        time.sleep(2)
        for name in ("lazy", "onreplenish", "elsewhere"):
            check(members(name, ns) == old[name], f"{name} rolled")
        for name in ("lazy", "onreplenish"):
            kubectl("delete", "sandbox", *old[name], "-n", ns, "--wait=false")
            wait_for(f"{name} has no successor", only_new(name, old[name], ns))
            wait_pool(name, ns)
            check(edition_of(*members(name, ns), ns) == "2", "the successor is old")


def scenario_other_template_means_other_members():
    with namespace("e2e-switch") as ns:
        apply_all(template("a", ns), template("b", ns), pool("eager", ns, "a", 1, "Recreate"),
                  pool("lazy", ns, "a", 1, "OnReplenish"))
        for name in ("eager", "lazy"):
            wait_pool(name, ns)
        old = {name: members(name, ns) for name in ("eager", "lazy")}
        for name in ("eager", "lazy"):
            patch("swp", name, ns, {"spec": {"sandboxTemplateRef": {"name": "b"}}})
        wait_for("the member of the other template stays", only_new("eager", old["eager"], ns))
        wait_pool("eager", ns)
        made = get("sandbox", *members("eager", ns), ns)["metadata"]
        check(made["annotations"][REF] == "b", str(made["annotations"]))
        check(made["labels"]["agents.x-k8s.io/sandbox-template-ref-hash"] == name_hash("b"), str(made["labels"]))
        time.sleep(1)
        check(members("lazy", ns) == old["lazy"], "OnReplenish touched its member")
        apply_all(claim("c", ns, "lazy"))
        bound = wait_ready("sandboxclaim", "c", ns)["status"]["sandbox"]["name"]
        check({bound} == old["lazy"], "a ready member was passed over")
        wait_for("no successor", only_new("lazy", old["lazy"], ns))
        made = get("sandbox", *members("lazy", ns), ns)["metadata"]
        check(made["annotations"][REF] == "b", "the successor is of the old template")


def scenario_pool_whose_template_comes_late_fills_then():
    with namespace("e2e-late") as ns:
        apply_all(pool("p", ns, "t", 2))
        time.sleep(1)
        check(not members("p", ns), "members of nothing")
        apply_all(template("t", ns))
        wait_pool("p", ns)
        kubectl("scale", "swp", "p", "-n", ns, "--replicas=0")
        wait_for("members are left", lambda: not members("p", ns))
        selector = get("swp", "p", ns)["status"]["selector"]
        check(selector == f"agents.x-k8s.io/warm-pool-sandbox={name_hash('p')}", selector)
