"""What a reader sees: nothing is cut off, crowded or hidden, whatever was run. Measured by the renderer."""

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from analysis.drawing.bands import IN_LEGENDS, bands
from analysis.drawing.files import render
from analysis.drawing.lines import draw_against_setting
from analysis.drawing.panels import DIVERGING, MARKS, NOTES, Picture, has, legend, legend_entry, panels, tidy
from analysis.drawing.style import styles, use_paper_style
from analysis.drawing.ticks import log_ticks
from analysis.figures import drawings
from analysis.results.errors import NoData
from analysis.study.figure_options import FigureOptions
from analysis.study.outcome import outcome
from analysis.study.select import reference
from analysis.study.statistics import Interval
from analysis.tables import table_makers
from analysis.tables.digits import best
from analysis.tables.format import chosen
from analysis.tables.latex import latex, number
from tests.helpers.few import few
from tests.helpers.invented import made, results_of
from tests.helpers.mentions import mentions

pytestmark = pytest.mark.xdist_group("figures")


def draw(name, results, **request):
    return drawings()[name].draw(results, FigureOptions(**request))


def renamed(results, names, declared=()):
    """The same runs of other methods: what a plug-in would leave behind."""
    facts = {run: {**fact, "algorithm": None} for run, fact in results.facts.items()}
    for run, algo in zip(results.runs["run_id"], results.runs["algo"].replace(names), strict=True):
        if algo in dict(declared):
            facts[run]["algorithm"] = {"name": algo, **dict(declared)[algo]}
    return replace(results, runs=results.runs.assign(algo=results.runs["algo"].replace(names)), facts=facts)


@pytest.fixture(scope="module")
def without_dnasa(results):
    return results.where([("algo", ["dsgd", "dsgt"])])


