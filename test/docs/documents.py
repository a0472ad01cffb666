# SPDX-License-Identifier: Apache-2.0
"""The Markdown files of the tree, cut into what the tests look at."""
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def files(*tops, suffix=""):
    """Files below tops, relative to the root, in order."""
    found = []
    for top in tops:
        for folder, dirs, names in os.walk(os.path.join(ROOT, top)):
            dirs[:] = sorted(d for d in dirs if d != "__pycache__")
            found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in sorted(names) if n.endswith(suffix)]
    return found


def markdown():
    """Every Markdown file: those of the root, and those below docs/."""
    top = [n for n in sorted(os.listdir(ROOT)) if n.endswith(".md")]
    return top + files("docs", suffix=".md")


def code(text):
    """What stands in code: (line number, text) of fenced and indented lines and of each `span`."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line.strip()
        if not fenced:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def links(text):
    """(line number, target) of each link that is not in code."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced:
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                yield number, target


def anchors(text):
    """The anchors that a renderer gives the headings of a document."""
    found = set()
    for line in text.split("\n"):
        if re.match(r"#+ ", line):
            words = re.sub(r"[`*]", "", line.lstrip("#").strip().lower())
            found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def make_targets():
    """Targets that somebody may type: those with a rule in the Makefile or in mk/."""
    found = set()
    for path in ["Makefile", *files("mk", suffix=".mk")]:
        for line in read(path).split("\n"):
            m = re.match(r"([a-z][a-z0-9 -]*):(?!=)", line)
            found.update(m.group(1).split() if m else [])
    return found
