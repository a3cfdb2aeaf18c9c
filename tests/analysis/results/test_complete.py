"""A finished run without its last evaluations is skipped and named, wherever it comes from."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import load
from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.results.read import read
from analysis.results.warnings import unreadable
from bench.store.files import sha256
from bench.store.record import cut_short
from bench.sweep.sweep import run_all
from bench.terminal.console import Console
from tests.analysis.results.test_selected import made
from tests.faults.harm_forged import sealed
from tests.helpers.configs import config
from tests.helpers.mentions import mentions
from tests.helpers.wandb_runs import ROWS, loaded, wandb_run


@pytest.mark.parametrize(
    ("state", "last", "recorded", "complete"),
    [
        ("done", 5, None, True),
        ("done", 5, 5, True),
        ("done", 0, None, False),
        ("diverging", 4, None, False),
        ("done", 0, 5, False),
        ("done", 0, 0, False),
        ("nonfinite", 3, None, True),
        ("nonfinite", 3, 3, True),
        ("nonfinite", 2, 3, False),
        ("running", 2, 3, True),
        ("done", 5, "\x1b" * 99, False),
    ],
)
def test_compares_the_last_evaluation_with_the_end_of_the_run(state, last, recorded, complete):
    assert (cut_short({"state": state, "steps": 5}, last, recorded) is None) == complete


def test_skips_a_wandb_run_without_its_last_rows(monkeypatch):
    early = wandb_run("early", ROWS[:1], "nonfinite", step=2)
    found = loaded(monkeypatch, wandb_run("good"), wandb_run("short", ROWS[:1]), early)
    assert [*found.runs["run_id"]] == [*found.finals["run_id"]] == ["good"]
    assert found.unreadable == ["short", "early"]
    assert mentions(unreadable(found)[0], "short", "step 0", "step 2", "early")
    with pytest.raises(NoData, match="short"):
        loaded(monkeypatch, wandb_run("short", ROWS[:1]))


def test_an_archive_without_the_last_rows_of_a_run_has_only_the_others(tmp_path):
    some = made(8, 16)
    last = some.rows.groupby("run_id")["step"].transform("max")
    short = some.runs["run_id"].iloc[0]
    object.__setattr__(some, "rows", some.rows[(some.rows["run_id"] != short) | (some.rows["step"] < last)])
    write_archive(some, tmp_path)
    found = read_archive(tmp_path)
    assert found.unreadable == load(tmp_path).attrs["unreadable"] == [short]
    assert short not in {*found.runs["run_id"], *found.rows["run_id"]}
    assert len(found.runs) == 1
    assert mentions(unreadable(found)[0], short)


@pytest.mark.parametrize("harm", ["short", "twice", "negative", "large"])
def test_a_run_folder_with_other_steps_than_the_run_is_unreadable(tmp_path, harm):
    assert run_all([config(results=str(tmp_path))], Console(quiet=True), "by -m") == 0
    run = next((tmp_path / "runs").iterdir())
    other = shutil.copytree(run, run.with_name("short"))
    table, summary = pq.read_table(other / "metrics.parquet"), json.loads((other / "summary.json").read_bytes())
    steps = table["step"].to_numpy()
    table = table.slice(0, len(table) - 1) if harm == "short" else table
    steps = {"short": steps[:-1], "twice": [0, *steps[:-2], steps[-1]], "negative": [-1, *steps[1:]]}.get(
        harm, [*steps[:-1], 1 << 31]
    )
    pq.write_table(table.set_column(0, "step", pa.array(steps, pa.int64())), other / "metrics.parquet")
    summary["sha256"]["metrics.parquet"] = sha256((other / "metrics.parquet").read_bytes())
    sealed(other / "summary.json", {**summary, "run_id": "short"})
    sealed(other / "manifest.json", {**json.loads((run / "manifest.json").read_bytes()), "run_id": "short"})
    assert read(tmp_path).unreadable == ["short"]
    assert [*read(tmp_path).runs["run_id"]] == [run.name]
