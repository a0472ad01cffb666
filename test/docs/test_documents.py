# SPDX-License-Identifier: Apache-2.0
"""What the documents name exists: links, make targets, flags, files, limits, condition reasons."""
import glob
import os
import re

from documents import ROOT, anchors, code, files, links, make_targets, markdown, read
from genman import BIN, gen_man, load

TOPS = ("pkg", "controller", "router", "runtime", "test", "tools", "mk", "docs", "manifests", "images", "crds")
# Flags of programs that are not ours, as far as documents name them.
FOREIGN_FLAGS = set("""
    namespace replicas filename from-literal cert key server-side force-conflicts sort-by tail as all-namespaces
    kubeconfig type patch context previous list build-arg target break-system-packages no-cache-dir
    isolation only-binary from-file wait for timeout output selector watch dry-run depth check bin root
    no-compile overwrite cascade help version from field-selector
""".split())


def sources():
    return {p: read(p) for p in files("pkg", "controller", "router", "runtime")
            if p.endswith((".c", ".h"))}


def findings(look):
    """look(path, text) yields (line, what is wrong); all of them, or nothing when all is well."""
    found = [f"{path}:{number}: {what}" for path in markdown() for number, what in look(path, read(path))]
    assert not found, "\n     ".join(found)


def test_relative_links_resolve():
    def look(path, text):
        for number, target in links(text):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if not os.path.exists(os.path.join(ROOT, full)):
                yield number, f"{target} is not there"
            elif anchor and anchor not in anchors(read(full)):
                yield number, f"{full} has no heading #{anchor}"
    findings(look)


def test_make_targets_exist():
    targets = make_targets()

    def look(_path, text):
        for number, line in code(text):
            m = re.match(r"(?:sudo )?make((?: +[\w./:=,-]+)*)", line)
            for word in (m.group(1).split() if m else []):
                if "=" not in word and not word.startswith("-") and word not in targets:
                    yield number, f"make has no target {word}"
    findings(look)


def test_the_two_commands_are_in_the_readme():
    spans = [c for _, c in code(read("README.md"))]
    assert any(c.startswith("make demo") for c in spans) and any(c.startswith("make test") for c in spans)


def known_flags():
    known = set(FOREIGN_FLAGS)
    for program in gen_man.PROGRAMS:
        for group in gen_man.Help(f"{BIN}/{program}").flags.values():
            known.update(f.name for f in group)
    return known


def test_flags_exist():
    known = known_flags()

    def look(_path, text):
        for number, line in code(text):
            for flag in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", line):
                if flag not in known:
                    yield number, f"--{flag} is a flag of no program"
    findings(look)


def expand(word):
    """a/{b,c}.d as the shell does, for one pair of braces."""
    m = re.match(r"([^{]*)\{([^}]*)\}(.*)$", word)
    return [m.group(1) + one + m.group(3) for one in m.group(2).split(",")] if m else [word]


def test_paths_exist():
    def look(_path, text):
        for number, span in code(text):
            for word in re.findall(r"(?<![\w./-])(?:%s)/(?:[\w./*-]|\{[^}]*\})+" % "|".join(TOPS), span):
                if re.search(r"\.\.\.|/[A-Z]+(/|$)|_X\.", word):
                    continue  # stands for many
                for one in expand(word.rstrip(".,")):
                    if not glob.glob(os.path.join(ROOT, one)):
                        yield number, f"{one} is not there"
    findings(look)


def defines():
    """{NAME: value text} of every #define that ends in _MAX."""
    found = {}
    for text in sources().values():
        found.update(re.findall(r"^#define (\w+_MAX) +(.+?)(?: */\*.*)?$", text, re.M))
    return found


def test_limits_are_those_of_the_sources():
    """A table row of docs/limits.md: | `NAME` | value as in the source | ... |"""
    known, rows = defines(), re.findall(r"^\| `(\w+_MAX)` \| `([^`]+)` \|", read("docs/limits.md"), re.M)
    assert rows, "docs/limits.md names no limit"
    for name, value in rows:
        assert name in known, f"{name} is not defined"
        assert known[name] == value, f"{name} is {known[name]}, docs/limits.md says {value}"


def test_reasons_are_those_of_the_sources():
    """The table of docs/operations.md whose first column is a condition and a reason."""
    text = "\n".join(sources().values())
    rows = re.findall(r"^\| [^|]*`(\w+)` \|", read("docs/operations.md"), re.M)
    assert len(rows) > 10, "docs/operations.md has no table of reasons"
    missing = [r for r in rows if f'"{r}' not in text]
    assert not missing, f"no source says {missing}"


def test_variables_exist():
    """Environment variables of our programs that documents name are read by a source."""
    text = "\n".join(sources().values())

    def look(_path, document):
        for number, span in code(document):
            for name in re.findall(r"\b((?:SANDBOX|ROUTER)_[A-Z0-9_]+)\b", span):
                if name not in text:
                    yield number, f"no source reads {name}"
    findings(look)


def test_suites_exist():
    """Rows of docs/testing.md: | `NAME`, `NAME` | group | ... |"""
    documented = {}
    for names, group in re.findall(r"^\| (`[^|]+) \| (quick|all) \|", read("docs/testing.md"), re.M):
        documented.update({name: group for name in re.findall(r"`([\w-]+)`", names)})
    table = re.findall(r"^([\w-]+) *\| *(\w+) *\|", read("test/run-suites"), re.M)
    wrong = set(documented.items()) - set(table)
    assert documented and not wrong, f"docs/testing.md names suites that are not there: {wrong}"


def test_layer_table_is_what_lint_enforces():
    rows = re.findall(r"^\| `(?:pkg/)?(\w+)` \| ([^|]+) \|", read("ARCHITECTURE.md").split("## Layers")[1], re.M)
    documented = {name: [] if "–" in below else below.strip().split(", ") for name, below in rows}
    enforced = {k: v for k, v in load("lint").LAYERS.items() if v is not None}
    assert documented == enforced, f"ARCHITECTURE.md: {documented}"


def test_metrics_are_those_of_the_sources():
    """Rows of docs/metrics.md whose first column is a metric, and every name that a source gives one."""
    name = r"(?:agent_sandbox|cofferdam|sandbox_router|workqueue|controller_runtime|rest_client|leader_election|process|certwatcher)"
    known = set(re.findall(r'"(agent_sandboxes|%s_[a-z0-9_]+)"' % name, "\n".join(sources().values())))
    documented = set(re.findall(r"^\| `(\w+)` \| (?:counter|gauge|histogram) \|", read("docs/metrics.md"), re.M))
    assert len(known) > 40, "the sources name no metrics"
    assert not known - documented, f"docs/metrics.md lacks {sorted(known - documented)}"
    assert not documented - known, f"no source has {sorted(documented - known)}"


def test_the_reader_of_documents_reads():
    """The tests above would pass on anything if these found nothing."""
    text = "# A `b` C\n\nsee [x](y.md#z) and `make q` or `[n](no.md)`\n\n    make r\n\n```\nmake s\n```\n"
    assert list(links(text)) == [(3, "y.md#z")]
    assert anchors(text) == {"a-b-c"}
    assert [c for _, c in code(text)] == ["b", "make q", "[n](no.md)", "make r", "make s"]
    assert expand("a/{b,c}.d") == ["a/b.d", "a/c.d"] and expand("a/b") == ["a/b"]
    assert {"all", "demo", "test", "clean", "cluster-up"} <= make_targets()
