"""Tables of runs go into figures and tables, whole or filtered, from folders and archives."""

import json
import re
import shutil
import warnings
from pathlib import Path

import matplotlib
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import hearsay
from analysis.archive import main as pack
from analysis.results.archive import read_archive, write_archive
from bench.store.files import write_json
from hearsay.reading import results_of
from hearsay.stored import check_stored

pytestmark = pytest.mark.xdist_group("hearsay_reading")  # one process makes the runs
QUICK = {"steps": 20, "eval_every": 10, "engine": "stacked", "tracker": "none", "quiet": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("reading")


@pytest.fixture(scope="module")
def runs(place):
    grid = {"algo.eta": [0.001, 0.01, 0.1]}
    return hearsay.sweep(grid, algo=["dsgd", "dsgt"], topology=["ring", "complete"], results=place / "a", **QUICK)


@pytest.fixture(scope="module")
def archive(runs, place):
    assert pack([str(place / "a"), str(place / "packed")]) == 0
    return place / "packed"


def test_load_returns_the_table_of_the_sweep(runs, place):
    found = hearsay.load(place / "a").sort_values(["run_id", "step"], ignore_index=True)
    pd.testing.assert_frame_equal(found[runs.columns], runs.sort_values(["run_id", "step"], ignore_index=True))


def test_load_reads_archives(runs, archive):
    found = hearsay.load(archive)
    assert set(found["run_id"]) == set(runs["run_id"])
    assert set(found["folder"]) == {str(archive)}
    assert results_of(found[found["algo"] == "dsgt"]).runs["algo"].unique().tolist() == ["dsgt"]


def test_a_filtered_table_selects_the_runs_of_a_figure(runs):
    before = dict(matplotlib.rcParams)
    chosen = runs[(runs["topology"] == "ring") & (runs["algo"] == "dsgt")]
    assert set(results_of(chosen).runs["run_id"]) == set(chosen["run_id"])
    figure = hearsay.figure("stepsize", chosen)
    assert isinstance(figure, Figure)
    assert len([ax for ax in figure.axes if ax.get_visible()]) == 1
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", ["curves", "graphs"])
def test_a_label_that_is_no_formula_is_drawn_literally(runs, place, tmp_path, name):
    for run in runs["run_id"].unique()[:2]:
        shutil.copytree(place / "a" / "runs" / run, tmp_path / "runs" / run)
        summary = tmp_path / "runs" / run / "summary.json"
        write_json(summary, {**json.loads(summary.read_bytes()), "topology": "$\\frac{$"})
    texts = hearsay.figure(name, tmp_path).findobj(Text)
    assert any("frac" in text.get_text() and not text.get_parse_math() for text in texts)


def test_runs_of_two_folders_are_drawn_together(runs, place, archive):
    other = hearsay.sweep(algo="dnasa", results=place / "b", **QUICK)
    both = pd.concat([hearsay.load(archive), other])
    assert set(results_of(both).runs["run_id"]) == {*runs["run_id"], *other["run_id"]}
    assert set(hearsay.table("final", both)["algo"]) == {"dnasa", "dsgd", "dsgt"}


def test_rejects_a_run_with_other_results_in_two_places(runs, place, archive):
    copy = hearsay.load(archive)
    assert set(results_of(pd.concat([runs, copy])).runs["run_id"]) == {*runs["run_id"]}
    results = read_archive(archive)
    run = results.runs["run_id"].iloc[-1]
    results.rows.loc[results.rows["run_id"] == run, "test_loss"] *= 1.1
    write_archive(results, place / "edited")
    edited = hearsay.load(place / "edited")
    for both in (pd.concat([runs, edited]), pd.concat([edited, runs])):
        for make in (hearsay.table, hearsay.figure):
            with pytest.raises(hearsay.UserError, match=rf"{run} .*{place / 'edited'}"):
                make("final" if make is hearsay.table else "compare", both)
    assert results_of(pd.concat([runs, edited[edited["run_id"] != run]])).rows["test_loss"].notna().all()


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (lambda runs: runs[runs["step"] <= 10], "1 evaluations"),
        (lambda runs: runs.drop_duplicates("run_id"), "2 evaluations"),
        (lambda runs: runs[runs["step"] != 10].assign(algo="mine"), "1 evaluations"),
        (lambda runs: runs.assign(step=runs["step"] + (runs["step"] == 20)), "lacks 1"),
        (lambda runs: pd.concat([runs, runs.assign(step=40)]), "40"),
        (lambda runs: runs.assign(test_loss=0.0), "test_loss = 0.0"),
        (lambda runs: runs.assign(test_loss=None), "test_loss = None"),
        (lambda runs: runs.assign(algo="mine"), "mine"),
        (lambda runs: runs.astype({"topology": object}).replace({"topology": {"ring": "Ring"}}), "Ring"),
        (lambda runs: runs.assign(run_id=runs["run_id"] + "0"), "0"),
        (lambda runs: runs.drop(columns="step"), "step"),
    ],
)
@pytest.mark.parametrize("source", ["folder", "archive"])
def test_rejects_tables_without_the_stored_evaluations(runs, archive, source, edit, shown):
    edited = edit(runs if source == "folder" else hearsay.load(archive))
    with pytest.raises(hearsay.UserError, match=shown):
        hearsay.table("final", edited)
    with pytest.raises(hearsay.UserError, match=shown):
        hearsay.figure("curves", edited)


