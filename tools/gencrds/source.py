# SPDX-License-Identifier: Apache-2.0
"""Reads crds/src and builds the CustomResourceDefinition objects.

A source file is one kind: names, printer columns, subresources, and the schemas of `spec` and
`status`. Inside a schema `$use: NAME` stands for a fragment of shared.yaml (`shared/…`) or a
Kubernetes type (`core/PodSpec`); keywords beside it are laid over it, `properties` and `required`
being joined. Everything else is plain CRD schema.
"""
import copy
import os

import yaml

from gencrds.error import GenError

NOT_A_KIND = ("shared.yaml", "k8s.yaml")
SOURCE_KEYS = {"group", "kind", "plural", "shortNames", "columns", "subresources", "spec", "status"}


def load_yaml(path):
    with open(path, encoding="utf-8") as f:
        try:
            return yaml.safe_load(f)
        except yaml.YAMLError as e:
            raise GenError("%s: %s" % (path, e)) from e


class Builder:
    """Expands source schemas. `types` is an openapi.Types, `shared` the content of shared.yaml."""

    def __init__(self, types, shared):
        self._types = types
        self._shared = shared

    def schema(self, node):
        if isinstance(node, list):
            return [self.schema(v) for v in node]
        if not isinstance(node, dict):
            return node
        out = self._lookup(node["$use"]) if "$use" in node else {}
        for key, value in node.items():
            if key == "$use":
                continue
            if key == "properties":
                out.setdefault(key, {}).update({k: self.schema(v) for k, v in value.items()})
            elif key == "required":
                out[key] = sorted(set(out.get(key, []) + value))
            else:
                out[key] = self.schema(value)
        return out

    def _lookup(self, name):
        group, _, short = name.partition("/")
        if group != "shared":
            return self._types.get(name)
        if short not in self._shared:
            raise GenError("no fragment %s in shared.yaml" % name)
        return self.schema(self._shared[short])

    def crd(self, src):
        """Returns the CustomResourceDefinition of one source, keys in no particular order."""
        unknown = set(src) - SOURCE_KEYS
        if unknown:
            raise GenError("%s: unknown key %s" % (src.get("kind"), ", ".join(sorted(unknown))))
        properties = {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
                      "metadata": {"type": "object"}, "spec": self.schema(src["spec"])}
        if "status" in src:
            properties["status"] = self.schema(src["status"])
        version = {
            "name": "v1beta1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": properties,
                                           "required": ["spec"]}},
        }
        if src.get("columns"):
            version["additionalPrinterColumns"] = copy.deepcopy(src["columns"])
        if src.get("subresources"):
            version["subresources"] = copy.deepcopy(src["subresources"])
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "%s.%s" % (src["plural"], src["group"])},
            "spec": {
                "group": src["group"],
                "names": {"kind": src["kind"], "listKind": src["kind"] + "List",
                          "plural": src["plural"], "singular": src["kind"].lower(),
                          "shortNames": src["shortNames"]},
                "scope": "Namespaced",
                "versions": [version],
            },
        }


def kinds(folder):
    """Returns the parsed source of every kind, in file name order."""
    names = sorted(n for n in os.listdir(folder) if n.endswith(".yaml") and n not in NOT_A_KIND)
    return [load_yaml(os.path.join(folder, n)) for n in names]
