# SPDX-License-Identifier: Apache-2.0
"""tools/gen-man as a module; its name has no .py and a dash."""
import importlib.machinery
import importlib.util
import os

_path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "gen-man")
_loader = importlib.machinery.SourceFileLoader("gen_man", _path)
gen_man = importlib.util.module_from_spec(importlib.util.spec_from_loader("gen_man", _loader))
_loader.exec_module(gen_man)
