"""What is tuned over, and by what: of invented runs, of which the best are known."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.drawing.lines import curve
from analysis.drawing.panels import panels
from analysis.drawing.style import styles, use_paper_style
from analysis.figures import FIGURES, drawings, figure
from analysis.make_figures import main
from analysis.report.report_data import gather_report
from analysis.results.archive import read_archive, write_archive
from analysis.results.errors import NoData
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.select import VARIANTS
from analysis.study.statistics import mean
from analysis.tables import TABLES, Table, table, table_makers
from analysis.tables.digits import best, in_digits
from analysis.tables.format import Number, chosen, interval
from analysis.tables.latex import latex
from bench.store.record import COLUMNS
from bench.terminal.command import wrapped
from reproduction.study import PAPER
from tests.helpers.invented import made, results_of
from tests.messages import IGNORED

pytestmark = pytest.mark.xdist_group("figures")


@pytest.fixture(scope="module")
def two():
    """Two methods with the paper's schedule and a better one; by consensus the larger stepsize is the best."""
    use_paper_style()
    found = results_of({"trial": 2}, schedules=("diminishing", "constant"))
    eta = found.rows["run_id"].map(found.runs.set_index("run_id")["eta"])
    return replace(found, rows=found.rows.assign(consensus=found.rows["consensus"] / eta**2))


