# SPDX-License-Identifier: Apache-2.0
"""Properties of the committed CRD files."""
import json
import os

import filler
from common import CRDS, KINDS, at, crd, load, problems, schema, version, walk

POD = "spec.podTemplate.spec"
BLUEPRINTS = ("Sandbox", "SandboxTemplate")
KEYWORDS = {
    "type", "format", "properties", "items", "additionalProperties", "required", "default", "enum",
    "minimum", "minLength", "maxLength", "pattern", "anyOf", "x-kubernetes-int-or-string",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
    "x-kubernetes-validations",
}
# The defaults inside the embedded Kubernetes types: ends of paths, and the value.
EMBEDDED_DEFAULTS = {
    "ports[].protocol": "TCP",
    "configMapKeyRef.name": "", "secretKeyRef.name": "", "configMapRef.name": "",
    "secretRef.name": "", "imagePullSecrets[].name": "", "configMap.name": "", "secret.name": "",
    "nodePublishSecretRef.name": "",
    "fileKeyRef.optional": False, "grpc.service": "",
    "azureDisk.fsType": "ext4", "azureDisk.readOnly": False,
    "iscsi.iscsiInterface": "default",
    "rbd.keyring": "/etc/ceph/keyring", "rbd.pool": "rbd", "rbd.user": "admin",
    "scaleIO.fsType": "xfs", "scaleIO.storageMode": "ThinProvisioned",
}
OWN_DEFAULTS = {
    "Sandbox": {"spec.shutdownPolicy": "Retain", "spec.operatingMode": "Running"},
    "SandboxClaim": {"spec.lifecycle.shutdownPolicy": "Retain"},
    "SandboxTemplate": {"spec.networkPolicyManagement": "Managed",
                        "spec.envVarsInjectionPolicy": "Disallowed",
                        "spec.volumeClaimTemplatesPolicy": "Disallowed"},
    "SandboxWarmPool": {"spec.replicas": 1, "spec.updateStrategy.type": "OnReplenish"},
}
NAMES = {
    "Sandbox": ("agents.x-k8s.io", "sandboxes", "sandbox", "sandbox"),
    "SandboxClaim": ("extensions.agents.x-k8s.io", "sandboxclaims", "sandboxclaim",
                     "sandboxclaim"),
    "SandboxTemplate": ("extensions.agents.x-k8s.io", "sandboxtemplates", "sandboxtemplate",
                        "sandboxtemplate"),
    "SandboxWarmPool": ("extensions.agents.x-k8s.io", "sandboxwarmpools", "sandboxwarmpool",
                        "swp"),
}
READY = '.status.conditions[?(@.type=="Ready")].'
COLUMNS = {
    "Sandbox": [("Ready", "string", READY + "status"), ("Reason", "string", READY + "reason"),
                ("Age", "date", ".metadata.creationTimestamp")],
    "SandboxClaim": [("Ready", "string", READY + "status"),
                     ("Sandbox", "string", ".status.sandbox.name"),
                     ("Reason", "string", READY + "reason"),
                     ("Age", "date", ".metadata.creationTimestamp")],
    "SandboxTemplate": [],
    "SandboxWarmPool": [("Ready", "integer", ".status.readyReplicas"),
                        ("Desired", "integer", ".spec.replicas"),
                        ("Age", "date", ".metadata.creationTimestamp")],
}
FIELDS = {
    "Sandbox": ("operatingMode podTemplate service shutdownPolicy shutdownTime "
                "volumeClaimTemplates", "conditions nodeName podIPs selector service serviceFQDN", "podTemplate"),
    "SandboxClaim": ("additionalPodMetadata env lifecycle volumeClaimTemplates warmPoolRef",
                     "conditions sandbox", "warmPoolRef"),
    "SandboxTemplate": ("envVarsInjectionPolicy networkPolicy networkPolicyManagement podTemplate "
                        "service volumeClaimTemplates volumeClaimTemplatesPolicy", None,
                        "podTemplate"),
    "SandboxWarmPool": ("replicas sandboxTemplateRef updateStrategy",
                        "observedGeneration readyReplicas replicas selector",
                        "sandboxTemplateRef"),
}


def eq(got, want, what):
    assert got == want, "%s: got %r, want %r" % (what, got, want)


def test_files_are_exactly_the_four_kinds():
    found = sorted(n for n in os.listdir(CRDS) if n.endswith(".yaml"))
    eq(found, sorted(list(KINDS.values()) + ["kustomization.yaml"]), "files")
    eq(load(os.path.join(CRDS, "kustomization.yaml"))["resources"], sorted(KINDS.values()),
       "kustomization")


