# SPDX-License-Identifier: Apache-2.0
"""What the CRD tests share: the committed files, walking a schema, and a small validator."""
import functools
import os
import re

import yaml

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CRDS = os.path.join(ROOT, "crds")
KINDS = {
    "Sandbox": "agents.x-k8s.io_sandboxes.yaml",
    "SandboxClaim": "extensions.agents.x-k8s.io_sandboxclaims.yaml",
    "SandboxTemplate": "extensions.agents.x-k8s.io_sandboxtemplates.yaml",
    "SandboxWarmPool": "extensions.agents.x-k8s.io_sandboxwarmpools.yaml",
}


@functools.cache
def load(path):
    """Returns the content of a YAML file; shared by all callers, so nobody may change it."""
    with open(path, encoding="utf-8") as f:
        return yaml.safe_load(f)


def crd(kind):
    return load(os.path.join(CRDS, KINDS[kind]))


def version(kind):
    versions = crd(kind)["spec"]["versions"]
    assert len(versions) == 1, "%s has %d versions" % (kind, len(versions))
    return versions[0]


def schema(kind):
    return version(kind)["schema"]["openAPIV3Schema"]


def at(node, path):
    """Follows property names; `[]` means the items of a list."""
    for step in path.split("."):
        while step.endswith("[]") and step != "[]":
            node, step = at(node, step[:-2]), "[]"
        node = node["items"] if step == "[]" else node["properties"][step]
    return node


def walk(node, path=""):
    """Yields (path, schema) of the node and of everything below it."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from walk(child, "%s.%s" % (path, name) if path else name)
    if "items" in node:
        yield from walk(node["items"], path + "[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield from walk(node["additionalProperties"], path + "{}")


def _scalar_fits(value, node):
    kind = node.get("type")
    if node.get("x-kubernetes-int-or-string"):
        return isinstance(value, (int, str)) and not isinstance(value, bool)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return kind == "string" and isinstance(value, str)


def _problems_object(value, node, path):
    if not isinstance(value, dict):
        return ["%s: not an object" % path]
    out = ["%s: %s is required" % (path, r) for r in node.get("required", []) if r not in value]
    for key, child in value.items():
        below = node.get("properties", {}).get(key, node.get("additionalProperties"))
        if below is None:
            out.append("%s: unknown field %s" % (path, key))
        elif below and not (path == "" and key == "metadata"):
            out += problems(child, below, "%s.%s" % (path, key))
    return out


def problems(value, node, path=""):
    """Returns what an API server would say against the value, and unknown fields too."""
    if node.get("type") == "object":
        return _problems_object(value, node, path)
    if node.get("type") == "array":
        if not isinstance(value, list):
            return ["%s: not a list" % path]
        return [p for i, v in enumerate(value)
                for p in problems(v, node["items"], "%s[%d]" % (path, i))]
    if not _scalar_fits(value, node):
        return ["%s: %r is no %s" % (path, value, node.get("type", "int-or-string"))]
    if "enum" in node and value not in node["enum"]:
        return ["%s: %r is not one of %s" % (path, value, node["enum"])]
    if "pattern" in node and not re.search(node["pattern"], str(value)):
        return ["%s: %r does not match" % (path, value)]
    return []
