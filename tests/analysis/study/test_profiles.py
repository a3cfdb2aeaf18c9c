"""Performance profiles against tables worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from analysis.study.statistics import profile, tries

INF = np.inf


def test_a_missed_target_stays_in_the_denominator():
    costs = pd.DataFrame({"a": [1.0, INF, INF, 8.0], "b": [2.0, 3.0, INF, 4.0]}, index=["p", "q", "r", "s"])
    table = costs.rename_axis("problem").reset_index().melt("problem", var_name="algo", value_name="cost")
    found = profile(table.assign(weight=1.0, least=table["problem"].map(costs.min(axis=1))))
    assert [list(side) for side in found["a"]] == [[1.0, 2.0], [0.25, 0.5]]
    assert [list(side) for side in found["b"]] == [[1.0, 1.0, 2.0], [0.25, 0.5, 0.75]]
    without = table[(table["algo"] == "b") | (table["problem"] != "r")]  # so does what a method was not run on
    again = profile(without.assign(weight=1.0, least=without["problem"].map(costs.min(axis=1))))
    assert list(again["a"][1]) == [0.25, 0.5]
    halves = pd.DataFrame({"problem": ["p", "p", "q"], "algo": "a", "cost": [3.0, INF, 2.0], "weight": [0.5, 0.5, 1.0]})
    factors, solved = profile(halves.assign(least=[1.0, 1.0, 2.0]))["a"]
    assert (list(factors), list(solved)) == ([1.0, 3.0], [0.5, 0.75])  # half of p, all of q, of two problems


def costs_of(by_setting: list[list[float]]) -> pd.DataFrame:
    """Of one method on one problem: a list of seeds for every setting."""
    rows = [(k, seed, cost) for k, some in enumerate(by_setting) for seed, cost in enumerate(some)]
    return pd.DataFrame(rows, columns=["setting", "seed", "cost"]).assign(problem="p", algo="a")


def weights(table: pd.DataFrame, seed: int) -> list[float]:
    return table[table["seed"] == seed].sort_values("setting")["weight"].tolist()


def test_the_chance_that_each_setting_is_the_best_of_its_draw():
    one = costs_of([[3.0], [1.0], [2.0], [INF]])
    assert weights(tries(one, 1), 0) == [0.25] * 4  # blindly
    # of the six pairs, three have the best, two the second without it, one the third with the last
    assert weights(tries(one, 2), 0) == pytest.approx([1 / 6, 3 / 6, 2 / 6, 0.0])
    assert weights(tries(one, 4), 0) == weights(tries(one, 9), 0) == [0.0, 1.0, 0.0, 0.0]


def test_settings_are_chosen_at_the_other_seeds_and_seeds_share_a_problem():
    table = tries(costs_of([[1.0, 9.0, 9.0], [5.0, 2.0, 2.0]]), 2)
    assert weights(table, 0) == [0.0, pytest.approx(1 / 3)]  # 2 against 9 at the others, though 1 against 5 here
    assert weights(table, 1) == [pytest.approx(0.0), pytest.approx(1 / 3)]  # (1 + 9)/2 against (5 + 2)/2
    assert table["weight"].sum() == pytest.approx(1.0)
    missed = tries(costs_of([[1.0, INF, 1.0], [8.0, 8.0, 8.0]]), 2)
    assert weights(missed, 0) == [0.0, pytest.approx(1 / 3)]  # fewer misses come before less cost
    assert weights(missed, 1) == [pytest.approx(1 / 3), 0.0]
