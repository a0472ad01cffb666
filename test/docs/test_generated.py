# SPDX-License-Identifier: Apache-2.0
"""Man pages and completion say what the programs say, and work."""
import subprocess

from documents import ROOT, files, read
from genman import BIN, gen_man

PROGRAMS = gen_man.PROGRAMS


def complete(program, *words):
    """What bash offers after these words; "=" is a word of its own, as bash cuts them."""
    script = (f"source {ROOT}/docs/completion/{program}.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
              f"_{program.replace('-', '_')}; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "-c", script, "bash", program, *words], capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_files_are_up_to_date():
    for path, content in gen_man.generate(ROOT, BIN).items():
        assert read(path) == content, f"{path} is not up to date: run make man"


def test_nothing_else_lies_beside_them():
    found = set(files("docs/man", suffix=".1") + files("docs/completion"))
    assert found == set(gen_man.generate(ROOT, BIN)), found


def test_every_flag_is_in_its_man_page():
    for program in PROGRAMS:
        page = read(f"docs/man/{program}.1").replace("\\-", "-")
        for group in gen_man.Help(f"{BIN}/{program}").flags.values():
            missing = [f.name for f in group if f"--{f.name}" not in page]
            assert group is not None and not missing, f"{program}: {missing}"


def test_completion_offers_flags_by_prefix():
    assert complete("sandbox-controller", "--zap-enc") == ["--zap-encoder"]
    assert "--authz-mode" in complete("sandbox-router", "--auth")
    assert complete("sandbox-controller", "--no-such-flag") == []


def test_completion_offers_the_words_of_a_choice():
    assert complete("sandbox-controller", "--zap-encoder", "") == ["json", "console"]
    assert complete("sandbox-controller", "--zap-encoder", "=", "c") == ["console"]
    assert complete("sandbox-controller", "--zap-encoder", "=") == ["json", "console"]


def test_completion_offers_files_for_files():
    assert complete("sandbox-controller", "--kubeconfig", ROOT + "/Makef") == [ROOT + "/Makefile"]


def test_completion_knows_subcommands():
    assert "serve" in complete("sandbox-runtime", "s")
    assert "--listen" in complete("sandbox-runtime", "serve", "--li")
    assert complete("sandbox-runtime", "no-such", "--li") == []


def test_generator_reads_every_shape_of_a_flag():
    text = "Usage: x\n\n  --one\n        first (default true)\n  --two a|b\n        second\n        goes on [env TWO]\n" \
           "  --three\n        third ($THREE, 3)\nnot a flag\n"
    one, two, three = gen_man.parse_flags(text)
    assert (one.shown, two.shown, three.shown) == ("--one", "--two=a|b", "--three=VALUE")
    assert two.text == "second goes on [env TWO]"
    assert (two.variables, three.variables) == (["TWO"], ["THREE"])


def test_generator_protects_roff():
    assert gen_man.roff(".dot\n'quote -x `b` \\") == "\\&.dot\n\\&'quote \\-x \\fBb\\fR \\e"
