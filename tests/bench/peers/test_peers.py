"""The comparison with other software: all implementations compute the same iterates."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.base.errors import UserError
from bench.peers.plain_loop import PlainLoop
from bench.peers.problem import CHECKED, METHODS, Case
from bench.peers.run import AGREE, SCRIPT, decent_bench, deviation, main, measured
from tests.helpers.cli import python


@pytest.fixture(scope="module")
def case():
    return Case(nodes=5, batch_size=4)


@pytest.mark.parametrize("method", METHODS)
def test_the_plain_loop_computes_the_iterates_of_hearsay(case, method):
    ours, plain = case.run(method, CHECKED).x, PlainLoop(case.arrays).run(method, CHECKED, check=True).x
    assert ours == pytest.approx(plain, rel=0, abs=1e-12)
    assert np.abs(ours - case.arrays["start"]).max() > 0.01


def test_the_check_detects_other_mini_batches(case):
    loop = PlainLoop(case.arrays)
    assert deviation(case, lambda method, steps, check: loop.run(method, steps)) > AGREE


def test_the_best_round_counts(case):
    class Fake:
        times = iter([3.0, 5.0, 2.0, 7.0])

        def run(self, method, steps):
            return case.run(method, steps)._replace(ms=next(self.times))

    assert measured({"fake": Fake().run}, 2, rounds=2) == {("fake", "dsgd"): 2.0, ("fake", "dsgt"): 5.0}


def test_without_decent_bench_the_command_compares_the_others():
    done = python("bench/peers/run.py", "--nodes", "3", "--batch-size", "2", "--steps", "128", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("plain PyTorch ") == len(METHODS)
    assert "--python" in done.stdout.splitlines()[-1]


def test_the_script_for_another_environment_imports_nothing_of_hearsay():
    modules = re.findall(r"^\s*(?:from|import) (\w+)", SCRIPT.read_text(encoding="utf-8"), re.MULTILINE)
    assert "decent_bench" in modules
    assert {"algorithms", "bench", "benchmarks", "datasets", "torch"}.isdisjoint(modules)


@pytest.mark.parametrize("words", [("--nodes", "2"), ("--batch-size", "0"), ("--steps", "100"), ("--steps", "200")])
def test_rejects_sizes_that_cannot_be_compared(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bench/peers/run.py", *words])
    with pytest.raises(SystemExit):
        main()
    option, value = words
    assert f"{option} must be" in (text := capsys.readouterr().err)
    assert f"got {value}" in text


def test_rejects_an_interpreter_without_decent_bench(case):
    with pytest.raises(UserError, match=r"decent_"), decent_bench(Path(sys.executable), case.arrays):
        pass


@pytest.mark.skipif("DECENT_BENCH_PYTHON" not in os.environ, reason="needs DECENT_BENCH_PYTHON, as --python of run.py")
def test_decent_bench_computes_the_iterates_of_hearsay(case):
    with decent_bench(Path(os.environ["DECENT_BENCH_PYTHON"]), case.arrays) as peer:
        assert deviation(case, peer.run) < 1e-12
        assert peer.run("dsgt", 4).ms > 0
