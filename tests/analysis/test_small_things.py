"""Small faults that newcomers met: messages, tables, digits and terminals."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.drawing.lines import draw_against_setting
from analysis.drawing.panels import panels
from analysis.drawing.style import Style
from analysis.figures import drawings
from analysis.figures.compare import AFTER
from analysis.figures.curves import BELOW
from analysis.report.commands import as_typed
from analysis.report.table_files import make_table
from analysis.results.errors import NoData
from analysis.study.figure_options import FigureOptions
from analysis.study.select import can_be_asked
from analysis.study.statistics import Interval
from analysis.tables import Table, TableMaker, table_makers
from analysis.tables.digits import best
from analysis.tables.latex import latex, number
from bench.base.errors import place
from bench.base.home import ROOT
from bench.terminal import command
from bench.terminal.console import Console
from bench.terminal.table import show_table
from tests.helpers.invented import made, results_of
from tests.helpers.mentions import mentions
from tests.messages import IGNORED


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (9.96e-6, 2e-6, r"(1.0 \pm 0.2) \times 10^{-5}"),
        (9.4e-6, 2e-6, r"(9 \pm 2) \times 10^{-6}"),
        (1e-5, np.nan, r"1 \times 10^{-5}"),
        (9.99996e-6, np.nan, r"1 \times 10^{-5}"),
    ],
)
def test_a_power_of_ten_fits_what_was_rounded(value, half, text):
    assert number(Interval(value, value - half, value + half, 3)) == text


def test_a_strangers_numbers_are_readable_and_its_columns_its_own(tmp_path):
    numbers = pd.DataFrame({"name": ["a", "b", "c"], "size": [1 / 3, np.inf, np.nan]})
    some = made([{"algo": "dsgt", "end": 1.0}])
    recipe = TableMaker("own", "Own", lambda results, request: Table(numbers, numbers))
    said, done = make_table(recipe, some, FigureOptions(columns=("method",)), tmp_path)
    assert done
    assert all(words in said for words in ("'method'", "name, size", f"{IGNORED}--columns"))
    text = (tmp_path / "table_own.md").read_text()
    assert all(line in text for line in ("| a | 0.3333 |", "| b | ∞ |", "| c | — |"))
    assert r"b & $\infty$ \\" in latex(Table(numbers, numbers), "t")
    assert r"a & $0.3333$ \\" in (tmp_path / "table_own.tex").read_text()


def test_what_was_never_measured_is_no_column_of_a_printed_table():
    shown = pd.DataFrame({"method": ["a", "b"], "size": [np.nan, None], "depth": [np.nan, 2.0]})
    text = latex(Table(shown, shown), "t")
    assert "% in no row: size\n" in text
    assert r"method & depth \\" in text
    assert r"a & --- \\" in text
    one = latex(Table(shown[:1], shown[:1]), "t")  # of a single row too
    assert "% in no row: size, depth\n" in one
    assert r"method \\" in one


def several(**more):
    """Two methods, five seeds, of which one can be given an end of its own."""
    ends = {"dsgt": 0.51234, "dsgd": 0.61234}
    rows = [{"algo": a, "eta": 0.1, "seed": s, "end": ends[a] + s / 300} for a in ends for s in range(5)]
    return made([{**row, **(more if row["algo"] == "dsgd" else {})} for row in rows])


def test_what_went_wrong_is_called_what_it_was():
    for state in ("diverging", "nonfinite"):
        shown = table_makers()["final"].make(several(state=state), FigureOptions()).shown.set_index("method")
        assert shown.loc["D-SGD", "η"] == "every one diverged"
    picture = drawings()["curves"].draw(several(state="diverging"), FigureOptions())
    assert any("D-SGD not drawn" in note for note in picture.notes)


BOLD = {
    "what rounding left is no merit": ({"dsgt": 1e-31, "dsgd": 2e-31, "d2": 1e-4}, "float64", {"dsgt", "dsgd"}),
    "of all alike none is the best": ({"dsgt": 1e-31, "dsgd": 2e-31}, "float64", set()),
    "an exact zero is as good": ({"dsgt": 0.0, "dsgd": 9.8e-14, "d2": 1e-4}, "float32", {"dsgt", "dsgd"}),
    "small is not yet rounding": ({"dsgt": 1e-14, "dsgd": 2e-14, "d2": 1e-4}, "float64", {"dsgt"}),
    "the last bit": ({"dsgt": 0.5, "dsgd": 0.5 + 3e-8, "d2": 0.6}, "float32", {"dsgt", "dsgd"}),
    "more than the last bit": ({"dsgt": 0.5, "dsgd": 0.50001, "d2": 0.6}, "float32", {"dsgt"}),
}


@pytest.mark.parametrize("case", BOLD)
def test_what_is_equal_is_bold_together(case):
    ends, dtype, expected = BOLD[case]
    runs = [{"algo": a, "eta": 0.1, "seed": s, "dtype": dtype, "end": end} for a, end in ends.items() for s in range(5)]
    some = made(runs)
    rows = some.rows.merge(some.runs[["run_id", "algo", "seed"]], on="run_id")
    some = replace(some, rows=some.rows.assign(consensus=rows["algo"].map(ends) * (1 + rows["seed"] / 1e4)))
    shown = table_makers()["final"].make(some, FigureOptions()).shown
    labels = {"dsgt": "D-SGT", "dsgd": "D-SGD", "d2": "D²"}
    assert {shown["method"][place] for place, column in best(shown) if column == "consensus"} == {
        labels[algo] for algo in expected
    }


def test_reports_a_reference_without_effect(tmp_path):
    def said(some, **request):
        return make_table(table_makers()["final"], some, FigureOptions(reference="dsgt", **request), tmp_path)[0]

    assert "--reference dsgt" in said(several(), columns=("method",))
    assert "--reference" not in said(several(), columns=("method", "difference"))
    assert "D-SGT minus this" in (tmp_path / "table_final.md").read_text()
    assert "--reference dsgt" in said(several(topology="star"))


def test_a_printed_table_fits_a_page_and_has_the_digits_of_the_other(tmp_path):
    some = several(topology="a_name_as_long_as_a_whole_sentence_is", dataset="and_another_such_name")
    said, _ = make_table(table_makers()["final"], some, FigureOptions(), tmp_path)
    assert re.search(r"\.tex .*: seeds, consensus \(.*--columns NAME,NAME", said)
    tex, text = ((tmp_path / f"table_final.{kind}").read_text() for kind in ("tex", "md"))
    assert "% in every row: runs = 5" in tex
    assert "consensus" not in tex.split("tabular")[1]
    assert "| 0.619 ± 0.007 |" in text
    assert r"$0.619 \pm 0.007$" in tex


def test_one_row_is_one(tmp_path):
    one = pd.DataFrame({"name": ["a"]})
    said, _ = make_table(TableMaker("own", "Own", lambda r, a: Table(one, one)), made([]), FigureOptions(), tmp_path)
    assert " 1 row → " in said


def test_what_is_the_same_everywhere_chooses_nothing():
    some = made([{"algo": "dsgt", "eta": eta, "end": eta} for eta in (0.1, 0.2)])
    can_be_asked(some, FigureOptions(tune_by="grad_norm"))
    with pytest.raises(NoData, match="train_loss"):
        can_be_asked(some, FigureOptions(tune_by="train_loss"))


def test_compare_says_from_where_it_is_drawn_and_why_there_is_no_curve():
    some = made([{"algo": "dsgt", "end": 0.1}])
    notes = drawings()["compare"].draw(some, FigureOptions(metrics=("test_loss",))).notes
    assert set(AFTER) <= set(notes)
    assert not any("eval_every" in note for note in notes)
    few = replace(some, rows=some.rows[some.rows["step"] != 200])
    notes = drawings()["compare"].draw(few, FigureOptions(metrics=("test_loss",))).notes
    assert any("400 steps" in note and "eval_every" in note for note in notes)


def test_the_start_does_not_flatten_what_comes_after_and_is_said_to_lie_outside():
    """One of a hundred later values is as low as the start; every end is seen, also that of a method that is behind."""
    some = results_of({"fast": 1, "slow": 1})
    slow = some.rows["run_id"].str.startswith("slow")
    accuracy = np.select([some.rows["step"] == 0, some.rows["step"] == 200, slow], [10.0, 12.0, 90.0], default=95.0)
    picture = drawings()["curves"].draw(replace(some, rows=some.rows.assign(test_accuracy=accuracy)), FigureOptions())
    (panel,) = (ax for ax in picture.figure.axes if ax.get_title(loc="left") == "test accuracy (%)")
    low, high = panel.get_ylim()
    assert 89 < low < 90
    assert 95 < high < 96
    assert picture.notes.count(BELOW) == 1
    plain = drawings()["curves"].draw(replace(some, rows=some.rows.assign(test_accuracy=50.0)), FigureOptions())
    assert BELOW not in plain.notes


def test_compare_says_once_what_it_says_of_several():
    rows = [{"algo": a, "eta": e, "end": e, "topology": g} for a in ("dsgt", "dsgd") for e in (0.1, 0.2) for g in "ab"]
    notes = drawings()["compare"].draw(made(rows), FigureOptions()).notes
    (chosen,) = [note for note in notes if "η" in note]
    assert mentions(chosen.partition(":")[0], "a9a, a", "a9a, b")
    assert mentions(chosen, "D-SGD η=0.1 (", "edge", "D-SGT η=0.1 (", "edge")
    assert sum(note.startswith("stepsize") for note in notes) <= 1
    assert len(notes) == len(set(notes))


def test_graphs_of_one_name_are_told_apart():
    certificate = {"nodes": 3, "edges": 2, "diameter": 2, "edge_list": [[0, 1], [1, 2]]}
    facts = [{"mixing": {**certificate, "rho": rho, "hash": str(rho)}} for rho in (0.5, 0.6)]
    rows = [{"algo": "dsgt", "end": 1.0, "topology.weights": rule} for rule in (None, "laplacian")]
    figure = drawings()["graphs"].draw(made(rows, facts), FigureOptions()).figure
    assert [ax.get_title() for ax in figure.axes] == [
        *("ring, n = 3\nweights = usual\nρ = 0.500", "ring, n = 3\nweights = laplacian\nρ = 0.600")
    ]


def test_the_way_to_what_exploded_leads_to_its_mark():
    _, axes = panels(1, 1)
    states = {0.1: "done", 1.0: "diverging"}
    runs = pd.DataFrame([{"eta": e, "state": s, "loss": 1e40 if e == 1 else 1.0} for e, s in states.items()])
    draw_against_setting(axes[0, 0], runs.assign(run_id=["a", "b"]), "eta", "loss", Style("m", (0, 0, 1), "o"))
    (way,) = axes[0, 0].texts
    assert way.xyann == (0.1, 1.0)
    assert way.xy[0] == 1.0
    assert 0.9 < way.xy[1] < 1  # a part of the panel, not 1e40
    assert all(np.nanmax(line.get_ydata(), initial=0) <= 1 for line in axes[0, 0].lines)


def test_a_plug_in_that_fails_is_named_with_its_line(tmp_path, monkeypatch):
    (tmp_path / "half_a_plug_in.py").write_text("import json\n\njson.loads('{')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        import half_a_plug_in  # noqa: F401
    assert place(error.value, "half_a_plug_in") == " (half_a_plug_in.py, line 3)"
    assert place(ValueError(), "half_a_plug_in") == ""


def test_a_command_is_told_with_the_plug_ins_that_it_had(monkeypatch):
    for name in ("PYTHONPATH", "HEARSAY_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    words = ["python", "analysis/make_report.py", "--results", "my runs"]
    assert as_typed(words) == "python analysis/make_report.py --results 'my runs'"
    monkeypatch.setenv("HEARSAY_PLUGINS", "mine")
    monkeypatch.setenv("PYTHONPATH", f"/some where:{Path.cwd()}/here")
    told = as_typed([*words, "--out=/elsewhere/page.html"])
    assert told.startswith("PYTHONPATH='some where:here' HEARSAY_PLUGINS=mine python analysis/make_report.py ")
    assert told.endswith(" --out=page.html")


def test_a_python_without_our_packages_gets_a_sentence():
    done = subprocess.run(
        [sys.executable, "-S", str(ROOT / "bench/status.py")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert re.search(r"the package '\w+'.* make install", done.stderr)
    assert "Traceback" not in done.stderr


def test_sentences_end_their_lines_between_words_in_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    command.say("one two three four five six seven eight nine ten")
    assert screen.getvalue() == "one two three four five six seven eight\nnine ten\n"


def test_a_narrow_table_keeps_how_far_an_interrupted_run_is():
    names = {"test_loss": 0.123456, "test_accuracy": 85.123, "grad_norm": 0.001234, "consensus": 1.2e-9, "wall_s": 1.5}
    run = {"algo": "dnasa", "topology": "ring", "state": "interrupted", "step": 1234, **names}
    for state, there in (("interrupted", True), ("done", False)):
        show_table(Console(file=(out := io.StringIO()), width=60, force_terminal=True), [{**run, "state": state}])
        assert ("1234" in out.getvalue()) == there