def test_names_scope_and_versions():
    for kind, (group, plural, singular, short) in NAMES.items():
        c = crd(kind)
        eq(c["metadata"], {"name": "%s.%s" % (plural, group)}, "metadata")
        eq(c["spec"]["names"], {"kind": kind, "listKind": kind + "List", "plural": plural,
                                "singular": singular, "shortNames": [short]}, kind)
        eq((c["spec"]["group"], c["spec"]["scope"]), (group, "Namespaced"), kind)
        assert "conversion" not in c["spec"], "%s has a conversion stanza" % kind
        v = version(kind)
        eq((v["name"], v["served"], v["storage"]), ("v1beta1", True, True), kind)
        assert "deprecated" not in v, kind


def test_printer_columns():
    for kind, want in COLUMNS.items():
        got = version(kind).get("additionalPrinterColumns", [])
        eq([(c["name"], c["type"], c["jsonPath"]) for c in got], want, kind)


def test_subresources():
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
             "labelSelectorPath": ".status.selector"}
    eq(version("Sandbox")["subresources"], {"status": {}}, "Sandbox")
    eq(version("SandboxClaim")["subresources"], {"status": {}}, "SandboxClaim")
    eq(version("SandboxWarmPool")["subresources"], {"status": {}, "scale": scale}, "pool")
    assert "subresources" not in version("SandboxTemplate"), "SandboxTemplate"


def test_fields_and_required():
    for kind, (spec, status, required) in FIELDS.items():
        top = schema(kind)["properties"]
        eq(" ".join(sorted(top["spec"]["properties"])), spec, kind)
        eq(top["spec"]["required"], [required], kind)
        eq(schema(kind)["required"], ["spec"], kind)
        got = " ".join(sorted(top["status"]["properties"])) if "status" in top else None
        eq(got, status, kind + " status")


def test_only_known_keywords_and_no_prose():
    for kind in KINDS:
        for path, node in walk(schema(kind)):
            extra = set(node) - KEYWORDS
            assert not extra, "%s %s: %s" % (kind, path, ", ".join(sorted(extra)))


def test_every_node_is_structural():
    for kind in KINDS:
        for path, node in walk(schema(kind)):
            if node.get("x-kubernetes-int-or-string"):
                eq(node["anyOf"], [{"type": "integer"}, {"type": "string"}], path)
                assert "type" not in node, path
                continue
            assert "anyOf" not in node, "%s %s" % (kind, path)
            assert node.get("type") in ("object", "array", "string", "integer", "boolean"), path
            assert ("items" in node) == (node["type"] == "array"), path
            assert not ("properties" in node and "additionalProperties" in node), path
            for name in node.get("required", []):
                assert name in node["properties"], "%s requires unknown %s" % (path, name)


def test_list_map_keys_are_required_or_defaulted():
    seen = 0
    for kind in KINDS:
        for path, node in walk(schema(kind)):
            if node.get("x-kubernetes-list-type") == "set":
                assert node["items"]["type"] in ("string", "integer"), path
            for key in node.get("x-kubernetes-list-map-keys", []):
                seen += 1
                eq(node["x-kubernetes-list-type"], "map", path)
                item = node["items"]
                assert key in item.get("required", []) or "default" in item["properties"][key], \
                    "%s: key %s is neither required nor defaulted" % (path, key)
                assert item["properties"][key]["type"] in ("string", "integer"), path
    assert seen > 30, "only %d keys seen" % seen


def test_list_types_follow_core():
    pod = at(schema("Sandbox"), POD)
    for path, keys in (("containers", ["name"]), ("initContainers", ["name"]),
                       ("ephemeralContainers", ["name"]), ("volumes", ["name"]),
                       ("containers[].env", ["name"]),
                       ("containers[].ports", ["containerPort", "protocol"]),
                       ("containers[].volumeMounts", ["mountPath"]),
                       ("topologySpreadConstraints", ["topologyKey", "whenUnsatisfiable"])):
        eq(at(pod, path).get("x-kubernetes-list-map-keys"), keys, path)
    eq(at(pod, "tolerations")["x-kubernetes-list-type"], "atomic", "tolerations")


def test_defaults_are_those_of_the_contract():
    used = set()
    for kind in KINDS:
        own = {}
        for path, node in walk(schema(kind)):
            if "default" not in node:
                continue
            if not path.startswith(POD):
                own[path] = node["default"]
                continue
            end = ".".join(path.split(".")[-2:])
            assert end in EMBEDDED_DEFAULTS, "%s %s has a default" % (kind, path)
            got = node["default"]
            assert got == EMBEDDED_DEFAULTS[end] and type(got) is type(EMBEDDED_DEFAULTS[end]), path
            used.add(end)
        eq(own, OWN_DEFAULTS[kind], kind)
    eq(set(EMBEDDED_DEFAULTS) - used, set(), "defaults that are missing")


def test_defaults_reach_every_place():
    for kind in BLUEPRINTS:
        pod = at(schema(kind), POD)
        for where in ("containers", "initContainers", "ephemeralContainers"):
            eq(at(pod, where + "[].ports[].protocol")["default"], "TCP", where)
            eq(at(pod, where + "[].readinessProbe.grpc.service")["default"], "", where)
            eq(at(pod, where + "[].env[].valueFrom.fileKeyRef.optional")["default"], False, where)
    peer = at(schema("SandboxTemplate"), "spec.networkPolicy.ingress[].ports[].protocol")
    assert "default" not in peer, "NetworkPolicy protocol has a default"


