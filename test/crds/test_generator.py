# SPDX-License-Identifier: Apache-2.0
"""The generator itself: it is stable, notices what is stale, and refuses what it does not know."""
import contextlib
import io
import json
import os
import shutil
import subprocess
import tempfile

from gencrds import main, module, openapi, source
from gencrds.error import GenError

from common import CRDS, ROOT

TOOL = os.path.join(ROOT, "tools", "gen-crds")
CORE = "io.k8s.api.core.v1."


def refuses(part, func, *args):
    try:
        func(*args)
    except GenError as e:
        assert part in str(e), "the message is %r, without %r" % (str(e), part)
        return
    raise AssertionError("accepted; want an error with %r" % part)


def types_of(schemas, defaults=None, replace=None):
    """Types over a made-up OpenAPI file; keys of `schemas` are core type names."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in ((openapi.GROUPS["core"][0],
                               {CORE + k: v for k, v in schemas.items()}),
                              (openapi.GROUPS["networking"][0], {})):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                json.dump({"components": {"schemas": content}}, f)
        return openapi.Types(folder, defaults or {}, replace or {})


def ref(name):
    return {"$ref": "#/components/schemas/" + name}


def quiet_check(folder):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        stale = main.check(main.generate(), folder)
    return stale, out.getvalue()


def test_committed_files_are_up_to_date():
    out = subprocess.run([TOOL, "--check"], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stdout + out.stderr


def test_two_runs_give_the_same_bytes():
    with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
        for folder, seed in ((a, "1"), (b, "2")):
            subprocess.run([TOOL, "--out", folder], check=True,
                           env=dict(os.environ, PYTHONHASHSEED=seed))
        names = sorted(os.listdir(a))
        assert names == sorted(os.listdir(b)) and len(names) == 5, names
        for name in names:
            with open(os.path.join(a, name), "rb") as f, open(os.path.join(b, name), "rb") as g:
                assert f.read() == g.read(), name


def test_check_notices_changed_missing_and_foreign_files():
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(CRDS):
            if name.endswith(".yaml"):
                shutil.copy(os.path.join(CRDS, name), folder)
        assert quiet_check(folder)[0] == 0, "a copy differs"
        with open(os.path.join(folder, "kustomization.yaml"), "a", encoding="utf-8") as f:
            f.write("namespace: x\n")
        os.unlink(os.path.join(folder, "agents.x-k8s.io_sandboxes.yaml"))
        with open(os.path.join(folder, "old.yaml"), "w", encoding="utf-8") as f:
            f.write("a: b\n")
        stale, text = quiet_check(folder)
        assert stale == 3, text
        assert "-namespace: x" in text and "old.yaml" in text, text


def test_write_replaces_and_removes():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a.yaml", "same"), ("b.yaml", "old"), ("c.yaml", "gone")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        main.write({"a.yaml": "same", "b.yaml": "new", "d.yaml": "more"}, folder)
        assert main.present(folder) == {"a.yaml": "same", "b.yaml": "new", "d.yaml": "more"}
        assert sorted(os.listdir(folder)) == ["a.yaml", "b.yaml", "d.yaml"]


def test_module_is_pinned_by_checksum():
    assert module.pinned_version() == "v1.37.2"
    real = module._read
    try:
        module._read = lambda n: real(n).replace("h1:A2", "h1:B2") if n == "go.sum" else real(n)
        refuses("checksum", module.openapi_dir)
        module._read = lambda n: "" if n == "go.sum" else real(n)
        refuses("no checksum", module.openapi_dir)
        module._read = lambda n: ""
        refuses("does not require", module.openapi_dir)
    finally:
        module._read = real


def run_tool(**env):
    return subprocess.run([TOOL, "--check"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **env))


def test_a_machine_that_lacks_something_is_told_what():
    with tempfile.TemporaryDirectory() as empty:
        out = run_tool(GOMODCACHE=empty, GOPROXY="off")
        assert out.returncode == 1 and out.stdout == "", out
        assert "cannot download k8s.io/kubernetes v1.37.2: " in out.stderr, out.stderr
        assert len(out.stderr.splitlines()) == 1, out.stderr
        out = run_tool(PATH=empty)
        assert out.returncode == 1 and "cannot run the Go command" in out.stderr, out.stderr


def test_conversion_inlines_and_drops():
    types = types_of({
        "A": {"type": "object", "description": "prose", "required": ["z", "b"], "properties": {
            "b": {"allOf": [ref(CORE + "B")], "default": {}, "description": "prose",
                  "x-kubernetes-list-type": "atomic"},
            "z": {"type": "string", "default": "", "x-kubernetes-patch-strategy": "merge"},
            "m": {"type": "object", "additionalProperties":
                  ref("io.k8s.apimachinery.pkg.api.resource.Quantity")}}},
        "B": {"type": "array", "items": {"type": "integer", "format": "int32", "default": 0}},
        "io.k8s.apimachinery": {}}, {"core/A.z": "zed"})
    got = types.get("core/A")
    assert got["required"] == ["b", "z"], got
    assert got["properties"]["z"] == {"type": "string", "default": "zed"}, got
    assert got["properties"]["b"] == {"type": "array", "x-kubernetes-list-type": "atomic",
                                      "items": {"type": "integer", "format": "int32"}}, got
    limit = got["properties"]["m"]["additionalProperties"]
    assert limit["x-kubernetes-int-or-string"] and limit["pattern"], limit


def test_types_are_copies():
    types = types_of({"A": {"type": "object", "properties": {"x": {"type": "string"}}}})
    types.get("core/A")["properties"]["x"]["type"] = "integer"
    assert types.get("core/A")["properties"]["x"]["type"] == "string"


def test_conversion_refuses_what_it_does_not_know():
    refuses("unknown OpenAPI keyword oneOf",
            types_of({"A": {"type": "object", "oneOf": []}}).get, "core/A")
    refuses("unknown OpenAPI keyword enum", types_of(
        {"A": {"type": "object", "properties": {"x": {"type": "string", "enum": ["a"]}}}}).get,
        "core/A")
    refuses("contains itself", types_of(
        {"A": {"properties": {"x": ref(CORE + "B")}}, "B": {"items": ref(CORE + "A")}}).get,
        "core/A")
    refuses("no OpenAPI type", types_of({}).get, "core/Missing")
    refuses("no OpenAPI type", types_of({}).get, "nowhere/A")
    refuses("does not know", types_of({"A": {"items": ref("io.example.v1.Thing")}}).get, "core/A")


def test_tables_cannot_rot():
    types = types_of({"A": {"type": "object", "properties": {"x": {"type": "string"}}}},
                     {"core/A.x": "1", "core/A.gone": "2"})
    types.get("core/A")
    refuses("core/A.gone", types.check_tables_used)
    types = types_of({}, {}, {"meta/ObjectMeta": {"type": "object"}})
    refuses("meta/ObjectMeta", types.check_tables_used)


def test_use_lays_keywords_over_a_fragment():
    builder = source.Builder(types_of({}), {"base": {
        "type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}})
    got = builder.schema({"$use": "shared/base", "required": ["b"],
                          "properties": {"b": {"$use": "shared/base"}}})
    assert got["required"] == ["a", "b"] and sorted(got["properties"]) == ["a", "b"], got
    assert builder.schema({"$use": "shared/base"})["required"] == ["a"], "the fragment changed"
    refuses("no fragment", builder.schema, {"$use": "shared/nothing"})


def test_sources_refuse_unknown_keys_and_bad_yaml():
    builder = source.Builder(types_of({}), {})
    refuses("unknown key colums", builder.crd, {"kind": "X", "colums": []})
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as f:
        f.write("a: [")
        f.flush()
        refuses(f.name, source.load_yaml, f.name)
