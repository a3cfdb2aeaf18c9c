"""Completion scripts, as shells read them."""

import re
import shutil
import subprocess
import time

import pexpect
import pytest

from bench.base.registry import algorithms
from hearsay import completion

LINES = [
    ("hearsay ru", "run"),
    ("hearsay run alg", "algo="),
    ("hearsay run -m algo=dnas", "algo=dnasa"),
    ("hearsay run -m algo=dnasa,adps", "algo=dnasa,adpsgd"),
    ("hearsay submit topology=compl", "topology=complete"),
    ("hearsay run experiment=paper/spee", "experiment=paper/speedup"),
    ("hearsay list topol", "topologies"),
    ("hearsay info adps", "adpsgd"),
    ("hearsay fetch fashi", "fashion_mnist"),
    ("hearsay figures --figure curves,compre", "curves,compression"),
    ("hearsay run --mul", "--multirun"),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The script of each shell; the flags of the commands are read once."""
    folder, before = tmp_path_factory.mktemp("completion"), completion.flags_of
    completion.flags_of = lambda module: ["--figure", "--help", "--multirun"]
    try:
        for shell in completion.SHELLS:
            (folder / shell).write_text(completion.script(shell))
    finally:
        completion.flags_of = before
    return folder


@pytest.mark.parametrize(("line", "word"), LINES)
def test_bash_completes(scripts, line, word):
    code = (
        f"source {scripts / 'bash'} 2>/dev/null; compopt() {{ :; }}; COMP_LINE={line!r} COMP_POINT={len(line)}; "
        "_hearsay; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "--norc", "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.stdout.split(), done.stderr) == ([word.partition("=")[2] or word], "")


def test_the_scripts_know_every_method(scripts):
    for shell in completion.SHELLS:
        words = (scripts / shell).read_text().split()
        assert set(algorithms) <= set(words), shell


@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(("line", "word"), LINES)
def test_fish_completes(scripts, line, word):
    code = f"source {scripts / 'fish'}; complete -C {line!r}"
    fish = ["fish", "--no-config", "-c", code]
    done = subprocess.run(fish, cwd=scripts, capture_output=True, text=True, timeout=20)
    assert (done.stdout.partition("\t")[0].strip(), done.stderr) == (word, "")


TYPED = "hearsay() { printf 'TYPED<%s>\\n' \"$*\"; }"


def after_tab(shell, start, line):
    """Return what a shell executes after a line, the Tab key and Enter."""
    shell.sendline(f"{start}; {TYPED}; echo rea''dy")
    shell.expect("ready")
    shell.send(line + "\t")
    time.sleep(0.5)
    shell.send("\n")
    shell.expect(r"TYPED<(\w.*?)>")
    return shell.match[1]


@pytest.mark.thorough
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_tab_in_a_real_shell_completes_the_line(scripts, shell):
    """zsh has no other interface; and bash breaks words at =, which only a terminal shows."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    flags, start = {
        "bash": (["--norc", "--noprofile", "-i"], "bind 'set bell-style none'"),
        "zsh": (["-f", "-i"], "autoload -Uz compinit; compinit -u -D; unsetopt zle_bracketed_paste"),
    }[shell]
    place = {"PATH": "/usr/bin:/bin", "TERM": "dumb", "HOME": str(scripts), "PS1": "> "}
    for line, word in LINES[:4]:
        with pexpect.spawn(shell, flags, env=place, encoding="utf-8", dimensions=(40, 200), timeout=20) as terminal:
            found = after_tab(terminal, f"{start}; source {scripts / shell}", line)
            assert found.strip() == re.sub(r"\S+$", "", line).removeprefix("hearsay ") + word


@pytest.mark.thorough
def test_flags_are_those_of_the_help():
    assert {"--multirun", "--cfg", "--help"} <= set(completion.flags_of("bench.run"))
    assert {"--figure", "--where"} <= set(completion.flags_of("analysis.make_figures"))
    assert completion.flags_of("bench.no_such_module") == ["--help"]
