# SPDX-License-Identifier: Apache-2.0
"""Turns types of the Kubernetes OpenAPI files into structural CRD schemas.

A type is named by group and name, as in `core/PodSpec`. Conversion inlines every reference,
drops prose, merge hints and OpenAPI defaults, and keeps types, formats, required lists and list
types. Defaults come from the `defaults` table of the sources and from nowhere else. Every keyword
is either known here or an error: a new Kubernetes release cannot slip something in unseen.

Names in a table that nothing used are an error too (`check_tables_used`), so tables cannot rot.
"""
import copy
import json
import os

from gencrds.error import GenError

# prefix of a short type name -> (file that holds it, prefix of the long name)
GROUPS = {
    "core": ("api__v1_openapi.json", "io.k8s.api.core.v1."),
    "networking": ("apis__networking.k8s.io__v1_openapi.json", "io.k8s.api.networking.v1."),
    "meta": (None, "io.k8s.apimachinery.pkg.apis.meta.v1."),
    "resource": (None, "io.k8s.apimachinery.pkg.api.resource."),
    "intstr": (None, "io.k8s.apimachinery.pkg.util.intstr."),
}

QUANTITY_PATTERN = (r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
                    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$")
INT_OR_STRING = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}
SCALARS = {
    "resource/Quantity": {**INT_OR_STRING, "pattern": QUANTITY_PATTERN},
    "intstr/IntOrString": INT_OR_STRING,
    "meta/Time": {"type": "string", "format": "date-time"},
}

KEEP = {"type", "format", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type"}
DROP = {"description", "default", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key",
        "x-kubernetes-unions"}
NEST = {"properties", "items", "additionalProperties", "allOf", "$ref"}


def short_name(long_name):
    for group, (_, prefix) in GROUPS.items():
        if long_name.startswith(prefix) and "." not in long_name[len(prefix):]:
            return "%s/%s" % (group, long_name[len(prefix):])
    raise GenError("type %s is of a group that gen-crds does not know" % long_name)


class Types:
    """The OpenAPI types of one Kubernetes release, converted on demand."""

    def __init__(self, folder, defaults, replace):
        self._schemas = {}
        for name, _ in filter(lambda g: g[0], GROUPS.values()):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                for long_name, schema in json.load(f)["components"]["schemas"].items():
                    self._schemas.setdefault(long_name, schema)
        self._defaults = defaults
        self._replace = replace
        self._done = {}
        self._open = []
        self._used = set()

    def get(self, name):
        """Returns a new structural schema of the type with this short name."""
        if name in SCALARS:
            return copy.deepcopy(SCALARS[name])
        if name in self._replace:
            self._used.add(name)
            return copy.deepcopy(self._replace[name])
        if name not in self._done:
            self._done[name] = self._load(name)
        return copy.deepcopy(self._done[name])

    def check_tables_used(self):
        for name in list(self._defaults) + list(self._replace):
            if name not in self._used:
                raise GenError("k8s.yaml names %s, which no CRD contains" % name)

    def _load(self, name):
        group, _, short = name.partition("/")
        long_name = GROUPS[group][1] + short if group in GROUPS else None
        if long_name not in self._schemas:
            raise GenError("no OpenAPI type %s" % name)
        if name in self._open:
            raise GenError("type %s contains itself" % name)
        self._open.append(name)
        schema = self._convert(self._schemas[long_name], name)
        self._open.pop()
        for field, value in schema.get("properties", {}).items():
            key = "%s.%s" % (name, field)
            if key in self._defaults:
                value["default"] = self._defaults[key]
                self._used.add(key)
        return schema

    def _convert(self, node, where):
        out = {}
        for key, value in node.items():
            if key in KEEP:
                out[key] = copy.deepcopy(value)
            elif key not in DROP and key not in NEST:
                raise GenError("%s: unknown OpenAPI keyword %s" % (where, key))
        if "$ref" in node:
            out.update(self.get(short_name(node["$ref"].rpartition("/")[2])))
        for part in node.get("allOf", []):
            out.update(self._convert(part, where))
        if "properties" in node:
            out["properties"] = {k: self._convert(v, "%s.%s" % (where, k))
                                 for k, v in node["properties"].items()}
        for key in ("items", "additionalProperties"):
            if key in node:
                out[key] = self._convert(node[key], where)
        if "required" in out:
            out["required"].sort()
        return out
