"""How much a method cares about an option, against tables worked out by hand."""

import numpy as np
import pytest

from analysis.study.statistics import Grid, lost, robustness
from tests.helpers.grids import BOTH, SQUARE, grid, square


def test_robustness_by_hand():
    found = robustness(
        grid({0.01: [70.0], 0.1: [89.6], 0.5: [89.4], 1.0: [90.0], 5.0: [89.8], 10.0: [60.0]}), ["eta"], "eta"
    )
    assert found.best.values == {"eta": 1.0}
    assert found.decades.value == pytest.approx(np.log10(5))  # 0.5 is more than half a point off: 0.1 does not count
    assert found.lost_up.value == pytest.approx(30.0)
    assert found.lost_down.value == pytest.approx(0.4)
    assert not found.lost_up.known
    gone = robustness(grid({0.1: [80.0], 1.0: [90.0], 10.0: [None]}), ["eta"], "eta")
    assert (gone.lost_up.value, gone.lost_down.value, gone.decades.value) == (np.inf, 10.0, 0.0)
    off = robustness(grid({1.0: [90.0], 5.0: [89.0]}), ["eta"], "eta").lost_up
    assert np.isnan(off.value)
    assert off.count == 0


def test_what_is_lost_is_lost_against_the_choice_of_the_other_seeds():
    table = grid({0.1: [79, 79, 79], 1.0: [90, 80, 80], 10.0: [80, 84, 84]})  # at seed 0 the others choose η = 10
    found = robustness(table, ["eta"], "eta")
    assert found.best.values == {"eta": 1.0}
    assert found.lost_down.value == pytest.approx((80 - 90 + 80 - 79 + 80 - 79) / 3)  # at seed 0 even won, by η = 1
    assert (found.lost_up.value, found.lost_up.count) == (pytest.approx((80 - 84 + 80 - 84) / 2), 2)  # no 100
    assert found.decades.value == pytest.approx((1 + 1 + 1) / 3)  # seed 0: 1 and 10; seeds 1, 2: 84 is within too
    wide = robustness(grid({eta: [80.0 + eta + s for s in range(5)] for eta in (0.1, 1.0)}), ["eta"], "eta")
    assert (wide.lost_down.low, wide.lost_down.high) == pytest.approx((0.9, 0.9))  # of paired seeds


def test_another_value_for_every_choice_and_the_sign_of_losses():
    losses = grid({0.1: [3.0, 3.0], 1.0: [2.0, 2.0], 10.0: [5.0, 7.0]}, "test_loss")
    assert lost(Grid(losses, ["eta"]), "eta", lambda eta: 10 * eta).value == 4.0  # more of it: lost
    assert lost(Grid(losses, ["eta"]), "eta", lambda _: 0.1).value == 1.0
    assert lost(Grid(losses, ["eta"]), "eta", lambda eta: eta).value == 0.0


def test_robustness_of_one_option_with_the_other_at_its_best():
    ones = {key: values[1:] for key, values in SQUARE.items()}  # seed 1 alone, at which (0.1, 0.5) has 92
    eta, beta = (robustness(square(ones), BOTH, option) for option in BOTH)
    assert eta.decades.value == 0.0  # at β = 0.5: 90 at η = 1 is more than half a point off, so 10 does not count
    assert eta.lost_up.value == pytest.approx(2.0)  # not that of β = 0, nor the infinite ones of β = 0.9
    assert np.isnan(eta.lost_down.value)
    assert (beta.decades.value, beta.lost_up.count) == (0.0, 0)
    flat = robustness(square({**ones, (0.1, 0.0): [92]}), BOTH, "beta")
    assert flat.best.values["beta"] == 0.0  # of 92 and 92 the smaller
    assert np.isnan(flat.decades.value)  # from 0 there is no factor to 0.5
