"""Names that are a metric of one run and a label of others: the clash costs the odd run alone."""

import json
import shutil
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis import load
from analysis.results import from_wandb, index
from analysis.results.archive import ROWS, RUNS, read_archive, write_archive
from analysis.results.duplicates import together
from analysis.results.errors import NoData
from analysis.results.read import read
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from bench.base.errors import UserError
from bench.store.files import sha256
from bench.store.integrity import examine
from bench.sweep.sweep import run_all
from bench.terminal.console import Console
from bench.training.metrics import metric
from tests.faults.harm_forged import sealed
from tests.helpers.archives import without_digests
from tests.helpers.configs import config


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    runs = [
        config(results=str(folder), algo={"name": "dsgd", "eta": eta}, seed=s) for eta in (0.1, 0.2) for s in (0, 1)
    ]
    assert run_all(runs, Console(quiet=True), "by -m") == 0
    return folder


@pytest.fixture
def results(made, tmp_path):
    return shutil.copytree(made, tmp_path / "results")


def forge(results, column=None, without=(), name="evil", **labels):
    """Add a copy of a run with another seed, other labels and one more metric."""
    run = shutil.copytree(min((results / "runs").iterdir()), results / "runs" / name)
    summary, manifest = (json.loads((run / file).read_bytes()) for file in ("summary.json", "manifest.json"))
    if column:
        table = pq.read_table(run / "metrics.parquet")
        pq.write_table(table.append_column(column, pa.array([0.5] * len(table))), run / "metrics.parquet")
        summary["sha256"]["metrics.parquet"] = sha256((run / "metrics.parquet").read_bytes())
    kept = {key: value for key, value in summary.items() if key not in without}
    sealed(run / "summary.json", {**kept, "run_id": name, "seed": 9, **labels})
    sealed(run / "manifest.json", {**manifest, "run_id": name})


def final(results):
    return table_makers()["final"].table(read(results), FigureOptions()).data


@pytest.mark.parametrize("many", [1, 500], ids=["index", "folders"])
@pytest.mark.parametrize("name", ["eta", "batch_size", "fingerprint", "rho", "index", "algo.rho", "schedule"])
def test_a_metric_called_as_a_label_of_others_costs_its_run(results, monkeypatch, name, many):
    monkeypatch.setattr(index, "MANY", many)
    before, table = final(results), load(results)
    forge(results, name, without=[name])
    for _ in range(2):  # the second time from the index
        assert read(results).unreadable == load(results).attrs["unreadable"] == ["evil"]
        pd.testing.assert_frame_equal(final(results), before)
        pd.testing.assert_frame_equal(load(results), table)


def test_a_label_called_as_a_metric_of_others_costs_its_run(results):
    for number in range(2):
        forge(results, "traveled", name=f"plugin{number}")
    forge(results, traveled=1.0)
    assert read(results).unreadable == ["evil"]
    assert list(read(results).measures) == ["traveled"]


@pytest.mark.parametrize("name", ["rho", "eta", "fingerprint"])
def test_rejects_an_archive_with_a_metric_of_a_reserved_name(made, tmp_path, name):
    write_archive(read(made).where([("eta", ["0.1"])]), tmp_path)
    pd.read_parquet(tmp_path / ROWS).assign(**{name: 1.0}).to_parquet(tmp_path / ROWS, index=False)
    with pytest.raises(NoData, match="evaluations"):
        read_archive(without_digests(tmp_path))


def test_does_not_merge_results_whose_names_clash(made, results):
    forge(results, "size")
    other = read(made)
    object.__setattr__(other, "runs", other.runs.assign(size=1.0, run_id=[f"other{n}" for n in other.runs.index]))
    with pytest.raises(NoData, match="'size'"):
        together([other, read(results)])


@pytest.mark.parametrize("name", ["rho", "eta", "fingerprint", "algo"])
def test_rejects_a_metric_of_a_reserved_name(name):
    with pytest.raises(UserError, match=name):
        metric(name)


def test_skips_a_wandb_run_whose_metric_is_a_label_of_others(monkeypatch):
    label = {"algo": "dsgd", "topology": "ring", "dataset": "digits", "seed": 0, "nodes": 4, "steps": 2, "size": 1.0}
    runs = [
        SimpleNamespace(
            config={key: value for key, value in {**label, "run_id": name}.items() if key not in row},
            summary={"state": "done"},
            state="finished",
            history=lambda row=row, **_: [{"step": 2, **row}],
        )
        for name, row in {"a": {}, "b": {"size": 2.0}, "c": {"eta": 2.0}, "d": {}}.items()
    ]
    monkeypatch.setattr(from_wandb, "unreachable", lambda: None)
    monkeypatch.setattr(from_wandb.wandb, "Api", lambda **_: SimpleNamespace(runs=lambda *_, **__: runs))
    found = from_wandb.load_wandb("me/project")
    assert [*found.runs["run_id"]] == [*found.rows["run_id"]] == ["a", "d"]
    assert found.unreadable == ["b", "c"]


@pytest.mark.parametrize("name", ["rho", "fingerprint", "index"])
def test_a_label_under_two_names_costs_its_run(results, name):
    before = final(results)
    forge(results, **{name: 1.0, f"algo.{name}": 2.0})
    assert name in examine(results / "runs" / "evil").sentence()
    assert read(results).unreadable == ["evil"]
    pd.testing.assert_frame_equal(final(results), before)


def test_an_option_may_have_its_old_name_in_some_runs_and_its_new_one_in_others(results):
    forge(results, name="old", rho=1.0)
    forge(results, name="new", **{"algo.rho": 2.0, "seed": 10})
    runs = read(results).runs.set_index("run_id")
    assert (runs.loc["old", "algo.rho"], runs.loc["new", "algo.rho"]) == (1.0, 2.0)
    assert "rho" not in runs
    assert len(final(results))


def test_rejects_an_archive_with_a_label_under_two_names(made, tmp_path):
    write_archive(read(made), tmp_path)
    runs = pd.read_parquet(tmp_path / RUNS)
    runs.assign(**{"rho": [1.0] + [None] * 3, "algo.rho": 2.0}).to_parquet(tmp_path / RUNS, index=False)
    with pytest.raises(NoData, match=r"algo\.rho"):
        read_archive(without_digests(tmp_path))


def test_an_archive_may_have_an_option_called_as_its_own_column(made, tmp_path):
    found = read(made)
    object.__setattr__(found, "runs", found.runs.assign(**{"algo.fact": 1.0}))
    write_archive(found, tmp_path)
    assert set(read_archive(tmp_path).runs["algo.fact"]) == {1.0}
