"""Runs that diverged, and that an older version stored as done."""

import numpy as np
import pytest

from analysis import load
from analysis.claims.cases import per_seed
from analysis.report.page import trouble
from analysis.results.archive import write_archive
from analysis.results.read import read
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.statistics import report
from analysis.study.tuning import some_diverged
from analysis.tables import table_makers
from bench.store import run_folder
from bench.sweep.sweep import run_all
from bench.terminal.console import Console
from tests.helpers.configs import config
from tests.helpers.invented import made
from tests.helpers.run_folders import folders, state

LARGE = 3.0
"""A stepsize at which D-SGD diverges."""


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """Two stepsizes with two seeds each, stored by a version that called all of them done."""
    folder = tmp_path_factory.mktemp("older")
    algos = [{"name": "dsgd", "schedule": "constant", "eta": eta} for eta in (0.03, LARGE)]
    runs = [config(algo=algo, nodes=8, steps=20, seed=seed, results=str(folder)) for algo in algos for seed in (0, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_folder, "final_state", lambda state, rows: state)
        assert run_all(runs, Console(quiet=True)) == 0
    assert [state(one)["state"] for one in folders(folder)] == ["done"] * 4
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_every_reader_gives_them_the_present_state(older, packed, tmp_path):
    source = older
    if packed:  # with the states of the older version
        results = read(older)
        object.__setattr__(results, "runs", results.runs.assign(state="done"))
        write_archive(results, source := tmp_path / "archive")
    for table in (load(source), read(source).runs, read(source).finals, read(source).where([("seed", ["0"])]).runs):
        assert set(table.loc[table["eta"] == LARGE, "state"]) == {"diverging"}
        assert set(table.loc[table["eta"] != LARGE, "state"]) == {"done"}
    assert [one["state"] for one in trouble(read(source))] == ["diverging"] * 2
    assert len(read(source).where([("state", ["diverging"])]).runs) == 2


def test_a_table_counts_them_and_has_no_mean_of_their_losses(older):
    table = table_makers()["configurations"].table(read(older), FigureOptions(metrics=["train_loss"])).data
    gone = table.set_index("eta").loc[LARGE]
    assert (gone["runs"], gone["diverging"]) == (2, 2)
    assert np.isnan(gone["train_loss"])


def tuned(**last) -> Results:
    """Two stepsizes with three seeds; the larger has the better accuracies, and these labels and numbers."""
    rows = [{"algo": "a", "eta": eta, "seed": k, "end": 0.5, "accuracy": 80.0} for eta in (0.1, 1.0) for k in range(3)]
    return made([{**row, **(last if row["eta"] == 1.0 else {}), "accuracy": 80.0 + row["eta"]} for row in rows])


def test_their_setting_is_never_the_best_and_no_claim_uses_their_numbers():
    finals = tuned(train=4e31).finals
    assert report(finals, ["eta"]).best.values == {"eta": 0.1}
    assert report(tuned().finals, ["eta"]).best.values == {"eta": 1.0}
    assert per_seed(finals[finals["eta"] == 1.0], "test_loss").isna().all()
    assert some_diverged(finals)


@pytest.mark.parametrize(("state", "train"), [("nonfinite", 4e31), ("failed", 4e31), ("done", 90.0)])
def test_other_states_stay(state, train):
    runs = tuned(state=state, train=train).runs
    assert set(runs.loc[runs["eta"] == 1.0, "state"]) == {state}