@pytest.fixture(scope="module")
def archive(two, tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    write_archive(two, folder)
    return folder


def words_of(picture):
    return [text.get_text() for text in picture.figure.legends[0].texts]


@pytest.mark.thorough
def test_the_schedule_is_tuned_over_like_the_stepsize(two):
    final = table_makers()["final"].make(two, FigureOptions())
    assert set(final.data["schedule"]) == set(final.shown["schedule"]) == {"constant"}
    assert final.title.endswith(" stepsize and schedule")
    assert not any(VARIANTS in note for note in final.notes)
    curves = drawings()["curves"].draw(two, FigureOptions())
    assert any(text.startswith("TRIAL-0, η = 0.1, constant") for text in words_of(curves))
    assert curves.title.endswith(" stepsize and schedule")
    stepsize = drawings()["stepsize"].draw(two, FigureOptions())
    assert any(text.startswith("TRIAL-0, constant") for text in words_of(stepsize))
    assert len(stepsize.runs) == 12
    assert outcome(two)[0].startswith("TRIAL-0 (η = 0.1, constant")
    assert "edge of its grid" in " ".join(curves.notes)  # of the stepsizes; a schedule has no edge
    paper = table_makers()["final"].make(two, PAPER)  # the document on the paper has the paper's schedule
    assert set(paper.shown["schedule"]) == {"diminishing"}
    assert any(f"6 {VARIANTS}" in note for note in paper.notes)


def test_an_integer_is_tuned_as_beside_methods_without_it(tmp_path):
    """Beside them, pandas makes it a real number."""
    local = [{"algo": "kgt", "eta": 0.1, "local_steps": steps, "end": 1 / steps} for steps in (5, 20)]
    other = {"algo": "dnasa", "end": 0.5}
    alone, both = (table_makers()["final"].make(made(rows), FigureOptions()) for rows in (local, [*local, other]))
    assert list(alone.data["local_steps"]) == [20]
    mine = both.data["algo"] == "kgt"
    assert list(both.data.loc[mine, "local_steps"]) == [20]
    same = [name for name in alone.shown if name in both.shown and " minus " not in name]
    assert both.shown[mine][same].to_dict("records") == alone.shown[same].to_dict("records")
    write_archive(made([*local, other]), tmp_path)
    archived = table_makers()["final"].make(read_archive(tmp_path), FigureOptions())
    assert archived.shown.equals(both.shown)


def test_an_option_named_as_a_column_of_the_table_does_not_replace_it():
    rows = [{"algo": "mine", "eta": 0.1, "T": value, "end": value} for value in (1.5, 2.5)]
    final = table_makers()["final"].make(made(rows), FigureOptions())
    assert (list(final.shown["T"]), list(final.shown["algo.T"])) == ([400], ["1.5 (edge)"])


def test_settings_are_chosen_by_the_metric_that_is_asked_for(two):
    usual, asked = (
        table_makers()["final"].make(two, request) for request in (FigureOptions(), FigureOptions(tune_by="consensus"))
    )
    assert (set(usual.data["eta"]), set(asked.data["eta"])) == ({0.1}, {1.0})
    assert "final consensus" in asked.notes[0]
    assert "differences of consensus " in asked.notes[2]
    picture = drawings()["curves"].draw(two, FigureOptions(tune_by="consensus"))
    assert any(text.startswith("TRIAL-0, η = 1, constant") for text in words_of(picture))
    with pytest.raises(NoData, match="own"):
        table_makers()["final"].make(replace(two, rows=two.rows.assign(own=1.0)), FigureOptions(tune_by="own"))


def test_a_table_has_the_metrics_that_are_asked_for(two):
    shown = table_makers()["final"].make(two, FigureOptions(metrics=("train_loss", "grad_norm")))
    assert {"training loss", "grad norm"} < set(shown.shown)
    assert not {"test accuracy", "consensus"} & set(shown.shown)
    losses = shown.data.set_index("algo")["train_loss"]
    gap = shown.data.set_index("algo")["reference_minus"].dropna()
    assert gap.iloc[0] == pytest.approx(losses.drop(gap.index).iloc[0] - losses[gap.index[0]])
    assert "training loss" in table_makers()["final"].make(two, FigureOptions(columns=("algo", "train_loss"))).shown
    apart = table_makers()["final"].make(
        two, FigureOptions(metrics=("train_loss",), tune_by="grad_norm")
    )  # chosen by another
    assert any(name.endswith("minus this, training loss") for name in apart.shown)


@pytest.mark.parametrize("name", ["final", "configurations"])
def test_every_metric_may_be_a_column(two, name):
    costs = {metric: 9.6e4 + place for place, metric in enumerate(COLUMNS) if metric not in two.rows}
    two = replace(two, rows=two.rows.assign(**costs))
    there = [metric for metric in COLUMNS if metric != "consensus_bound"]
    table = chosen(table_makers()[name].make(two, FigureOptions(columns=("method", *there))), ("method", *there), two)
    assert list(table.printed) == [
        "method",
        *(metric.replace("_", " ").replace("train ", "training ") for metric in there),
    ]
    assert set(table.data["bytes"]) == {costs["bytes"]}
    assert f" & ${costs['bytes']:.0f}$ & " in latex(table, "costs")
    twice = chosen(table, ("method", "n", "nodes", "method"), two)
    assert [*twice.printed] == ["method", "n"]
    with pytest.raises(NoData, match=r"'byts'.*'bytes'.*, gradients, rounds, "):
        chosen(table_makers()[name].make(two, FigureOptions(columns=("byts",))), ("byts",), two)


def test_runs_of_earlier_versions_have_no_node_loss_and_are_shown_beside_others(two):
    older = next(iter(two.runs["algo"]))
    ids = two.runs.loc[two.runs["algo"] == older, "run_id"]
    mixed = replace(two, rows=two.rows.assign(node_loss=two.rows["train_loss"].mask(two.rows["run_id"].isin(ids))))
    asked = FigureOptions(metrics=("node_loss",))
    cells = table_makers()["final"].make(mixed, asked).data.set_index("algo")["node_loss"]
    assert cells.index.nunique() == 2
    assert np.isnan(cells[older])
    assert np.isfinite(cells.drop(older)).all()
    assert drawings()["compare"].draw(mixed, asked).figure.axes[0].get_ylabel() == "node loss"
    with pytest.raises(NoData, match="node_loss"):
        drawings()["compare"].draw(two, asked)


@pytest.mark.thorough
def test_an_archive_is_drawn_elsewhere_and_what_is_not_obeyed_is_said(archive, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--results", str(archive), "--figure", "compare,final", "--format", "png", "--x", "epochs"]
    assert main([*words, "--columns", "method,train_loss"]) == 0
    said = capsys.readouterr().out
    assert f"{IGNORED}--x)" in said
    assert f"{IGNORED}--columns" in said
    assert {path.name for path in (tmp_path / "figures").iterdir()} > {"compare.png", "table_final.tex"}
    assert not (archive / "figures").exists()
    assert set(pd.read_csv(tmp_path / "figures" / "compare.csv")["x_axis"]) == {"epoch"}
    assert "method & training loss" in (tmp_path / "figures" / "table_final.tex").read_text()


@pytest.mark.thorough
def test_what_a_stranger_raises_stops_nothing_else(two, archive, tmp_path, capsys):
    @table("strange_table", "Strange")
    def strange_table(results, request):
        return results.finals["color"]

    @table("empty_table", "Strange")
    def empty_table(results, request):
        pass

    @figure("strange_figure", "Strange", "nothing")
    def strange_figure(results, request):
        pass

    try:
        names = "strange_figure,strange_table,empty_table,methods,configurations"
        assert main(["--results", str(archive), "--out", str(tmp_path), "--figure", names]) == 1
        report = gather_report(two)
    finally:
        del TABLES["strange_table"], TABLES["empty_table"], FIGURES["strange_figure"]
    said = capsys.readouterr().out
    for line in (
        r"strange_table .*KeyError: 'color' \(test_tuning\.py, line \d",
        r"strange_figure .*TypeError: .* None, .* Picture \(test_tuning\.py",
        r"empty_table .*TypeError: .* None, .* Table \(test_tuning\.py, line \d",
    ):
        assert re.search(f"^{line}", said, re.MULTILINE), line
    assert (tmp_path / "table_configurations.md").exists()
    assert any(sentence.startswith("strange_table not made: KeyError") for sentence in report.warnings)
    assert "final" in [recipe.name for recipe, _ in report.tables]


def cells(more, **values):
    """A column of a table, by method."""
    found = {name: pd.Series(by_seed, dtype=float) for name, by_seed in values.items()}
    column = [Number(interval(mean(one)), mean(one), more, one) for one in found.values()]
    return pd.DataFrame({"method": list(found), "m": column}, dtype=object)


def test_bold_is_what_seeds_tell_apart():
    noise = np.array([6.0, 16.0, 26.0, 36.0, 46.0])
    same = cells(False, a=noise + np.array([0.1, -0.2, 0.1, -0.2, 0.1]), b=noise, c=noise + 0.01)
    assert best(same) == set()
    apart = cells(False, a=noise + 0.001, b=noise, c=noise + 0.01)
    assert best(apart) == {(1, "m")}
    shown = latex(Table(apart, apart), "t")
    assert r"$\mathbf{26.000 \pm 19.632}$" in shown  # the difference can be read
    assert r"$26.001 \pm" in shown
    assert best(cells(True, a=noise + 0.001, b=noise)) == {(0, "m")}
    assert best(cells(None, a=noise + 0.001, b=noise)) == set()
    assert best(cells(False, a=noise[:4] + 0.1, b=noise[:4])) == set()  # too few seeds
    near = noise + np.array([0.0, 1.0, 2.0, 3.0, 4.0]) + 0.2  # 2.2 beyond b, with an error of √0.5
    assert best(cells(False, a=near, b=noise)) == {(1, "m")}
    assert (
        best(cells(False, a=near, b=noise, c=near + 9, d=near + 9)) == set()
    )  # of three comparisons, one that is close


def test_no_line_is_drawn_across_zeros():
    rows = pd.DataFrame({"run_id": "a", "step": range(6), "y": [1.0, 1.0, 0.0, 0.0, 1.0, 0.0], "state": "done"})
    rows = pd.concat([rows.assign(run_id=name) for name in "abc"], ignore_index=True)
    _, axes = panels(1, 1)
    curve(axes[0, 0], rows, "step", "y", styles(["dsgd"])["dsgd"], positive=True)
    line, alone, zeros = axes[0, 0].lines
    assert list(line.get_xdata()) == [0, 1, 2, 3, 4]
    assert np.isnan(line.get_ydata()[2:4]).all()
    assert list(alone.get_xdata()) == [4]
    assert list(zeros.get_xdata()) == [2, 3, 5]


def test_notes_are_wrapped_between_words():
    text = wrapped("final           2 rows\n" + " " * 16 + "the_best_of_all setting " * 9, 60, indent=16)
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("the_best_of_all") == text.count("setting") == 9
    assert all(line.startswith(" " * 16) for line in text.splitlines()[1:])


def test_configurations_stand_in_order(two):
    shuffled = replace(two, runs=two.runs.sample(frac=1, random_state=0).reset_index(drop=True))
    options = list(table_makers()["configurations"].make(shuffled, FigureOptions()).shown["options"])
    assert options[:4] == [f"schedule={s} eta={e}" for s in ("constant", "diminishing") for e in ("0.1", "1")]


def test_a_table_with_numbers_as_text_crosses_processes():
    table = cells(True, a=[1.0, np.nan], b=[1.0, 2.0])
    sent = pickle.loads(pickle.dumps(in_digits(Table(table, table[["method"]]))))
    assert sent.shown["m"].tolist() == ["—", "1.5"]