def test_pod_spec_is_complete():
    for kind in BLUEPRINTS:
        pod = at(schema(kind), POD)
        eq(len(pod["properties"]), 43, kind + " pod spec properties")
        eq(pod["required"], ["containers"], kind)
        eq(at(schema(kind), "spec.podTemplate")["required"], ["spec"], kind)


def test_no_field_of_kubernetes_is_pruned():
    types = filler.load_types()
    for kind in BLUEPRINTS:
        spec = filler.spec(kind, types)
        assert len(json.dumps(spec)) > 20000, "the filled object is too small to prove anything"
        eq(problems(spec, schema(kind)["properties"]["spec"], "spec"), [], kind)


def test_quantities_and_ports():
    pod = at(schema("Sandbox"), POD)
    limit = at(pod, "containers[].resources.limits")["additionalProperties"]
    for good in ("100m", "1Gi", "0.5", "1e3", 2, ".5k", "-1"):
        eq(problems(good, limit, "limit"), [], good)
    for bad in ("1 Gi", "1GiB", "", "abc", "--1"):
        assert problems(bad, limit, "limit"), "%r is accepted" % bad
    port = at(pod, "containers[].readinessProbe.httpGet.port")
    assert "pattern" not in port and problems("http", port, "port") == [], port


def test_conditions():
    want = {"lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": {"type": "string", "maxLength": 32768},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0}}
    for kind in ("Sandbox", "SandboxClaim"):
        node = at(schema(kind), "status.conditions")
        eq(set(node), {"type", "items"}, "a plain list")
        item = node["items"]
        eq(item["required"], ["lastTransitionTime", "message", "reason", "status", "type"], kind)
        for name, value in want.items():
            eq(item["properties"][name], value, name)
        eq(item["properties"]["status"]["enum"], ["True", "False", "Unknown"], kind)
        reason = item["properties"]["reason"]
        eq((reason["minLength"], reason["maxLength"]), (1, 1024), kind)
        eq(reason["pattern"], "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", kind)
        eq(item["properties"]["type"]["maxLength"], 316, kind)
    assert "conditions" not in at(schema("SandboxWarmPool"), "status")["properties"]


def test_cel_only_on_sandbox_spec():
    for kind in KINDS:
        rules = [(p, n["x-kubernetes-validations"]) for p, n in walk(schema(kind))
                 if "x-kubernetes-validations" in n]
        if kind != "Sandbox":
            eq(rules, [], kind)
            continue
        eq([p for p, _ in rules], ["spec"], kind)
        eq([r["message"] for r in rules[0][1]], ["volumeClaimTemplates is immutable"], kind)
        assert "oldSelf" in rules[0][1][0]["rule"], "not a transition rule"


def test_enums_and_bounds():
    for kind, path, want in (
            ("Sandbox", "spec.shutdownPolicy", ["Delete", "Retain"]),
            ("Sandbox", "spec.operatingMode", ["Running", "Suspended"]),
            ("SandboxClaim", "spec.lifecycle.shutdownPolicy",
             ["Delete", "DeleteForeground", "Retain"]),
            ("SandboxTemplate", "spec.networkPolicyManagement", ["Managed", "Unmanaged"]),
            ("SandboxTemplate", "spec.envVarsInjectionPolicy",
             ["Allowed", "Overrides", "Disallowed"]),
            ("SandboxTemplate", "spec.volumeClaimTemplatesPolicy",
             ["Disallowed", "Allowed", "Overrides"]),
            ("SandboxWarmPool", "spec.updateStrategy.type", ["Recreate", "OnReplenish"])):
        eq(at(schema(kind), path)["enum"], want, path)
    eq(at(schema("SandboxWarmPool"), "spec.replicas")["minimum"], 0, "replicas")
    eq(at(schema("SandboxClaim"), "spec.lifecycle.ttlSecondsAfterFinished")["minimum"], 0, "ttl")


def test_volume_claim_templates_are_atomic():
    for kind in ("Sandbox", "SandboxClaim", "SandboxTemplate"):
        node = at(schema(kind), "spec.volumeClaimTemplates")
        eq(node["x-kubernetes-list-type"], "atomic", kind)
        eq(node["items"]["required"], ["spec"], kind)
        eq(sorted(at(node, "[].metadata")["properties"]), ["annotations", "labels", "name"], kind)
        assert "required" not in at(node, "[].metadata"), kind
    env = at(schema("SandboxClaim"), "spec.env")
    eq((env["x-kubernetes-list-type"], env["items"]["required"]), ("atomic", ["name", "value"]),
       "env")


def test_small_enough_for_client_side_apply():
    for kind in KINDS:
        size = len(json.dumps(crd(kind), separators=(",", ":")))
        assert size < 128 * 1024, "%s is %d bytes" % (kind, size)
