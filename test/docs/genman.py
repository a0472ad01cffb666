# SPDX-License-Identifier: Apache-2.0
"""Programs of tools/ as modules; their names have no .py and may have a dash."""
import importlib.machinery
import importlib.util
import os

from documents import ROOT

BIN = os.environ.get("BIN") or os.path.join(ROOT, "build/bin")


def load(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(ROOT, "tools", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


gen_man = load("gen-man")
