# SPDX-License-Identifier: Apache-2.0
"""The sample objects in test/golden/objects fit the schemas and cover them."""
import os

import yaml

from common import KINDS, ROOT, problems, schema

OBJECTS = os.path.join(ROOT, "test", "golden", "objects")


def objects():
    for name in sorted(os.listdir(OBJECTS)):
        with open(os.path.join(OBJECTS, name), encoding="utf-8") as f:
            for obj in yaml.safe_load_all(f):
                yield name, obj


def test_sample_objects_are_valid():
    for name, obj in objects():
        found = problems(obj, schema(obj["kind"]))
        assert not found, "%s: %s" % (name, "; ".join(found))


def test_sample_objects_show_every_field_of_every_kind():
    for kind in KINDS:
        want = set(schema(kind)["properties"]["spec"]["properties"])
        for _, obj in objects():
            if obj["kind"] == kind:
                want -= set(obj["spec"])
        assert not want, "no sample %s has %s" % (kind, ", ".join(sorted(want)))


def test_validator_sees_mistakes():
    sandbox = {"apiVersion": "agents.x-k8s.io/v1beta1", "kind": "Sandbox", "metadata": {},
               "spec": {"podTemplate": {"spec": {"containers": [{"name": "a", "ports": [
                   {"containerPort": "80"}]}], "colour": "red"}}, "operatingMode": "Sleeping"}}
    found = " | ".join(problems(sandbox, schema("Sandbox")))
    for part in ("'80' is no integer", "unknown field colour", "'Sleeping' is not one of"):
        assert part in found, found
