"""Diverged runs, and values of exactly 0, in figures of final values."""

from itertools import product

import numpy as np
import pytest

from analysis.drawing.lines import draw_against_setting, spread
from analysis.drawing.panels import DIVERGING, NONFINITE, NOTES, ZERO, has_mark, panels
from analysis.drawing.style import styles
from analysis.figures import drawings
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from tests.helpers.invented import made


def on_two_partitions(**theirs: object) -> Results:
    """Two methods on two partitions with three seeds; ``mine`` has these labels and numbers on the uneven one."""
    rows = [
        {"algo": algo, "seed": seed, "partition": partition, "end": 0.1 * (1 + seed), "accuracy": 80.0 + seed}
        | (theirs if (algo, partition) == ("mine", "by_label") else {})
        for algo, seed, partition in product(("dnasa", "mine"), range(3), ("even", "by_label"))
    ]
    return made(rows, [{"heterogeneity": 0.0 if row["partition"] == "even" else 1.0} for row in rows])


def draw(results: Results):
    return drawings()["heterogeneity"].draw(results, FigureOptions())


def mean_of(picture, metric: str) -> float:
    table = picture.data.set_index(["algo", "metric", "split"])["mean"]
    return float(table["mine", metric, "by_label"])


@pytest.mark.parametrize(
    "gone",
    [
        {"state": "diverging", "end": 4e31, "accuracy": 10.0},
        {"state": "done", "train": 4e31, "end": 4e31, "accuracy": 10.0},  # as older versions stored it
    ],
)
def test_heterogeneity_draws_an_arrow_and_no_mean(gone):
    picture = draw(on_two_partitions(**gone))
    accuracy, consensus = picture.figure.axes
    assert has_mark(consensus, DIVERGING)
    assert not has_mark(accuracy, DIVERGING)
    assert consensus.get_ylim()[1] < 100
    assert np.isnan(mean_of(picture, "consensus"))
    assert mean_of(picture, "test_accuracy") == 10
    assert NOTES[DIVERGING] in picture.notes


def test_heterogeneity_draws_a_cross_at_the_worse_end():
    picture = draw(on_two_partitions(state="nonfinite", end=np.nan, accuracy=10.0))
    heights = [
        [line.get_ydata()[0] for line in ax.lines if line.get_label() == NONFINITE] for ax in picture.figure.axes
    ]
    assert heights == [[pytest.approx(0.02)], [pytest.approx(0.98)]]
    assert np.isnan(mean_of(picture, "test_accuracy"))


def test_heterogeneity_marks_zeros_on_the_lower_edge():
    picture = draw(on_two_partitions(end=0.0))
    _, consensus = picture.figure.axes
    (zero,) = [line for line in consensus.lines if line.get_label() == ZERO]
    assert zero.get_ydata().tolist() == [0]
    assert zero.get_xdata()[0] == pytest.approx(1, abs=0.1)  # beside the second partition
    assert consensus.get_ylim()[0] > 1e-3
    assert mean_of(picture, "consensus") == 0
    assert NOTES[ZERO] in picture.notes


def test_two_diverging_seeds_in_an_accuracy_are_two_points():
    results = on_two_partitions(state="diverging", end=4e31, accuracy=10.0).where([("seed", ["0", "1"])])
    accuracy, consensus = draw(results).figure.axes
    points = [line for line in accuracy.lines if line.get_markersize() == 2]
    assert sorted(value for line in points for value in line.get_ydata()) == [10, 10, 80, 80, 80, 81, 81, 81]
    points = [line for line in consensus.lines if line.get_markersize() == 2]
    assert sorted(value for line in points for value in line.get_ydata()) == pytest.approx([0.1] * 3 + [0.2] * 3)


def test_there_is_no_mean_with_a_diverging_run():
    finals = made([{"algo": "a", "seed": seed, "x": 1.0, "end": 0.5} for seed in range(3)]).finals
    finals["state"] = finals["state"].where(finals["seed"] < 2, "diverging")
    table = spread(finals.assign(x=1.0), "x", "consensus")
    assert table[["mean", "low", "high"]].isna().all(axis=None)
    assert table["diverging"].tolist() == [1]


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_zeros_are_marked_on_a_logarithmic_axis_alone(scale):
    finals = made(
        [{"algo": "a", "seed": k, "eta": eta, "end": eta} for k, eta in enumerate((0.0, 1.0, 0.0, 2.0))]
    ).finals
    _, axes = panels(1, 1)
    axes[0, 0].set_yscale(scale)
    draw_against_setting(axes[0, 0], finals.assign(x=range(4)), "x", "consensus", styles(["a"])["a"])
    zeros = [x for line in axes[0, 0].lines if line.get_label() == ZERO for x in line.get_xdata()]
    assert zeros == ([0, 2] if scale == "log" else [])
    first = np.asarray(axes[0, 0].lines[1 if scale == "log" else 0].get_ydata(), float)
    assert np.isnan(first).any() == (scale == "log")


@pytest.mark.parametrize(("end", "lines"), [(0.5, 1), (0.0, 0)])
def test_a_line_towards_an_arrow_begins_at_a_value_that_is_drawn(end, lines):
    rows = [{"eta": 0.1, "end": end}, {"eta": 1.0, "end": 4e31, "state": "diverging"}]
    finals = made([{"algo": "a", **row} for row in rows]).finals
    _, axes = panels(1, 1)
    axes[0, 0].set_yscale("log")
    draw_against_setting(axes[0, 0], finals, "eta", "consensus", styles(["a"])["a"])
    assert len(axes[0, 0].texts) == lines
