"""A sweep hands its results to whoever asked for it: a search is a loop over sweeps."""

import pytest
from rich.console import Console

from bench.base.errors import UserError
from bench.sweep.sweep import run_sweep
from tests.helpers.configs import config

QUIET = Console(quiet=True)


def ask(etas, results, **more):
    chosen = [config(algo={"name": "dsgd", "eta": eta}, results=str(results), steps=20, **more) for eta in etas]
    return run_sweep(chosen, QUIET)


def test_a_search_asks_runs_and_asks_again(tmp_path):
    """Halving an interval around the best η: what was asked before is not made again."""
    low, high, asked = 0.001, 0.5, set()
    for _ in range(3):
        middle = (low * high) ** 0.5
        found = ask([low, middle, high], tmp_path)
        assert [result.config.algo.options["eta"] for result in found] == [low, middle, high]
        assert all(result.state == result.summary["state"] == "done" and result.error is None for result in found)
        asked |= {result.path.name for result in found}
        if found[0].summary["test_loss"] < found[2].summary["test_loss"]:
            high = middle
        else:
            low = middle
    assert len(asked) == 5  # three, and one more each time
    assert {path.name for path in (tmp_path / "runs").iterdir()} == asked


def test_what_failed_and_what_diverged_are_told_apart(tmp_path):
    wild = config(algo={"name": "dsgd", "schedule": "constant", "eta": 1e200}, results=str(tmp_path))
    impossible = config(dataset={"name": "quadratics", "dimension": 10**9}, results=str(tmp_path))
    first, second = run_sweep([wild, impossible], QUIET)
    assert (first.state, first.error) == ("nonfinite", None)
    assert second.state == "failed"
    assert second.error
    assert second.summary["algo"] == "dnasa"
    assert "test_loss" not in second.summary


@pytest.mark.parametrize("file", ["runs.parquet", "runs/runs.parquet"])
def test_an_archive_is_no_results_folder(file, tmp_path):
    """Its runs would hide those of the sweep from figures and tables."""
    (tmp_path / "runs").mkdir()
    (tmp_path / file).write_bytes(b"")
    with pytest.raises(UserError, match=r"archive\.py"):
        ask([0.1], tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["runs.parquet"]
