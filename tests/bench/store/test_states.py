"""What a run is called at its end."""

import errno
import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from bench.base.evaluation import DIVERGING_FROM, final_state
from bench.store.record import FINAL, STATES
from bench.sweep.states import states_of
from bench.sweep.sweep import run_all
from tests.helpers.cli import ROOT
from tests.helpers.configs import config
from tests.helpers.readers import status_of
from tests.helpers.run_folders import folders, state


@pytest.mark.parametrize(
    ("first", "last", "state"),
    [
        (2.0, 2.0 * (1 + DIVERGING_FROM) - 1e-9, "done"),
        (2.0, 2.0 * (1 + DIVERGING_FROM) + 1e-9, "diverging"),
        (2e-9, 1e-6, "diverging"),
        (-2.0, -2.0 + 2 * DIVERGING_FROM, "done"),
        (-2.0, -1.9 + 2 * DIVERGING_FROM, "diverging"),
        (2.0, -1e9, "done"),
        (0.0, 1.0, "done"),
    ],
)
def test_a_loss_that_rose_a_hundredfold_is_no_success(first, last, state):
    rows = [{"train_loss": first}, {"train_loss": 1e30}, {"train_loss": last}]
    assert final_state("done", rows) == state
    assert final_state("nonfinite", rows) == "nonfinite"


def test_docs_results_defines_every_state():
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert all(f"| `{state}` | {meaning} |" in page for state, meaning in STATES.items())
    assert set(FINAL) < set(STATES)


def test_a_diverging_run_is_a_result(tmp_path):
    algo = {"name": "dsgd", "schedule": "constant"}
    runs = [config(algo={**algo, "eta": eta}, nodes=8, steps=20, results=str(tmp_path)) for eta in (0.03, 3.0)]
    for shown in ("diverging at step 20", "diverging before"):
        sink = io.StringIO()
        assert run_all(runs, Console(file=sink, width=200)) == 0
        assert shown in sink.getvalue()
    assert sorted(state(folder)["state"] for folder in folders(tmp_path)) == ["diverging", "done"]
    assert all(count in status_of(tmp_path) for count in ("1 done", "1 diverging"))


def test_a_run_that_may_not_be_read_is_not_missing(tmp_path, monkeypatch):
    run = config(results=str(tmp_path))
    (tmp_path / "runs" / run.run_id).mkdir(parents=True)
    assert states_of(tmp_path / "runs", [run])[run.run_id]["state"] == "missing"
    lstat = os.lstat

    def denied(path, **how):
        if Path(path).parent.name == run.run_id:
            raise PermissionError(errno.EACCES, "denied", str(path))
        return lstat(path, **how)

    monkeypatch.setattr(os, "lstat", denied)
    assert states_of(tmp_path / "runs", [run])[run.run_id]["state"] == "unreadable"
