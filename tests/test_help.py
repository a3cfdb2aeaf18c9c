"""The --help of every command: it exits with 0, fits a terminal, and its examples can be typed."""

import argparse
import importlib
import re
import shlex
import sys
from functools import cache

import pytest

from bench.config.plan import of_command
from bench.sweep.cluster import site

BENCH = ("board", "contract", "fetch", "methods", "partition", "perf", "run", "status", "submit", "sync", "topology")
ANALYSIS = ("archive", "check_claims", "make_board", "make_figures", "make_report")
COMMANDS = [*(f"bench/{name}.py" for name in (*BENCH, "peers/run")), *(f"analysis/{name}.py" for name in ANALYSIS)]
SETTINGS = {"bench/partition.py", "bench/run.py", "bench/status.py", "bench/submit.py", "bench/topology.py"}
"""Commands that take the settings of runs."""


class Parsed(Exception):
    """A command line was accepted."""


@pytest.fixture
def call(monkeypatch, capsys):
    """Call the ``main`` of a command; return its exit code and output."""

    def called(script, *words):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "argv", [script, *words])
        try:
            code = importlib.import_module(script.removesuffix(".py").replace("/", ".")).main()
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    return called


def examples(text):
    """Return the command lines under Examples."""
    lines = text.partition("\nExamples:\n")[2].split("\n\n")[0].splitlines()
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("script", COMMANDS)
def test_help_has_a_summary_and_examples_and_fits_a_terminal(script, call):
    code, text, errors = call(script, "--help")
    assert (code, errors) == (0, "")
    usage, summary, rest = text.split("\n\n", 2)
    assert usage.startswith("usage: ")
    assert re.fullmatch(r"[A-Z][^\n]*\.", summary)
    assert len(examples(text)) >= 2
    assert max(map(len, rest.splitlines())) <= 80  # a usage may have an option that argparse does not break


@cache
def composed(*words):
    """Compose settings once: several commands have the same examples."""
    return of_command(words)


def grouped(script):
    """Run all commands with settings in one process, so that they share compositions."""
    return pytest.param(script, marks=[pytest.mark.xdist_group("settings")] if script in SETTINGS else [])


@pytest.mark.parametrize("script", [grouped(script) for script in COMMANDS])
def test_examples_are_accepted_and_every_option_is_described(script, call, monkeypatch, tmp_path):
    found = examples(call(script, "--help")[1])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("[]")
    for name in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, name, then_stop(getattr(argparse.ArgumentParser, name)))
    for python, command, *words in found:
        assert (python, command) == ("python", script)
        with pytest.raises(Parsed):
            call(script, *words)
        if script in SETTINGS:
            settings = site.of_command([word for word in words if "=" in word])[0]
            assert composed(*(word for word in settings if not word.startswith("workers=")))


def then_stop(parse):
    """A parser that accepts a command line and does no more."""

    def parsed(self, *args, **kwargs):
        parse(self, *args, **kwargs)
        if "hydra" not in str(self.description).lower():  # Hydra describes its flags in another place
            assert [action.dest for action in self._actions if not action.help] == []
        raise Parsed

    return parsed
