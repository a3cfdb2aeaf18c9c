"""A sweep from Python: the runs, the table and the errors of the command line."""

import errno
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch

import bench.sweep.sweep
import bench.sweep.workers
import hearsay
import hearsay.plugins
from bench.config.plan import of_command
from bench.store.files import write_json
from bench.store.run_folder import RunFolder as Run
from bench.sweep.sweep import Result

pytestmark = pytest.mark.xdist_group("hearsay_sweep")  # one process makes the runs
QUICK = {"steps": 20, "eval_every": 10, "engine": "stacked", "tracker": "none"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("sweep")


@pytest.fixture(scope="module")
def runs(place):
    return hearsay.sweep(algo=["dnasa", "dsgt"], topology=["ring", "complete"], results=place, quiet=True, **QUICK)


def test_the_runs_are_those_of_the_command_line(runs, place):
    words = ["algo=dnasa,dsgt", "topology=ring,complete", *(f"{name}={value}" for name, value in QUICK.items())]
    assert list(runs["run_id"].unique()) == [config.run_id for config in of_command(words)]
    assert sorted(path.name for path in (place / "runs").iterdir() if path.is_dir()) == sorted(runs["run_id"].unique())


def test_the_table_has_one_row_per_evaluation_and_the_folder(runs):
    assert runs.groupby("run_id")["step"].apply(list).tolist() == [[0, 10, 20]] * 4
    assert set(runs["state"]) == {"done"}
    for folder, mine in runs.groupby("folder"):
        summary = json.loads(Path(folder, "summary.json").read_text())
        assert summary["train_loss"] == mine["train_loss"].iloc[-1]
        assert summary["algo"] == mine["algo"].iloc[0]


def test_a_repeated_sweep_uses_the_finished_runs(runs, place, capsys):
    again = hearsay.sweep(algo=["dnasa", "dsgt"], topology=["ring", "complete"], results=place, **QUICK)
    assert capsys.readouterr().out.count("done before") == 4
    pd.testing.assert_frame_equal(runs, again)


def test_dotted_settings_stand_in_a_dictionary(place):
    made = hearsay.sweep({"algo.eta": [0.1, 0.2]}, algo="dsgd", results=place, quiet=True, **QUICK)
    assert list(made["eta"].unique()) == [0.1, 0.2]


def test_runs_of_different_software_are_named_by_a_quiet_sweep_and_by_a_table(tmp_path, recwarn):
    settings = {"algo": ["dsgd", "dnasa"], "results": tmp_path, **QUICK}
    made = hearsay.sweep(settings, quiet=True)
    assert not recwarn.list
    manifest = Path(made["folder"].iloc[0], "manifest.json")
    said = json.loads(manifest.read_bytes())
    write_json(manifest, {**said, "versions": {**said["versions"], "torch": "1.0"}})
    with pytest.warns(UserWarning, match=r"torch 1\.0"):
        hearsay.sweep(settings, quiet=True)
    with pytest.warns(UserWarning, match=r"torch 1\.0"):
        table = hearsay.table("configurations", tmp_path)
    assert any("torch" in note for note in table.attrs["notes"])


def test_threads_can_make_sweeps_at_the_same_time(runs, tmp_path):
    def made(algo):
        return hearsay.sweep(algo=algo, topology="ring", results=tmp_path / algo, quiet=True, **QUICK)

    names = ["dnasa", "dsgt"]
    with ThreadPoolExecutor(len(names)) as pool:
        for name, table in zip(names, pool.map(made, names), strict=True):
            alone = runs[(runs["algo"] == name) & (runs["topology"] == "ring")]
            assert table["train_loss"].tolist() == alone["train_loss"].tolist()


def test_autocast_of_the_caller_changes_nothing(runs, tmp_path):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = hearsay.sweep(algo="dsgt", topology="ring", results=tmp_path, quiet=True, **QUICK)
        assert torch.is_autocast_enabled("cpu")
    alone = runs[(runs["algo"] == "dsgt") & (runs["topology"] == "ring")]
    assert made["train_loss"].tolist() == alone["train_loss"].tolist()


def test_quiet_prints_nothing(place, capsys):
    hearsay.sweep(algo="dnasa", results=place, quiet=True, **QUICK)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"algo": ["dnasa", "dnas"]}, "dnas"),
        ({"stepz": 3}, "stepz"),
        ({"steps": -1}, "-1"),
        ({"algo.eta": [0.1], "algo": "dnasa"}, "eta"),
        ({"algo": []}, "algo"),
        ({"algo": "d2", "dtype": "float32"}, "d2"),
    ],
)
def test_rejects_invalid_settings_before_any_run(settings, shown, tmp_path):
    with pytest.raises(hearsay.UserError, match=shown):
        hearsay.sweep({**QUICK, **settings}, results=tmp_path)
    assert not (tmp_path / "runs").exists()


