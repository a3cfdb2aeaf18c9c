"""The command hearsay: its subcommands are the scripts."""

import importlib
import sys

import pytest

from bench.base.registry import algorithms
from hearsay import cli
from hearsay.commands import COMMANDS
from hearsay.listing import kinds
from tests.helpers.cli import python

OLD = {
    "run": "bench/run.py",
    "fetch": "bench/fetch.py",
    "status": "bench/status.py",
    "sync": "bench/sync.py",
    "submit": "bench/submit.py",
    "contract": "bench/contract.py",
    "figures": "analysis/make_figures.py",
    "report": "analysis/make_report.py",
    "claims": "analysis/check_claims.py",
}


@pytest.fixture
def call(monkeypatch, capsys):
    """Call ``hearsay``, or the main of a script; return the exit code and the output."""

    def called(*words, script=None):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "argv", [script or "hearsay", *words])
        module = script and script.removesuffix(".py").replace("/", ".")
        try:
            code = importlib.import_module(module).main() if module else cli.dispatch(list(words))
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return called


@pytest.mark.parametrize(
    ("subcommand", "words", "code"),
    [
        ("status", ["nowhere"], 2),
        ("figures", ["--results", "nowhere"], 2),
        ("report", ["--results", "nowhere"], 2),
        ("sync", ["nowhere"], 2),
        ("fetch", [], 0),
        ("contract", ["dnas"], 2),
        ("run", ["--cfg", "job", "-p", "algo"], 0),
        ("submit", ["algo=dnas"], 2),
    ],
)
def test_a_subcommand_equals_its_script(call, tmp_path, monkeypatch, subcommand, words, code):
    monkeypatch.chdir(tmp_path)
    ours, theirs = call(subcommand, *words), call(*words, script=OLD[subcommand])
    assert ours == theirs
    assert ours[0] == code


@pytest.mark.thorough
def test_a_run_is_the_same_as_that_of_the_script(tmp_path):
    words = ["algo=dnasa", "steps=20", "engine=stacked", "tracker=none"]
    done = [
        python(script, *some, cwd=tmp_path)
        for script, some in (("bench/run.py", words), ("hearsay/__main__.py", ["run", *words]))
    ]
    first, second = done
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stderr == second.stderr  # it says what it starts
    assert first.stdout.replace("done at step 20", "done before, by engine stacked") == second.stdout


def test_info_of_a_method_equals_the_script(call):
    assert call("info", "dnasa") == call("dnasa", script="bench/methods.py")
    assert call("list", "methods") == call(script="bench/methods.py")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_names_subcommands_and_not_scripts(call, name):
    code, text, errors = call(name, "--help")
    assert (code, errors) == (0, "")
    assert text.startswith(f"usage: hearsay {name}")
    assert f"  hearsay {name} " in text
    if name in OLD:
        assert f"python {OLD[name]}" not in text


def test_the_overview_has_a_line_for_every_command(call):
    for words in ([], ["--help"]):
        code, text, _ = call(*words)
        assert code == 0
        assert [name for name in COMMANDS if f"\n  {name:11} " not in text] == []


def test_an_unknown_command_is_rejected(call):
    code, _, errors = call("statsu")
    assert code == 2
    assert "statsu" in errors
    assert "'status'" in errors


def test_the_first_word_of_board_chooses_its_module():
    assert cli.module_of("board", ["status"]) == "bench.board"
    assert cli.module_of("board", ["targets"]) == "analysis.make_board"
    assert cli.module_of("board", ["score"]) == "bench.board"  # both have it


def test_list_has_every_name(call):
    code, text, _ = call("list")
    assert code == 0
    words = text.replace(",", " ").split()
    for kind in kinds().values():
        assert [name for name in kind.names() if name not in words] == [], kind.word
    assert set(algorithms) <= set(words)


@pytest.mark.parametrize("word", [kind for kind in kinds() if kind != "methods"])
def test_a_list_of_one_kind_explains_every_name(call, word):
    code, text, _ = call("list", word)
    assert code == 0
    for name in kinds()[word].names():
        assert f"  {name}" in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["ring"], ["topology=ring", "ρ = 0.804738", "topology.lazy=false"]),
        (["topology", "edges"], ["topology=edges", "topology.file"]),
        (["qsgd"], ["compressor.levels=15"]),
        (["none"], ["compressor=none", "regularizer=none", "network=none"]),
        (["paper/speedup"], ["hearsay run experiment=paper/speedup"]),
        (["lan"], ["network=lan", "IEEE"]),
        (["a9a"], ["dataset=a9a", "32561"]),
    ],
)
def test_info_describes_any_name(call, words, shown):
    code, text, _ = call("info", *words)
    assert code == 0
    assert [part for part in shown if part not in text] == []


@pytest.mark.parametrize("words", [["rign"], ["topology", "dnasa"], ["graf", "ring"], ["a", "b", "c"]])
def test_info_rejects_unknown_names(call, words):
    code, _, errors = call("info", *words)
    assert code == 2
    assert words[-1] in errors or words[0] in errors
