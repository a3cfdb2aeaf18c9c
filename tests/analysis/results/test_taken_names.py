"""Options of methods whose names stand for something else as well: a metric, a column of the analysis."""

from dataclasses import replace

import pandas as pd
import pytest

from analysis import load
from analysis.figures import drawings
from analysis.results.archive import read_archive, write_archive
from analysis.results.read import read
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from bench.base.registry import algorithms, discover
from bench.store.record import SHOWN
from bench.sweep.sweep import run_all
from bench.terminal.console import Console
from tests.helpers.configs import config


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two values of the option ``rounds``, which is the name of a metric, too."""
    folder = tmp_path_factory.mktemp("results")
    runs = [
        config(results=str(folder), algo={"name": "mg_dsgd", "rounds": rounds, "eta": 0.1}, seed=seed)
        for rounds in (2, 3)
        for seed in (0, 1, 2)
    ]
    assert run_all(runs, Console(quiet=True), "by -m") == 0
    return folder


def test_an_option_called_as_a_metric_has_its_prefix(results):
    labels = config(algo={"name": "mg_dsgd", "rounds": 2, "eta": 0.1}).labels()
    assert labels["algo.rounds"] == 2
    assert "rounds" not in labels
    table = load(results)
    assert set(table["algo.rounds"]) == {2, 3}
    assert table.groupby("algo.rounds")["rounds"].max().nunique() == 2  # the metric, counted by the ledger


def test_settings_that_differ_in_it_are_not_pooled(results):
    configurations = table_makers()["configurations"].table(read(results), FigureOptions()).data
    assert sorted(configurations["algo.rounds"]) == [2, 3]
    final = table_makers()["final"].table(read(results), FigureOptions())
    assert list(final.data["runs"]) == [3]
    assert list(final.data["algo.rounds"]) in ([2], [3])


def test_an_archive_has_it(results, tmp_path):
    write_archive(read(results), tmp_path)
    assert set(read_archive(tmp_path).runs["algo.rounds"]) == {2, 3}


def test_an_archive_takes_labels_of_two_types(results, tmp_path):
    found = read(results)
    runs = found.runs.assign(**{"algo.rounds": pd.Series([2, "two", 2, 3, 3, 3], dtype=object)})
    object.__setattr__(found, "runs", runs)
    write_archive(found, tmp_path)
    assert set(read_archive(tmp_path).runs["algo.rounds"]) == {2, "two", 3}


@pytest.mark.parametrize("word", ["variant", "seeds", "runs", "x", "mean", "low", "high", "metric", "setting", "final"])
def test_a_tuned_option_called_as_a_column_of_figures_has_its_prefix(results, word):
    found = read(results)
    found = replace(found, runs=found.runs.rename(columns={"algo.rounds": word}).astype({word: float}))
    table = table_makers()["final"].table(found, FigureOptions()).data
    assert set(found.runs[word if word == "variant" else f"algo.{word}"]) == {2, 3}
    assert word == "variant" or word not in found.runs
    assert table["runs"].tolist() == [3]
    assert table["seeds"].map(type).tolist() == [str]
    numbers = drawings()["compare"].picture(found, FigureOptions()).data
    assert set(numbers[f"algo.{word}"].dropna()) <= {2, 3}
    assert set(numbers["runs"]) == {3}
    assert set(numbers["variant"]) == {""}
    assert numbers["mean"].between(numbers["low"], numbers["high"]).all()


def test_stored_labels_of_built_in_options_are_not_taken():
    discover()
    options = {name for cls in map(algorithms.__getitem__, algorithms) for name in cls.options()}
    assert len(options) > 30
    assert options.isdisjoint(SHOWN)
