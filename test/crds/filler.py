# SPDX-License-Identifier: Apache-2.0
"""Makes an object that has every field of a Kubernetes type, straight from the OpenAPI files.

It reads the files by itself, without the generator's code, so that a field which the generator
lost shows up as a difference. The end-to-end test runs it as a program:

    filler.py make KIND     prints a Sandbox or a SandboxTemplate as JSON
    filler.py compare KIND  reads what the API server made of it; exit 1 names what was lost
"""
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
POD = "io.k8s.api.core.v1.PodSpec"
PVC = "io.k8s.api.core.v1.PersistentVolumeClaimSpec"
INGRESS = "io.k8s.api.networking.v1.NetworkPolicyIngressRule"
EGRESS = "io.k8s.api.networking.v1.NetworkPolicyEgressRule"
# Core validation allows these two in the metadata of an ephemeral claim template, no others.
EPHEMERAL_METADATA = {"labels": {"a": "b"}, "annotations": {"a": "b"}}


def load_types():
    """Returns {long type name: OpenAPI schema} of the pinned release."""
    folder = os.path.join(ROOT, "tools", "gencrds")
    with open(os.path.join(folder, "go.mod"), encoding="utf-8") as f:
        pin = [line.split()[2] for line in f if line.startswith("require k8s.io/kubernetes ")]
    out = subprocess.run(["go", "mod", "download", "-json", "k8s.io/kubernetes@" + pin[0]],
                         cwd=folder, capture_output=True, text=True, check=True)
    base = os.path.join(json.loads(out.stdout)["Dir"], "api", "openapi-spec", "v3")
    types = {}
    for name in ("api__v1_openapi.json", "apis__networking.k8s.io__v1_openapi.json"):
        with open(os.path.join(base, name), encoding="utf-8") as f:
            types.update(json.load(f)["components"]["schemas"])
    return types


def fill(types, node, name=""):
    """Returns a value of the schema with every property set."""
    ref = node.get("$ref") or next((p["$ref"] for p in node.get("allOf", []) if "$ref" in p), None)
    if ref:
        long_name = ref.rpartition("/")[2]
        return fill(types, types[long_name], long_name)
    if name.endswith(".ObjectMeta"):
        return dict(EPHEMERAL_METADATA)
    if name.endswith(".Quantity"):
        return "1500m"
    if name.endswith(".IntOrString"):
        return "http"
    kind = node["type"]
    if kind == "object" and "additionalProperties" in node:
        return {"key": fill(types, node["additionalProperties"])}
    if kind == "object":
        return {k: fill(types, v) for k, v in node.get("properties", {}).items()}
    if kind == "array":
        return [fill(types, node["items"])]
    return {"string": "x", "integer": 7, "boolean": True}[kind]


def spec(kind, types):
    """Returns a spec of the kind whose embedded Kubernetes types are filled."""
    def make(long_name):
        return fill(types, types[long_name], long_name)
    out = {
        "podTemplate": {"metadata": dict(EPHEMERAL_METADATA), "spec": make(POD)},
        "volumeClaimTemplates": [{"metadata": dict(EPHEMERAL_METADATA, name="data"),
                                  "spec": make(PVC)}],
        "service": True,
    }
    if kind == "SandboxTemplate":
        out["networkPolicy"] = {"ingress": [make(INGRESS)], "egress": [make(EGRESS)]}
    return out


def lost(want, got, path):
    """Returns the paths of `want` that `got` lacks or has with another value."""
    if isinstance(want, dict) and isinstance(got, dict):
        return [p for k, v in want.items() for p in lost(v, got.get(k), "%s.%s" % (path, k))]
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [p for i, v in enumerate(want) for p in lost(v, got[i], "%s[%d]" % (path, i))]
    return [] if want == got else [path]


def main(mode, kind):
    want = spec(kind, load_types())
    if mode == "compare":
        gone = lost(want, json.load(sys.stdin)["spec"], "spec")
        for path in gone:
            print("lost: " + path)
        return 1 if gone else 0
    group = "agents.x-k8s.io" if kind == "Sandbox" else "extensions.agents.x-k8s.io"
    json.dump({"apiVersion": group + "/v1beta1", "kind": kind, "metadata": {"name": "filled"},
               "spec": want}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
