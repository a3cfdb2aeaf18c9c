"""The statistics against cases worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from analysis.study.statistics import (
    Best,
    at_multiple,
    best_setting,
    bootstrap,
    mean,
    paired,
    profile,
    robustness,
    slope,
)


def test_a_mean_has_students_interval_from_three_values_on():
    found = mean(np.array([1.0, 2.0, 3.0]))
    half = 4.302653 / np.sqrt(3)  # the 97.5 % point of Student's distribution with two degrees of freedom
    assert (found.value, found.count) == (2.0, 3)
    assert (found.low, found.high) == (pytest.approx(2 - half, rel=1e-6), pytest.approx(2 + half, rel=1e-6))
    assert mean(np.array([1.0, 3.0])).value == 2.0
    assert np.isnan(mean(np.array([1.0, 3.0])).low)
    assert np.isnan(mean(np.array([1.0, np.nan, 3.0])).value)  # never the mean of the survivors
    assert np.isnan(mean(np.array([])).value)


def test_differences_are_taken_seed_by_seed():
    ours = pd.Series({0: 11.0, 1: 22.0, 2: 33.0})
    theirs = pd.Series({2: 30.0, 1: 20.0, 0: 10.0, 9: 1e9})
    found = paired(ours, theirs)
    assert (found.value, found.count) == (2.0, 3)
    assert (found.low, found.high) == (1.0, 3.0)  # (1, 1, 1) and (3, 3, 3) are drawn once in 27 times each
    assert paired(ours, ours - 5).low == paired(ours, ours - 5).high == 5.0
    assert bootstrap(np.array([0.0, 1.0, 1.0, 1.0])).low == 0.0  # P(mean = 0) = 1/256, and the tail is 0.012 %
    many = bootstrap(np.repeat([0.0, 1.0], 200))  # of many, that of the normal distribution
    assert (many.low, many.high) == pytest.approx((0.5 - 1.96 * 0.025, 0.5 + 1.96 * 0.025), abs=0.003)


def test_the_exponent_of_a_power_law():
    x = pd.Series([1.0, 4.0, 16.0] * 3)
    seeds = pd.Series([0] * 3 + [1] * 3 + [2] * 3)
    found = slope(x, 7 * x**-0.25, seeds)
    assert (found.value, found.low, found.high) == pytest.approx((-0.25, -0.25, -0.25))
    tilted = x ** (-0.25 - 0.01 * seeds)
    assert slope(x, tilted, seeds).value == pytest.approx(-0.26)
    assert slope(x[:6], 7 * x[:6] ** -0.25, seeds[:6]).count == 2
    gone = (7 * x**-0.25).where(x.index != 4)
    assert np.isnan(slope(x, gone, seeds).value)  # not the exponent of the survivors
    assert np.isnan(slope(x[:8], 7 * x[:8] ** -0.25, seeds[:8]).value)  # a seed lacks a point
    assert np.isnan(slope(x[:6], 7 * x[:6] ** -0.25, seeds[:6]).low)


def runs(rows: list[tuple], metric: str = "test_accuracy") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["eta", "seed", "state", metric])


def grid(accuracies: dict[float, list[float | None]]) -> pd.DataFrame:
    """None: that seed diverged."""
    return runs(
        [
            (eta, seed, "done" if value is not None else "diverged", np.nan if value is None else value)
            for eta, values in accuracies.items()
            for seed, value in enumerate(values)
        ]
    )


def best_of(accuracies: dict[float, list[float | None]]) -> Best | None:
    return best_setting(grid(accuracies), ["eta"])


def test_the_rule_for_the_best_stepsize():
    best = best_of({0.01: [80, 82], 0.1: [90, 88], 1.0: [89, 90], 10.0: [99, None]})
    assert (best.values, best.edges) == ({"eta": 1.0}, [])  # 89.5 beats 89; at 10 a seed diverged
    assert best_of({0.1: [90.0], 1.0: [90.0]}).values == {"eta": 0.1}  # ties go to the smaller
    assert best_of({0.1: [80.0], 1.0: [90.0]}).edges == ["eta"]
    assert not best_of({0.1: [80.0]}).edges
    assert best_of({0.1: [80.0]}).alone
    assert best_of({0.1: [None, 80], 1.0: [None, None]}) is None


def test_stepsizes_are_compared_on_the_seeds_that_most_have():
    best = best_of({0.1: [90, 90, 50, 50], 1.0: [80, 80], 10.0: [70, 70]})
    assert (best.values, best.seeds) == ({"eta": 0.1}, [0, 1])
    lone = pd.concat([grid({0.1: [90, 90], 1.0: [80, 80], 5.0: [85, 85]}), runs([(10.0, 1, "done", 99.0)])])
    best = best_setting(lone, ["eta"])
    assert best.values == {"eta": 0.1}  # one exploratory run neither wins nor decides which seeds count
    late = {0.1: [80, 80], 0.5: [70, 70], 1.0: [90, 90, None]}
    assert best_of(late).values == {"eta": 0.1}  # it diverged, if for a seed that the others do not have
    hole = grid({0.1: [80.0, 80.0], 1.0: [90.0, 90.0]})
    hole.loc[3, "test_accuracy"] = np.nan
    assert best_setting(hole, ["eta"]).values == {"eta": 0.1}  # never the mean of what is left


def test_without_accuracies_the_least_loss_is_best():
    table = runs([(0.1, 0, "done", 3.0), (1.0, 0, "done", 2.0), (10.0, 0, "done", 5.0)], "test_loss")
    assert best_setting(table, ["eta"]).values == {"eta": 1.0}


def test_robustness_by_hand():
    found = robustness(
        grid({0.01: [70.0], 0.1: [89.6], 0.5: [89.4], 1.0: [90.0], 5.0: [89.8], 10.0: [60.0]}), ["eta"], "eta"
    )
    assert found.best.values == {"eta": 1.0}
    assert found.decades == pytest.approx(np.log10(5 / 1))  # 0.5 is more than half a point off, so 0.1 does not count
    assert found.lost_up == pytest.approx(30.0)
    assert found.lost_down == pytest.approx(0.4)
    gone = robustness(grid({0.1: [80.0], 1.0: [90.0], 10.0: [None]}), ["eta"], "eta")
    assert (gone.lost_up, gone.lost_down, gone.decades) == (np.inf, 10.0, 0.0)
    assert np.isnan(robustness(grid({1.0: [90.0], 5.0: [89.0]}), ["eta"], "eta").lost_up)


def square(accuracies: dict[tuple[float, float], list[float | None]]) -> pd.DataFrame:
    """By (η, β)."""
    parts = [grid({eta: values}).assign(beta=beta) for (eta, beta), values in accuracies.items()]
    return pd.concat(parts, ignore_index=True)


BOTH = ["eta", "beta"]
SQUARE: dict[tuple[float, float], list[float | None]] = {
    (0.1, 0.0): [70, 72], (1.0, 0.0): [90.6, 90.6], (10.0, 0.0): [60, 60],
    (0.1, 0.5): [90, 92], (1.0, 0.5): [90, 90], (10.0, 0.5): [90.8, 90.8],
    (0.1, 0.9): [85, 85], (1.0, 0.9): [99, None], (10.0, 0.9): [None, None],
}  # fmt: skip


def test_the_best_of_two_options_by_hand():
    best = best_setting(square(SQUARE), BOTH)
    assert best.values == {"eta": 0.1, "beta": 0.5}  # 91, and 99 where a seed diverged
    assert best.edges == ["eta"]  # 0.1 is the smallest η, 0.5 lies between
    assert len(best.of(square(SQUARE))) == 2
    assert len(best.of(square(SQUARE), but="eta")) == 6
    assert best.along("eta").to_dict() == {0.1: 91, 1.0: 90, 10.0: pytest.approx(90.8)}
    assert best.along("beta").to_dict() == {0.0: 71, 0.5: 91, 0.9: 85}
    corner = best_setting(square({**SQUARE, (10.0, 0.0): [95, 95]}), BOTH)
    assert (corner.values, corner.edges) == ({"eta": 10.0, "beta": 0.0}, BOTH)
    assert best_setting(square({key: [None, 80] for key in SQUARE}), BOTH) is None


def test_settings_that_tie_or_lack_a_seed():
    even = {key: [80.0, 80.0] for key in SQUARE}
    assert best_setting(square({**even, (1.0, 0.0): [90, 90], (0.1, 0.9): [90, 90]}), BOTH).values == {
        "eta": 0.1,
        "beta": 0.9,
    }  # the smaller η; of one η the smaller β
    assert best_setting(square(even), BOTH).values == {"eta": 0.1, "beta": 0.0}
    lacking = best_setting(square({**SQUARE, (0.1, 0.5): [99]}), BOTH)
    assert lacking.values == {"eta": 10.0, "beta": 0.5}  # one seed of two: set aside
    assert (lacking.seeds, lacking.edges) == ([0, 1], ["eta"])
    assert (0.1, 0.5) not in lacking.means.index


def test_robustness_of_one_option_with_the_other_at_its_best():
    table = square(SQUARE)
    eta, beta = robustness(table, BOTH, "eta"), robustness(table, BOTH, "beta")
    assert (eta.accuracy, beta.accuracy) == (91, 91)
    assert (
        eta.decades == 0.0
    )  # at β = 0.5: 90 at η = 1 is more than half a point off, so that 90.8 at 10 does not count
    assert eta.lost_up == pytest.approx(1.0)  # not the 0.4 points of β = 0, nor the infinite ones of β = 0.9
    assert np.isnan(eta.lost_down)
    assert (beta.decades, beta.lost_up) == (0.0, pytest.approx(np.nan, nan_ok=True))
    flat = robustness(square({**SQUARE, (0.1, 0.0): [91, 91]}), BOTH, "beta")
    assert flat.best.values["beta"] == 0.0  # of 91 and 91 the smaller
    assert np.isnan(flat.decades)  # from 0 there is no factor to 0.5
    assert at_multiple(flat.best, "beta", 10.0) is None
    assert at_multiple(flat.best, "eta", 100.0) == 10.0


def test_a_missed_target_stays_in_the_denominator():
    inf = np.inf
    costs = pd.DataFrame({"a": [1.0, inf, inf, 8.0], "b": [2.0, 3.0, inf, 4.0]}, index=["p", "q", "r", "s"])
    table = costs.rename_axis("problem").reset_index().melt("problem", var_name="algo", value_name="cost")
    found = profile(table.assign(weight=1.0), costs.min(axis=1))
    assert [list(side) for side in found["a"]] == [[1.0, 2.0], [0.25, 0.5]]
    assert [list(side) for side in found["b"]] == [[1.0, 1.0, 2.0], [0.25, 0.5, 0.75]]
    tries = pd.DataFrame({"problem": ["p", "p", "q"], "algo": "a", "cost": [3.0, inf, 2.0], "weight": [0.5, 0.5, 1.0]})
    factors, solved = profile(tries, pd.Series({"p": 1.0, "q": 2.0}))["a"]
    assert (list(factors), list(solved)) == ([1.0, 3.0], [0.5, 0.75])  # half of p, all of q, of two problems
