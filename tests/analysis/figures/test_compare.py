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


def test_names_options_that_are_not_the_default():
    rows = [{**row, "gossip": "once"} for row in GOOD]
    assert not any("gossip" in note for note in draw(rows).notes)
    picture = draw([{**row, "gossip": "twice"} for row in GOOD])
    assert any("gossip=twice (default once)" in note for note in picture.notes)
    only = [{"algo": "dnasa", "multiplier": 0.1, "seed": seed, "end": 0.2} for seed in SEEDS]
    assert any("multiplier=0.1 (default 1)" in note for note in draw([*GOOD, *only]).notes)


def test_options_that_differ_between_panels_are_in_the_legend():
    rows = [{**row, "gossip": "once"} for row in GOOD]
    rows += [{**row, "gossip": "twice", "topology": "complete"} for row in GOOD]
    picture = draw(rows)
    assert set(picture.data["variant"]) == {"gossip=once", "gossip=twice"}
    words = [text.get_text() for text in picture.figure.legends[0].texts]
    assert len([word for word in words if "gossip=twice" in word]) == 1
    assert len([word for word in words if "gossip=once" in word]) == 1
