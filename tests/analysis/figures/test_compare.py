"""Lines of compare: the best setting of each method, or all settings if every one of them diverged."""

import pytest

from analysis.figures import drawings
from analysis.study.figure_options import FigureOptions
from tests.helpers.invented import made

pytestmark = pytest.mark.xdist_group("figures")
SEEDS = range(3)
GOOD = [
    {"algo": "dsgt", "eta": eta, "seed": seed, "end": end} for eta, end in ((0.1, 0.5), (1.0, 0.3)) for seed in SEEDS
]


def draw(rows):
    return drawings()["compare"].draw(made(rows), FigureOptions())


@pytest.mark.parametrize("state", ["nonfinite", "diverging"])
@pytest.mark.parametrize("diverged", [1, 3])
def test_draws_every_setting_of_a_method_whose_settings_all_diverged(state, diverged):
    gone = [
        {"algo": "dsgd", "eta": eta, "seed": seed, "end": 9.0 * eta, "state": state if seed < diverged else "done"}
        for eta in (3.0, 6.0)
        for seed in SEEDS
    ]
    picture = draw([*GOOD, *gone])
    mine = picture.data[picture.data["algo"] == "dsgd"]
    assert set(mine["eta"]) == {3.0, 6.0}
    assert set(mine["runs"]) == {3}
    assert set(picture.data.loc[picture.data["algo"] == "dsgt", "eta"]) == {1.0}
    assert picture.runs == {f"run{k}" for k in range(3, 12)}
    assert any("D-SGD" in note for note in picture.notes)


def test_counts_only_the_runs_that_it_draws():
    picture = draw([*GOOD, *({"algo": "dnasa", "seed": seed, "end": 0.2} for seed in SEEDS)])
    assert picture.runs == {"run3", "run4", "run5", "run6", "run7", "run8"}
