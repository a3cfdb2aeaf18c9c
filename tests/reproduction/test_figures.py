"""The paper's own figures from small real sweeps."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

import reproduction.register  # noqa: F401 (registers the figures and tables)
from analysis.drawing.panels import DIVERGING, NONFINITE, NOTES, has_mark
from analysis.figures import drawings
from analysis.study.figure_options import FigureOptions
from analysis.tables import table_makers
from reproduction.evidence.published import accuracy_as_released
from reproduction.study import published
from reproduction.study.families import stepsizes_in_words
from tests.helpers.invented import made, of
from tests.helpers.mentions import mentions

pytestmark = pytest.mark.xdist_group("figures")


def test_speedup_fits_the_exponents(drawn, finals):
    data = drawn("speedup").data
    mine = of(finals, dataset="synthetic", schedule="fixed", nodes=4)
    each = []
    for _, one in mine.groupby("seed"):
        x, y = np.log(one["steps"].astype(float)), np.log(one["grad_norm_mean"].astype(float))
        each.append(np.diff(y)[0] / np.diff(x)[0])
    rates = data.dropna(subset="exponent")
    (rate,) = rates[(rates["of"] == "steps") & (rates["at"] == "n = 4")].to_dict("records")
    assert rate["exponent"] == pytest.approx(np.mean(each))
    assert rate["theory"] == -0.25
    curve = data[(data["schedule"] == "diminishing") & (data["nodes"] == 2) & (data["metric"] == "test_loss")]
    last = of(finals, dataset="synthetic", schedule="diminishing", nodes=2)["test_loss"].mean()
    assert curve.sort_values("step")["mean"].iloc[-1] == pytest.approx(last)


def of_speed(ends: dict[tuple[int, int], float], gone: tuple[int, int] | None = None, state: str = "diverging"):
    """Runs of D-NASA by nodes and steps with these means of the gradient norm; seed 0 at ``gone`` diverged."""
    ours = {"algo": "dnasa", "dataset": "synthetic", "schedule": "fixed", "multiplier": 1.0}
    points = [(n, steps, seed) for n, steps in ends for seed in range(5)]
    rows = [
        {**ours, "nodes": n, "steps": steps, "seed": seed, "end": 0.1}
        | ({"state": state} if (n, steps) == gone and not seed else {})
        for n, steps, seed in points
    ]
    found = made(rows)
    means = [1e30 if (n, t) == gone and not seed else ends[n, t] for n, t, seed in points]
    if state == "nonfinite":
        means = [np.nan if mean == 1e30 else mean for mean in means]
    rows = found.rows.assign(grad_norm_mean=np.repeat(means, 3))
    return replace(found, rows=rows)


def with_both_schedules(found):
    """The same runs once more with the diminishing schedule: the panel of T is in the second row."""
    also = found.runs.assign(schedule="diminishing", run_id="also " + found.runs["run_id"], state="done")
    rows = found.rows.assign(run_id="also " + found.rows["run_id"], grad_norm_mean=1.0)
    facts = {run: {} for run in (*found.runs["run_id"], *also["run_id"])}
    return replace(found, runs=pd.concat([found.runs, also]), rows=pd.concat([found.rows, rows]), facts=facts)


MEANS = {(2, 100): 8.0, (4, 100): 4.0, (2, 200): 6.0, (4, 200): 2.0, (8, 200): 7.0}


def panel_of_steps(picture):
    (ax,) = [ax for ax in picture.figure.axes if ax.get_xlabel() == "number of steps T"]
    return ax


def test_the_slope_and_the_points_are_of_one_number_of_nodes():
    """Eight nodes have one T; the last fit is that of four nodes: 4 and 2, which is a slope of −1."""
    picture = drawings()["speedup"].draw(with_both_schedules(of_speed(MEANS)), FigureOptions())
    ax = panel_of_steps(picture)
    labels = ax.get_legend_handles_labels()[1]
    assert any("n = 4" in label and "−1.000" in label for label in labels), labels
    (bars,) = ax.containers
    assert bars.lines[0].get_xydata().tolist() == [[100, 4], [200, 2]]
    (theory,) = [line for line in ax.lines if "theory" in str(line.get_label())]
    assert theory.get_ydata() == pytest.approx([4, 4 * 2**-0.25])
    drawn = picture.data[picture.data["setting"] == "steps"]
    assert drawn[["x", "mean"]].to_numpy().tolist() == [[100, 4], [200, 2]]


@pytest.mark.parametrize(("state", "mark"), [("diverging", DIVERGING), ("nonfinite", NONFINITE)])
def test_a_diverged_run_leaves_no_mean_and_no_exponent(state, mark):
    found = of_speed(MEANS, gone=(4, 200), state=state)
    picture = drawings()["speedup"].draw(with_both_schedules(found), FigureOptions())
    ax = panel_of_steps(picture)
    assert has_mark(ax, mark)
    assert ax.get_ylim()[1] < 100
    labels = ax.get_legend_handles_labels()[1]
    assert not any("nan" in text for text in (*labels, *picture.notes)), (labels, picture.notes)
    drawn = picture.data[picture.data["setting"] == "steps"].set_index("x")["mean"]
    assert drawn[100] == 4
    assert np.isnan(drawn[200])
    assert NOTES[mark] in picture.notes


def test_spike_shows_both_readings_at_the_best_stepsize(drawn, finals):
    picture = drawn("spike")
    assert set(picture.data["spike_sd"]) == {10.0, 100.0}
    for sd in (10.0, 100.0):
        mine = finals[(finals["dataset"] == "spike") & (finals["dataset.spike_sd"] == sd) & (finals["algo"] == "dsgd")]
        clean = mine.groupby("eta").filter(lambda runs: (runs["state"] == "done").all())
        best = clean.groupby("eta")["test_loss"].mean()
        shown = of(picture.data, spike_sd=sd, algo="dsgd", metric="test_loss").sort_values("step")["mean"].iloc[-1]
        assert shown == pytest.approx(best.min())
        assert any(mentions(note, f" {sd:g}", f"D-SGD η={best.idxmin():g}") for note in picture.notes)
    assert any(note.startswith("best stepsize: ") for note in picture.notes)


def test_graphs(drawn):
    data = drawn("graphs").data
    assert set(zip(data["topology"], data["nodes"], strict=True)) == {
        ("ring", 8),
        ("complete", 8),
        ("ring", 4),
        ("ring", 2),
    }
    assert data.set_index(["topology", "nodes"])["rho"][("ring", 8)] == pytest.approx(0.8047, abs=1e-4)


def test_scale_shows_that_dnasa_is_invariant(drawn):
    data = drawn("scale").data
    ours = data[data["algo"] == "dnasa"]
    assert set(ours["x"]) == {0.5, 1.0, 4.0}
    assert ours["mean"].nunique() == 1  # bit for bit: c is a power of two
    assert data[data["algo"] == "dsgd"]["mean"].nunique() > 1


def test_released_compares_each_change_with_what_is_written(drawn, finals):
    data = drawn("released").data
    changed = "per-tensor norm, raw gradients averaged"
    assert set(data["change"]) == {"as written", changed}
    mine = of(finals, algo="dnasa", normalize="tensor")
    (shown,) = data[(data["change"] == changed) & (data["metric"] == "test_accuracy")]["mean"]
    assert shown == pytest.approx(mine["test_accuracy"].mean())


def test_released_averages_neither_graphs_with_other_options_nor_stepsizes():
    """One seed is one run of a point, and the note says which graph it is."""
    rows = [
        {"algo": "dsgd", "eta": eta, "init": init, "topology": "random", "topology.p": p, "seed": seed}
        | {"end": 0.1, "accuracy": 80.0 + 10 * p + eta + seed + (init == "independent"), "schedule": "diminishing"}
        for p, eta, init, seeds in (
            *((0.4, 0.1, init, 3) for init in ("shared", "independent")),
            *((0.9, 0.1, init, 2) for init in ("shared", "independent")),
            *((0.4, 1.0, init, 2) for init in ("shared", "independent")),
        )
        for seed in range(seeds)
    ]
    found = made(rows)
    picture = drawings()["released"].draw(found, FigureOptions())
    table = table_makers()["variants"].make(found, FigureOptions())
    shown = picture.data[picture.data["metric"] == "test_accuracy"].set_index("change")
    assert shown["runs"].to_dict() == {"as written": 3, "independent starts": 3}
    assert shown["mean"].to_dict() == pytest.approx({"as written": 85.1, "independent starts": 86.1})
    assert table.data.set_index("change")["runs"].to_dict() == {"as written": 3, "independent starts": 3}
    (gap,) = accuracy_as_released(found)
    assert (gap.found.value, gap.found.count) == (pytest.approx(1.0), 3)
    for notes in (picture.notes, table.notes):
        assert any("topology.p=0.4" in note for note in notes), notes
        assert any("η=0.1" in note for note in notes), notes


def changed_with(**first: object):
    """As written and with independent starts; the first seed of the latter has these labels and numbers."""
    ours = {"algo": "dsgd", "eta": 0.1, "schedule": "diminishing", "end": 0.1, "accuracy": 80.0}
    return made(
        [
            {**ours, "init": init, "seed": seed, **(first if init == "independent" and not seed else {})}
            for init, seed in product(("shared", "independent"), range(3))
        ]
    )


def test_released_marks_a_run_that_diverged_and_keeps_its_accuracy():
    picture = drawings()["released"].draw(changed_with(state="diverging", end=1e30, accuracy=50.0), FigureOptions())
    table = picture.data.set_index(["metric", "change"])["mean"]
    assert table["test_accuracy", "independent starts"] == pytest.approx(70)
    assert np.isnan(table["consensus", "independent starts"])
    accuracy, consensus = picture.figure.axes
    assert not has_mark(accuracy, DIVERGING)
    assert [line.get_xdata() for line in consensus.lines if line.get_label() == DIVERGING] == [[0.99]]
    assert consensus.get_xlim()[1] < 100
    assert NOTES[DIVERGING] in picture.notes


def test_released_marks_a_run_that_is_not_finite_at_the_worse_end():
    picture = drawings()["released"].draw(changed_with(state="nonfinite", end=np.nan, accuracy=50.0), FigureOptions())
    marks = [[line.get_xdata()[0] for line in ax.lines if line.get_label() == NONFINITE] for ax in picture.figure.axes]
    assert marks == [[0.01], [0.99]]
    assert NOTES[NONFINITE] in picture.notes


def test_published_numbers_are_the_ones_of_the_paper():
    table = published.published()
    assert len(table) == 113
    ring = published.rows_of_setting("a9a", "ring", 5001)
    assert published.of_dnasa(ring)["test_accuracy"].tolist() == [84.85]
    assert ring[ring["algo"] == "dsgd"]["test_accuracy"].max() == 85.1
    assert published.rows_of_setting("digits", "ring", 40).empty


def test_runs_without_a_stepsize_have_no_note_on_stepsizes():
    found = made([{"algo": "dnasa", "end": 0.5}])
    assert stepsizes_in_words(found, found.finals) == []


@pytest.mark.parametrize(("name", "label", "power"), [("scale", "scale", 1), ("stretch", "input_scale", 2)])
def test_a_stepsize_is_chosen_by_losses_in_the_unit_of_f(name, label, power):
    """The largest c would decide alone: its losses are 10^(2·power) times those of the smallest."""
    losses = {(0.1, 0.01): 1.0, (0.1, 1.0): 1.0, (0.2, 0.01): 0.5, (0.2, 1.0): 1.1}
    rows = [
        {"algo": "dsgd", "eta": eta, label: c, "seed": seed, "end": c**power * loss, "train": c**power * loss}
        for (eta, c), loss in losses.items()
        for seed in range(3)
    ]
    for metric in (None, "train_loss"):
        picture = drawings()[name].picture(made(rows), FigureOptions(tune_by=metric))
        assert sorted(picture.data["mean"]) == pytest.approx([0.5, 1.1])
        assert any("divided by c" in note for note in picture.notes)