def inside(figure):
    """Whether every legend and title lies within the figure."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    page = figure.bbox
    boxes = [item.get_window_extent() for item in figure.legends]
    boxes += [text.get_window_extent() for one in figure.legends for text in one.get_texts()]
    return all(box.x0 >= page.x0 and box.x1 <= page.x1 and box.y1 <= page.y1 + 1 for box in boxes)


LONG = {"dnasa": "normalized_averaging_with_tracking", "dsgd": "stochastic_gradient", "dsgt": "tracking_with_a_twist"}


@pytest.mark.parametrize("name", few(["consensus", "compare", "stepsize", "scale", "curves"], ["stepsize"]))
def test_legends_are_inside_the_figure(drawn, results, name):
    assert inside(drawn(name).figure)
    ring = results.where([("dataset", ["digits"]), ("topology", ["ring"])])
    assert inside(draw(name, renamed(ring, LONG)).figure)


@pytest.mark.parametrize("count", [1, 5, 14])
def test_a_legend_of_any_length_fits_a_column(count):
    use_paper_style()
    figure, _ = panels(1, 1, 2.0, 3.35)
    look = styles([f"method_number_{number}" for number in range(count)])
    legend(figure, [legend_entry(style) for style in look.values()])
    assert inside(figure)
    panel = figure.axes[0].get_window_extent().height / figure.dpi
    assert panel > 1.2  # the legend takes no room from the panel
    assert len({(style.color, style.marker, style.dash) for style in look.values()}) == count


def test_a_file_has_the_places_that_matplotlib_finds_and_keeps_them():
    use_paper_style()
    ours, theirs = (panels(2, 2)[0] for _ in range(2))
    for figure in (ours, theirs):
        figure.axes[0].set(ylabel="a label\nof three\nlines", title="above")
    before = [ax.get_position().bounds for ax in ours.axes]
    theirs.draw_without_rendering()
    expected = [ax.get_position().bounds for ax in theirs.axes]
    assert before != expected
    for kind in ("svg", "png"):
        render(ours, kind)
        assert [ax.get_position().bounds for ax in ours.axes] == expected


@pytest.mark.thorough
def test_titles_stay_in_their_columns(drawn):
    figure = drawn("compare").figure
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    top = [ax for ax in figure.axes if ax.get_title(loc="left")]
    ends = [ax._left_title.get_window_extent() for ax in top]
    assert len(top) > 2
    assert all(left.x1 <= right.x0 for left, right in itertools.pairwise(ends))


@pytest.mark.thorough
def test_what_exploded_stands_at_the_edge_and_does_not_set_the_axis(results):
    """In a loss of 1e48 the others would be a flat line; whether the state says so or the run is an older one."""
    mine = results.where([("dataset", ["digits"]), ("topology", ["ring"]), ("algo", ["dsgd", "dsgt"])])
    runs, rows = mine.runs.copy(), mine.rows.copy()
    high = runs["eta"] == 1e39
    last = rows.drop_duplicates("run_id", keep="last").index
    gone = rows.index.isin(last) & rows["run_id"].isin(runs.loc[high, "run_id"])
    runs["eta"] = runs["eta"].replace(1e39, 1.0)
    numbers = ["train_loss", "test_loss", "grad_norm", "stationarity", "consensus"]
    rows.loc[gone, numbers] = 1e48
    rows["test_accuracy"] = np.nan  # as on a stream
    for state in ("done", "diverging"):
        runs.loc[high, "state"] = state
        made = replace(mine, runs=runs, rows=rows)
        for name in ("stepsize", "compare"):
            picture = draw(name, made.where([("eta", ["1.0"])]) if name == "compare" else made)
            assert all(ax.get_ylim()[1] < 1e6 for ax in picture.figure.axes)
            assert has(picture.figure, DIVERGING)
            labels = [text.get_text() for text in picture.figure.legends[0].texts]
            assert MARKS[DIVERGING].get_label() in labels
            assert NOTES[DIVERGING] in picture.notes


def test_captions_say_what_is_drawn(drawn, results):
    assert "test accuracy" in drawn("stepsize").title
    spike = results.where([("dataset", ["spike"])])
    assert "test loss" in draw("stepsize", spike).title
    assert "D-NASA" in drawn("scale").title
    assert "D-NASA" not in draw("scale", results.where([("algo", ["dsgd"])])).title
    alone = results.where([("algo", ["dsgd"]), ("dataset", ["digits"]), ("eta", ["0.1"])])
    curves, final = draw("curves", alone), table_makers()["final"].make(alone, FigureOptions())
    assert (curves.title, final.title) == ("Learning curves: every method", "Final results")
    assert any("D-SGD η=0.1" in note for note in curves.notes)
    assert not any(note.startswith("best stepsize") for note in [*curves.notes, *final.notes])


@pytest.mark.thorough
def test_every_method_and_metric_has_its_figures(drawn, without_dnasa, results):
    bound = draw("consensus", without_dnasa)
    assert "bound" not in bound.title
    assert set(bound.data["metric"].dropna()) == {"consensus", "tracking_error"}
    stream = draw("curves", results.where([("dataset", ["synthetic"])]))
    assert set(stream.data["metric"].dropna()) == {"train_loss", "test_loss", "stationarity"}
    asked = draw("compare", without_dnasa, metrics=("tracking_error",))
    assert set(asked.data["metric"].dropna()) == {"tracking_error"}
    assert draw("stepsize", without_dnasa, metrics=("consensus",)).title.startswith("Final consensus error")
    with pytest.raises(NoData, match=r"'color'.*train_loss, "):
        drawn("compare", metrics=("color",))


def test_the_chosen_stepsize_is_in_the_legend_and_in_the_numbers(without_dnasa):
    picture = draw("curves", without_dnasa)
    assert set(picture.data.loc[picture.data["algo"] == "dsgd", "eta"]) == {0.1}
    assert "D-SGD, η = 0.1" in [text.get_text() for text in picture.figure.legends[0].texts]


@pytest.mark.thorough
def test_rows_of_a_column_share_x_and_zeros_are_marked(results):
    figure = draw("compare", results.where([("dataset", ["digits"]), ("nodes", ["8"]), ("scale", ["1"])])).figure
    columns = len({round(ax.get_position().x0, 3) for ax in figure.axes})
    for column in range(columns):
        assert len({ax.get_xlim() for ax in figure.axes[column::columns]}) == 1
    zeros = [line for ax in figure.axes for line in ax.lines if line.get_label() == "_zero"]
    assert zeros  # on the complete graph
    assert any("0" in text.get_text().split() for text in figure.legends[0].texts)


@pytest.mark.parametrize(("low", "high"), [(0.72, 0.86), (0.05, 3), (0.003, 0.1), (9, 60), (101, 104)])
def test_ticks_of_a_short_logarithmic_axis_do_not_crowd(low, high):
    figure, axes = panels(1, 1)
    axes[0, 0].set(yscale="log", ylim=(low, high))
    log_ticks(axes[0, 0].yaxis)
    figure.draw_without_rendering()
    ticks = [tick for tick in axes[0, 0].get_yticks() if low <= tick <= high]
    assert 2 <= len(ticks) <= 6
    assert not any("times" in label.get_text() for label in axes[0, 0].get_yticklabels(which="both"))


@pytest.mark.parametrize(("kind", "seeds"), [("range", 3), ("std", 3), ("none", 3), ("ci", 3), ("range", 2)])
def test_a_legend_says_what_bands_mean_if_there_are_any(kind, seeds):
    with bands(kind):
        figure = draw("compare", made([{"algo": "dsgt", "end": 0.1, "seed": seed} for seed in range(seeds)])).figure
    expected = [IN_LEGENDS[kind]] if kind in ("range", "std") and seeds == 3 else []
    assert [text.get_text() for text in figure.legends[0].texts][1:] == expected


def test_a_panel_of_zeros_leaves_the_axis_that_it_shares_its_numbers():
    both = made([{"algo": "dsgt", "topology": graph, "end": 0.003} for graph in ("ring", "complete")])
    agree = both.rows["run_id"] == "run1"
    figure = draw(
        "compare", replace(both, rows=both.rows.assign(consensus=both.rows["consensus"].mask(agree, 0)))
    ).figure
    tidy(figure)
    left, right = (ax for ax in figure.axes if ax.get_subplotspec().is_last_row())
    assert [text.get_text() for text in right.texts] == ["0 at every step"]
    figure.draw_without_rendering()
    low, high = left.get_ylim()
    shown = [tick for tick in left.yaxis.get_major_ticks() if low <= tick.get_loc() <= high and tick.label1.get_text()]
    assert len(shown) >= 2


def test_lines_that_coincide_are_told_apart(without_dnasa):
    """The one below is wider, and their markers stand at different places."""
    lines = list(draw("profile", without_dnasa).figure.axes[0].lines)
    steps, marks = lines[::2], lines[1::2]
    assert len({line.get_linewidth() for line in steps}) == len(steps)
    assert not set(marks[0].get_xdata()) & set(marks[1].get_xdata())


@pytest.mark.thorough
def test_a_declared_label_and_family_reach_the_figures(results):
    declared = {
        "wonder": {"label": "Wonder", "family": "dsgd", "needs": [], "assumes": [], "vectors_per_step": 1, "cite": "us"}
    }
    made = renamed(results.where([("dataset", ["digits"])]), {"dsgt": "wonder"}, declared.items())
    look = styles(made.runs["algo"].unique(), made)
    assert look["wonder"].label == "Wonder"
    assert look["wonder"].color == look["dsgd"].color
    assert (look["wonder"].marker, look["wonder"].dash) != (look["dsgd"].marker, look["dsgd"].dash)
    assert look["dsgd"].label == "D-SGD"  # its manifests say nothing: an older archive
    assert "Wonder, η = 0.1" in [text.get_text() for text in draw("curves", made).figure.legends[0].texts]
    assert "Wonder" in set(table_makers()["final"].make(made, FigureOptions()).shown["method"])


@pytest.mark.thorough
def test_the_reference(results, without_dnasa):
    assert reference(results) == "dnasa"  # it has no stepsize
    assert reference(results, FigureOptions(reference="dsgt")) == "dsgt"
    digits = without_dnasa.where([("dataset", ["digits"])])
    best_one = reference(digits)
    table = table_makers()["final"].make(digits, FigureOptions())
    label = styles([best_one])[best_one].label
    ours = table.data[table.data["algo"] != best_one].dropna(subset="reference_minus")
    assert f"{label} minus this" in table.shown
    assert len(ours)
    for row in ours.to_dict("records"):
        same = table.data[(table.data["topology"] == row["topology"]) & (table.data["nodes"] == row["nodes"])]
        other = same.loc[same["algo"] == best_one, "test_accuracy"].iloc[0]
        assert row["reference_minus"] == pytest.approx(other - row["test_accuracy"])
    asked = table_makers()["robustness"].make(results, FigureOptions(reference="dsgt"))
    assert "D-SGT minus this" in asked.shown
    with pytest.raises(NoData, match=r"'wonder'.*dnasa, dsgd"):
        reference(results, FigureOptions(reference="wonder"))


def test_an_outcome_names_the_best_and_its_number(results):
    ring = [("dataset", ["digits"]), ("topology", ["ring"]), ("nodes", ["8"]), ("scale", ["1"]), ("input_scale", ["1"])]
    two = results.where([*ring, ("algo", ["dnasa", "dsgd"]), ("seed", ["0", "1"])])
    means = table_makers()["final"].make(two, FigureOptions()).data.set_index("algo")["test_accuracy"]
    first = {"dnasa": "D-NASA", "dsgd": "D-SGD (η = 0.1)"}[means.idxmax()]
    assert outcome(two)[0].startswith(f"{first} ")
    assert mentions(outcome(two)[0], "highest test accuracy", "digits, ring", f"{means.max():.2f} % (2 seeds, ")
    assert outcome(two.where([("algo", ["dsgd"])])) == []
    (sentence,) = outcome(results.where([*ring, ("algo", ["dsgd", "dsgt"])]))
    assert mentions(sentence, "(3 seeds, ", "D-SGT (η = 0.1)")


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (85.1234, 0.0312, r"85.12 \pm 0.03"),
        (85.1234, 0.0149, r"85.123 \pm 0.015"),
        (7.414e-5, 3.1e-6, r"(7.4 \pm 0.3) \times 10^{-5}"),
        (66.76, 18.3, r"67 \pm 18"),
        (0.020113, np.nan, "0.02011"),
        (3.175e11, np.nan, r"3.175 \times 10^{11}"),
    ],
)
def test_digits_match_the_error(value, half, text):
    assert number(Interval(value, value - half, value + half, 3)) == text


def test_a_latex_table_one_would_print(results):
    ring = results.where([("dataset", ["digits"]), ("topology", ["ring"]), ("nodes", ["8"]), ("scale", ["1"])])
    table = table_makers()["final"].make(ring, FigureOptions())
    text = latex(table, "Final")
    assert re.search("^%.* dataset = digits", text, re.MULTILINE)
    assert all(word in text for word in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}{l"))
    assert r"\mathbf" not in text  # three seeds tell nothing apart
    five = table_makers()["final"].make(results_of({"trial": 3}, seeds=5), FigureOptions())
    top = five.data["test_accuracy"].idxmax()
    assert (top, "test accuracy") in best(five.shown.reset_index(drop=True))
    line = next(line for line in latex(five, "Final").splitlines() if line.startswith(five.shown["method"].iloc[top]))
    assert r"$\mathbf{" in line
    few = chosen(table, ["algo", "eta", "test_accuracy"], ring)
    assert list(few.printed) == ["method", "η", "test accuracy"]
    assert latex(few, "Final").count("&") == 2 * (len(table.shown) + 1)
    with pytest.raises(NoData, match=r"'color'.*dataset, "):
        chosen(table, ["color"], ring)


def test_a_metric_of_a_plug_in_is_a_column_like_any_other(results):
    rows = results.rows.assign(size=np.linspace(1, 100, len(results.rows)))
    facts = {run: {**fact, "metrics": {"size": {"label": "how large"}}} for run, fact in results.facts.items()}
    made = replace(results, rows=rows, facts=facts)
    assert list(made.measures) == ["size"]
    picture = draw("compare", made.where([("topology", ["ring"]), ("nodes", ["8"])]), metrics=("size",))
    assert picture.figure.axes[0].get_ylabel() == "how large"
    table = table_makers()["configurations"].make(made, FigureOptions())
    assert "how large" in table.shown
    whole = table.data[["nonfinite", "diverging"]].sum(axis=1) == 0
    assert table.data.loc[whole, "size"].notna().all()


def test_a_picture_without_a_title_of_its_own_keeps_the_figures():
    figure, _ = panels(1, 1)
    assert Picture(figure, pd.DataFrame(), set()).title is None


def test_a_dozen_methods_are_told_apart():
    """By color and dash, those of one family too; in the order in which one counts."""
    look = styles([*(f"trial{i}" for i in range(12)), "dsgd"])
    assert list(look)[1:] == [f"trial{i}" for i in range(12)]
    assert len({(style.color, str(style.dash)) for style in look.values()}) == 13


def test_the_worse_edge_of_a_metric_of_ones_own_is_where_its_runs_say():
    """What exploded in a loss is off the axis; in what is better the more there is, it is a value like any other."""
    runs = pd.DataFrame({"run_id": ["a", "b"], "eta": [0.1, 1.0], "own": [1.0, 2.0], "state": ["done", "diverging"]})
    look = styles(["dsgd"])["dsgd"]
    marks = {}
    for more in (False, True):
        fig, axes = panels(1, 1)
        measures = SimpleNamespace(measures={"own": {"more_is_better": more}})
        table = draw_against_setting(axes[0, 0], runs, "eta", "own", look, measures)
        marks[more] = has(fig, DIVERGING), list(table["diverging"])
    assert marks == {False: (True, [0, 1]), True: (False, [0, 0])}


FAMILIES = {
    **{"compressed": 6, "tracking": 5, "variance_reduced": 4, "primal_dual": 4, "dsgd": 3, "push_sum": 3, "local": 3},
    **{"accelerated": 3, "adaptive": 3, "composite": 2, "random_walk": 2, "newton": 2},
}


@pytest.mark.thorough
def test_forty_methods_in_a_dozen_families_are_told_apart():
    use_paper_style()
    made = results_of(FAMILIES)
    look = styles(made.runs["algo"].unique(), made)
    assert len(look) == 40
    assert len({(style.color, str(style.dash), style.marker) for style in look.values()}) == 40
    by_family = {algo: algo.rpartition("_")[0] for algo in look}
    for family, count in FAMILIES.items():
        members = [look[algo] for algo in look if by_family[algo] == family]
        assert len({style.color for style in members}) == 1
        assert len({str(style.dash) for style in members}) == len({style.marker for style in members}) == count
    assert len(list(itertools.groupby(look, by_family.get))) == len(FAMILIES)  # a family stands together
    picture = draw("curves", made)
    assert inside(picture.figure)
    (key,) = picture.figure.legends
    assert len(key.get_texts()) == 40 + 1  # the last one says what the bands are
    lowest = min(ax.get_tightbbox().y0 for ax in picture.figure.axes)
    assert key.get_window_extent().y1 <= lowest  # below, and over no panel
    assert key.get_window_extent().y0 >= picture.figure.bbox.y0
    assert all(ax.get_window_extent().height / picture.figure.dpi > 2 for ax in picture.figure.axes)
