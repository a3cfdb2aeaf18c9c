"""Figures of results with many problems, which a stranger can forge with a label each."""

import pytest

from analysis.drawing.panels import MOST, panels
from analysis.figures import drawings
from analysis.results.errors import NoData
from analysis.study.figure_options import FigureOptions
from analysis.study.select import PROBLEMS
from tests.helpers.invented import made

pytestmark = pytest.mark.xdist_group("figures")
FORGED = PROBLEMS + 1


def of_many(label, count):
    """D-SGD with two stepsizes and this label, numbered from 10."""
    rows = [{label: f"x{10 + k}", "algo": "dsgd", "eta": eta, "end": eta} for k in range(count) for eta in (0.1, 1.0)]
    return made(rows, [{"mixing": {"rho": 0.8}}] * len(rows))


@pytest.mark.parametrize(("name", "label"), [("curves", "dataset"), ("stepsize", "dataset"), ("topology", "topology")])
def test_the_first_problems_are_drawn_and_the_others_counted(name, label):
    for count in (PROBLEMS, FORGED):
        results = of_many(label, count)
        results.runs["rho"] = 0.8
        picture = drawings()[name].draw(results, FigureOptions(metrics=("test_loss",)))
        assert sorted(set(picture.data[label])) == [f"x{10 + k}" for k in range(PROBLEMS)]
        assert len([ax for ax in picture.figure.axes if ax.get_visible()]) == PROBLEMS
        told = [note for note in picture.notes if f"{PROBLEMS} of {FORGED}" in note and f"--where {label}=" in note]
        assert len(told) == (count > PROBLEMS)


def test_a_figure_with_too_many_panels_is_not_made():
    with pytest.raises(NoData, match=f"{MOST + 20} panels.*--where"):
        panels(MOST // 20 + 1, 20)
