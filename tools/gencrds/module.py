# SPDX-License-Identifier: Apache-2.0
"""Finds the pinned Go module that carries the Kubernetes OpenAPI files.

The version stands in go.mod beside this file and its checksum in go.sum, so a changed module is
refused. The Go command downloads it once; later runs read the module cache and need no network.
"""
import json
import os
import re
import subprocess

from gencrds.error import GenError

HERE = os.path.dirname(os.path.realpath(__file__))
MODULE = "k8s.io/kubernetes"
OPENAPI_DIR = "api/openapi-spec/v3"


def _read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def pinned_version():
    match = re.search(r"^require %s (v\S+)$" % re.escape(MODULE), _read("go.mod"), re.M)
    if not match:
        raise GenError("tools/gencrds/go.mod does not require %s" % MODULE)
    return match.group(1)


def pinned_sum(version):
    match = re.search(r"^%s %s (h1:\S+)$" % (re.escape(MODULE), re.escape(version)),
                      _read("go.sum"), re.M)
    if not match:
        raise GenError("tools/gencrds/go.sum has no checksum of %s %s" % (MODULE, version))
    return match.group(1)


def openapi_dir():
    """Returns the folder with the OpenAPI files of the pinned version, downloading it if needed."""
    version = pinned_version()
    try:
        out = subprocess.run(["go", "mod", "download", "-json", "%s@%s" % (MODULE, version)],
                             cwd=HERE, capture_output=True, text=True, check=False)
    except OSError as e:
        raise GenError("cannot run the Go command: %s" % e) from e
    try:
        info = json.loads(out.stdout)
    except ValueError:
        info = {}
    if out.returncode != 0 or "Dir" not in info:
        raise GenError("cannot download %s %s: %s" % (MODULE, version,
                                                      info.get("Error") or out.stderr.strip()))
    if info["Sum"] != pinned_sum(version):
        raise GenError("%s %s has checksum %s, go.sum says %s" % (MODULE, version, info["Sum"],
                                                                  pinned_sum(version)))
    return os.path.join(info["Dir"], OPENAPI_DIR)