@pytest.mark.parametrize(
    "edit",
    [
        lambda runs: runs.assign(mine=1.0),
        lambda runs: runs.drop(columns=["test_loss", "topology"]),
        lambda runs: pd.concat([runs, runs]).sample(frac=1, random_state=0),
        lambda runs: runs.astype({"algo": "category", "seed": float}),
        lambda runs: pd.concat([runs, runs[:0].assign(other=0.0)]).astype(object),
    ],
)
def test_accepts_tables_with_the_stored_evaluations(runs, edit):
    pd.testing.assert_frame_equal(hearsay.table("final", edit(runs)), hearsay.table("final", runs))


def test_a_run_without_evaluations_is_complete():
    stored = pd.DataFrame({"run_id": ["a"], "folder": ["runs/a"], "step": [None], "state": ["failed"]})
    check_stored(pd.concat([stored, stored.assign(run_id="b", step=3)]), stored)
    with pytest.raises(hearsay.UserError, match="done"):
        check_stored(stored.assign(state="done"), stored)


@pytest.mark.parametrize("name", ["from", "seed (given)", "seed (stored)", "given 0", "_left_indicator", "_merge"])
def test_labels_and_metrics_may_have_any_name(name):
    stored = pd.DataFrame({"run_id": ["a", "a"], "folder": "runs/a", "step": [0, 1], "seed": 3, name: 0.5})
    check_stored(stored, stored)
    check_stored(stored.drop(columns="seed"), stored)
    for column in ("seed", name):
        with pytest.raises(hearsay.UserError, match=rf"{re.escape(column)} = 7\b"):
            check_stored(stored.assign(**{column: 7}), stored)
    with pytest.raises(hearsay.UserError, match="lacks 1"):
        check_stored(stored[:1], stored)


def test_rejects_runs_that_are_no_longer_there(runs, tmp_path):
    shutil.copytree(Path(runs["folder"][0]).parent.parent, tmp_path / "copy")
    found = hearsay.load(tmp_path / "copy")
    shutil.rmtree(found["folder"][0])
    with pytest.raises(hearsay.UserError, match=found["run_id"][0]):
        hearsay.table("final", found)


def test_table_returns_numbers_or_cells(runs):
    numbers = hearsay.table("final", runs)
    cells = hearsay.table("final", runs, formatted=True, columns=["method", "η"])
    some = hearsay.table("final", runs, columns=["algo", "test_accuracy"])
    assert some.equals(numbers[["algo", "test_accuracy"]])
    assert len(numbers) == len(cells) == 4
    assert numbers["test_loss"].dtype.kind == "f"
    assert list(cells.columns) == ["method", "η"]
    assert numbers.attrs["notes"]


def test_a_folder_will_do_for_runs(runs, place):
    assert isinstance(hearsay.figure("compare", place / "a", metric="train_loss", x="bytes", band="none"), Figure)


def test_warns_about_an_ignored_option(runs):
    with pytest.warns(UserWarning, match="x is ignored"):
        hearsay.figure("stepsize", runs, x="bytes")


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (lambda runs: hearsay.figure("stepsiz", runs), "stepsiz"),
        (lambda runs: hearsay.figure("stepsize", runs, band="iqr"), "iqr"),
        (lambda runs: hearsay.figure("curves", runs, x="miles"), "miles"),
        (lambda runs: hearsay.figure("curves", runs, colour="red"), "colour"),
        (lambda runs: hearsay.figure("curves", runs.drop(columns="folder")), "folder"),
        (lambda runs: hearsay.figure("curves", runs[runs["algo"] == "x"]), "no rows"),
        (lambda runs: hearsay.figure("slow_node", runs), "slow_node"),
        (lambda runs: hearsay.table("finale", runs), "finale"),
        (lambda runs: hearsay.table("final", runs, columns=["metod"]), "metod"),
        (lambda runs: hearsay.load("nowhere"), "nowhere"),
        (lambda runs: hearsay.load(5), "5"),
        (lambda runs: hearsay.figure("compare", None), "None"),
        (lambda runs: hearsay.table("final", [runs]), "got"),
        (lambda runs: hearsay.table("final", pd.concat([runs, runs[:1].assign(folder=None)])), "folder"),
        (lambda runs: hearsay.table("final", pd.concat([runs, runs[:1].drop(columns="run_id")])), "run_id"),
    ],
)
def test_errors_are_user_errors_with_the_value(runs, call, shown):
    with warnings.catch_warnings(), pytest.raises(hearsay.UserError, match=shown):
        call(runs)


def test_warns_about_unreadable_runs(runs, tmp_path):
    folder = Path(runs["folder"][0])
    shutil.copytree(folder.parent.parent, tmp_path / "copy")
    (tmp_path / "copy/runs" / folder.name / "metrics.parquet").write_bytes(b"")
    with pytest.warns(UserWarning, match=folder.name):
        found = hearsay.load(tmp_path / "copy")
    assert found.attrs["unreadable"] == [folder.name]
    assert set(found["run_id"]) == set(runs["run_id"]) - {folder.name}


def test_the_options_of_pandas_stay(runs, place):
    before = pd.get_option("mode.string_storage")
    hearsay.load(place / "a")
    assert pd.get_option("mode.string_storage") == before