def test_rejects_a_setting_that_is_given_twice():
    with pytest.raises(hearsay.UserError, match="algo"):
        hearsay.sweep({"algo": "dnasa"}, algo="dsgd")


def test_skips_and_reports_incompatible_combinations(tmp_path, capsys):
    made = hearsay.sweep(algo=["dsgd", "sgp"], topology="random_digraph", results=tmp_path, quiet=True, **QUICK)
    assert set(made["algo"]) == {"sgp"}
    assert "dsgd" in capsys.readouterr().err


def test_a_failed_run_has_one_row_and_the_others_go_on(tmp_path, monkeypatch):
    from algorithms.dsgt import DSGT

    def fail(*given):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(DSGT, "step", fail)
    with pytest.warns(UserWarning, match="broken on purpose"):
        made = hearsay.sweep(algo=["dsgt", "dnasa"], results=tmp_path, quiet=True, **QUICK)
    (failed,) = made[made["state"] == "failed"].to_dict("records")
    assert failed["algo"] == "dsgt"
    assert set(made.loc[made["algo"] == "dnasa", "state"]) == {"done"}
    with pytest.warns(UserWarning, match="1 failed run"):
        hearsay.figure("compare", made)


def test_a_run_that_another_command_finished_with_other_source_is_failed(runs, place, monkeypatch):
    """Its folder has the state done, with numbers of the other source."""
    for module in (bench.sweep.sweep, bench.sweep.workers):
        monkeypatch.setattr(module, "reusable", lambda run: run.config.algo.name == "dnasa")
    monkeypatch.setattr(bench.sweep.workers, "conflict", lambda run: "another version" if run.final else None)
    with pytest.warns(UserWarning, match=r"dsgt-.* another version"):
        made = hearsay.sweep(algo=["dnasa", "dsgt", "dsgd"], topology="ring", results=place, quiet=True, **QUICK)
    assert list(made["algo"]) == ["dnasa"] * 3 + ["dsgt"] + ["dsgd"] * 3
    (failed,) = made[made["algo"] == "dsgt"].to_dict("records")
    assert failed["state"] == "failed"
    assert pd.isna(failed["train_loss"])
    assert failed["folder"] in set(runs["folder"])
    with pytest.raises(hearsay.UserError, match=failed["run_id"]):
        hearsay.figure("compare", made)
    assert list(hearsay.table("final", made[made["state"] != "failed"])["algo"]) == ["dnasa", "dsgd"]


@pytest.mark.parametrize("before", [True, False])
def test_a_run_on_a_full_disk_is_failed(tmp_path, monkeypatch, before):
    """Its folder has an earlier result, or does not exist."""

    def full(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if before:
        hearsay.sweep(algo="dnasa", results=tmp_path, quiet=True, **QUICK)
    for name in ("begin", "fail"):
        monkeypatch.setattr(Run, name, full)
    with pytest.warns(UserWarning, match="dnasa-"):
        made = hearsay.sweep(algo="dnasa", results=tmp_path, quiet=True, force=True, **QUICK)
    assert list(made["state"]) == ["failed"]
    assert "step" not in made or made["step"].isna().all()


def test_warns_about_a_run_that_another_command_has_changed(place, monkeypatch):
    hearsay.sweep(algo="dnasa", results=place, quiet=True, **QUICK)
    told = Result.changed
    monkeypatch.setattr(Result, "changed", lambda self: told(replace(self, summary={**self.summary, "step": -1})))
    with pytest.warns(UserWarning, match="dnasa-"):
        hearsay.sweep(algo="dnasa", results=place, quiet=True, **QUICK)


@pytest.mark.parametrize(
    "place", ["~/mine", Path("~/mine"), "${oc.env:HOME}/mine", ["~/mine", "other"]], ids=["text", "path", "env", "list"]
)
def test_cells_are_stored_in_the_results_folder_of_the_runs(place, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folders = []

    def register(folder, words):
        folders.append(folder)
        raise hearsay.UserError("no runs")

    monkeypatch.setattr(hearsay.plugins, "register_cells", register)
    with pytest.raises(hearsay.UserError, match="no runs"):
        hearsay.sweep(algo="dnasa", results=place, **QUICK)
    assert folders == [tmp_path / "mine"]


def test_works_in_a_thread(place):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(hearsay.sweep(algo="dnasa", results=place, quiet=True, **QUICK))
    )
    thread.start()
    thread.join()
    assert set(found[0]["state"]) == {"done"}
