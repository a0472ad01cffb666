# SPDX-License-Identifier: Apache-2.0
"""What a claim may ask for beside its pool: env, volumes, pod metadata, under each policy of the template."""
import re

from k8s import check, get, namespace, wait_for, wait_pool, wait_ready
from objects import (apply_all, claim, pod_spec, pool, template, volume, wait_reason)

USERS = "sandbox.users.io"


def with_env(**more):
    spec = pod_spec()
    spec["containers"][0].update({"env": [{"name": "COLOUR", "value": "red"}], **more})
    return spec


def env_of(name, ns, container="c"):
    for c in get("pod", name, ns)["spec"]["containers"]:
        if c["name"] == container:
            return {e["name"]: e.get("value") for e in c.get("env", [])}
    return {}


def scenario_env_follows_the_policy_of_the_template():
    two = with_env()
    two["containers"].append({**pod_spec()["containers"][0], "name": "side"})
    with namespace("e2e-env") as ns:
        apply_all(template("allowed", ns, two, envVarsInjectionPolicy="Allowed"), pool("allowed", ns, "allowed"),
                  template("overrides", ns, with_env(), envVarsInjectionPolicy="Overrides"),
                  pool("overrides", ns, "overrides"),
                  template("from", ns, with_env(envFrom=[{"configMapRef": {"name": "none", "optional": True}}]),
                           envVarsInjectionPolicy="Allowed"), pool("from", ns, "from"),
                  template("closed", ns, with_env()), pool("closed", ns, "closed"))
        size = {"name": "SIZE", "value": "9"}
        colour = {"name": "COLOUR", "value": "blue"}
        apply_all(claim("adds", ns, "allowed", env=[size, {**size, "containerName": "side"}]),
                  claim("refused", ns, "allowed", env=[colour]),
                  claim("nowhere", ns, "allowed", env=[{**size, "containerName": "none"}]),
                  claim("replaces", ns, "overrides", env=[colour, size]),
                  claim("envfrom", ns, "from", env=[size]),
                  claim("closed", ns, "closed", env=[size]))
        for name in ("adds", "replaces"):
            check(wait_ready("sandboxclaim", name, ns)["status"]["sandbox"]["name"] == name, "not cold")
        check(env_of("adds", ns) == {"COLOUR": "red", "SIZE": "9"}, str(env_of("adds", ns)))
        check(env_of("adds", ns, "side") == {"SIZE": "9"}, str(env_of("adds", ns, "side")))
        check(env_of("replaces", ns) == {"COLOUR": "blue", "SIZE": "9"}, str(env_of("replaces", ns)))
        text = wait_reason("sandboxclaim", "refused", ns, "ReconcilerError")
        check('environment variable override is not allowed by the template policy for variable "COLOUR"' in text, text)
        check("none" in wait_reason("sandboxclaim", "nowhere", ns, "ReconcilerError"), "the container is not named")
        for name in ("envfrom", "closed"):
            text = wait_reason("sandboxclaim", name, ns, "EnvVarsInjectionRejected")
            check(text.startswith("environment variable injection rejected: "), text)
        check({s["metadata"]["name"] for s in get("sandbox", ns=ns)} == {"adds", "replaces"}, "made in spite of it")


def sizes(name, ns):
    names = [v["metadata"]["name"] for v in get("sandbox", name, ns)["spec"]["volumeClaimTemplates"]]
    return names, {n: get("pvc", f"{n}-{name}", ns)["spec"]["resources"]["requests"]["storage"] for n in names}


def scenario_volumes_follow_the_policy_of_the_template():
    with namespace("e2e-vct") as ns:
        own = {"volumeClaimTemplates": [volume("home"), volume("cache")]}
        apply_all(template("closed", ns, **own), pool("closed", ns, "closed", 1),
                  template("allowed", ns, volumeClaimTemplatesPolicy="Allowed", **own), pool("allowed", ns, "allowed"),
                  template("overrides", ns, volumeClaimTemplatesPolicy="Overrides", **own),
                  pool("overrides", ns, "overrides"))
        wait_pool("closed", ns)
        extra = [volume("extra", "2Gi")]
        apply_all(claim("warm", ns, "closed"),
                  claim("adds", ns, "allowed", volumeClaimTemplates=extra),
                  claim("replaces", ns, "overrides", volumeClaimTemplates=[volume("home", "3Gi"), *extra]),
                  claim("closed", ns, "closed", volumeClaimTemplates=extra),
                  claim("overlap", ns, "allowed", volumeClaimTemplates=[volume("home", "3Gi")]),
                  claim("unnamed", ns, "allowed", volumeClaimTemplates=[{"spec": volume("x")["spec"]}]),
                  claim("twice", ns, "overrides", volumeClaimTemplates=extra + extra))
        for name in ("closed", "overlap", "unnamed", "twice"):
            text = wait_reason("sandboxclaim", name, ns, "VolumeClaimTemplatesError")
            check(text.startswith("failed to merge volume claim templates: "), text)
            check(get("sandbox", name, ns) is None, "made in spite of it")
        got = wait_ready("sandboxclaim", "warm", ns)
        name = got["status"]["sandbox"]["name"]
        check(got["metadata"]["annotations"]["agents.x-k8s.io/sandbox-name"] == name != "warm", "not from the pool")
        check(get("sandbox", name, ns)["metadata"]["labels"]["agents.x-k8s.io/launch-type"] == "warm", "launch-type")
        for name in ("adds", "replaces"):
            wait_ready("sandboxclaim", name, ns)
            check(get("sandbox", name, ns)["metadata"]["labels"]["agents.x-k8s.io/launch-type"] == "cold", "launch")
        check(sizes("adds", ns) == (["home", "cache", "extra"], {"home": "1Gi", "cache": "1Gi", "extra": "2Gi"}),
              str(sizes("adds", ns)))
        check(sizes("replaces", ns) == (["home", "cache", "extra"], {"home": "3Gi", "cache": "1Gi", "extra": "2Gi"}),
              str(sizes("replaces", ns)))


def scenario_pod_metadata_is_checked_merged_and_taken_to_the_pod():
    with namespace("e2e-podmeta") as ns:
        apply_all(template("t", ns, metadata={"labels": {f"{USERS}/tier": "gold"}}), pool("p", ns, "t", 2))
        wait_pool("p", ns)
        bad = {"no-domain": {"labels": {"team": "blue"}},
               "foreign-domain": {"labels": {"example.com/team": "blue"}},
               "router": {"labels": {"App": "Sandbox-Router"}},
               "system": {"annotations": {"x.kubernetes.io/a": "b"}},
               "ours": {"annotations": {"agents.x-k8s.io/pod-name": "b"}},
               "long": {"labels": {f"{USERS}/team": "x" * 64}}}
        good = {"labels": {f"{USERS}/team": "blue", f"a.{USERS}/b": "c"},
                "annotations": {"plain": "text", "example.com/x": "y"}}
        apply_all(claim("good", ns, "p", labels={"agents.x-k8s.io/created-by": "python-client"},
                        additionalPodMetadata=good),
                  claim("clash", ns, "p", additionalPodMetadata={"labels": {f"{USERS}/tier": "tin"}}),
                  *[claim(name, ns, "p", additionalPodMetadata=what) for name, what in bad.items()])
        for name in bad:
            text = wait_reason("sandboxclaim", name, ns, "InvalidMetadata")
            check(text.startswith("invalid additionalPodMetadata: "), text)
        check("metadata override conflict" in wait_reason("sandboxclaim", "clash", ns, "ReconcilerError"), "clash")
        bound = wait_ready("sandboxclaim", "good", ns)["status"]["sandbox"]["name"]

        def arrived():
            meta = get("pod", bound, ns)["metadata"]
            return (good["labels"].items() <= meta["labels"].items()
                    and good["annotations"].items() <= meta.get("annotations", {}).items()
                    and meta["labels"].get("agents.x-k8s.io/created-by") == "python-client")
        wait_for("the pod does not have it all", arrived, 10)
        labels = get("pod", bound, ns)["metadata"]["labels"]
        check(labels[f"{USERS}/tier"] == "gold", "the template's label is gone")
        check("agents.x-k8s.io/claim-uid" not in labels, "claim-uid is on the pod")
        check({s["metadata"]["name"] for s in get("sandbox", ns=ns)} >= {bound} and
              all(get("sandbox", n, ns) is None for n in [*bad, "clash"]), "made in spite of it")


def scenario_who_made_a_claim_is_told_and_when_it_was_seen():
    with namespace("e2e-created-by") as ns:
        apply_all(template("t", ns), pool("p", ns, "t"))
        makers = {"python": "python-client", "go": "go-client", "other": "somebody-else"}
        apply_all(claim("none", ns, "p"), *[claim(name, ns, "p", labels={"agents.x-k8s.io/created-by": maker})
                                            for name, maker in makers.items()])
        for name in [*makers, "none"]:
            got = wait_ready("sandboxclaim", name, ns)
            seen = got["metadata"]["annotations"]["agents.x-k8s.io/controller-first-observed-at"]
            check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d*[1-9]\d*Z", seen), seen)
            check(seen[:19] >= got["metadata"]["creationTimestamp"][:19], seen)
            label = get("pod", name, ns)["metadata"]["labels"].get("agents.x-k8s.io/created-by")
            wanted = {**makers, "other": "unknown", "none": None}[name]
            check(label == wanted, f"{name}: {label}")
            tracked = get("sandbox", name, ns)["metadata"]["annotations"].get("agents.x-k8s.io/pod-name", name)
            check(tracked == name, f"pod-name is {tracked!r}")
