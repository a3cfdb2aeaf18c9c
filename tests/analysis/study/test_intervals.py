"""Intervals against cases worked out by hand, and what they cover."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.study.statistics import Interval, across, mean, paired, ratio, significantly_different, slope
from analysis.tables import network_times

T4 = 2.7764451
"""The 97.5 % point of Student's distribution with four degrees of freedom, from a table."""
T4_OF_THREE = 3.9607865
"""Its point for one of three that hold together: 1 − 0.025/3."""
FIVE = np.array([1.0, 2.0, 3.0, 4.0, 5.0])  # with a standard deviation of √2.5, and so an error of √0.5


def test_a_mean_has_students_interval_from_five_values_on():
    found = mean(FIVE)
    assert (found.value, found.count, found.known) == (3.0, 5, True)
    assert (found.low, found.high) == pytest.approx((3 - T4 * 0.5**0.5, 3 + T4 * 0.5**0.5), rel=1e-6)
    four = mean(FIVE[:4])
    assert (four.value, four.known) == (2.5, False)
    assert np.isnan([four.low, four.high]).all()
    assert np.isnan(mean(np.array([1.0, np.nan, 3.0, 4.0, 5.0, 6.0])).value)  # never the mean of the survivors
    assert np.isnan(mean(np.array([])).value)


def test_of_a_family_all_intervals_hold_together():
    wide = mean(FIVE, family=3)
    assert (wide.low, wide.high) == pytest.approx((3 - T4_OF_THREE * 0.5**0.5, 3 + T4_OF_THREE * 0.5**0.5), rel=1e-6)
    same = pd.Series(FIVE - 3 + 2.2)  # 2.2 / √0.5 = 3.11, between the two points
    zero = pd.Series(np.zeros(5))
    assert significantly_different(same, zero) is True
    assert significantly_different(same, zero, family=3) is False
    assert paired(same, zero, family=3).low < 0 < paired(same, zero).low


def test_differences_are_taken_seed_by_seed():
    ours, theirs = pd.Series(dict(enumerate(FIVE))), pd.Series({4: 1.0, 3: 2.0, 2: 3.0, 1: 4.0, 0: 5.0, 9: 1e9})
    found = paired(ours, theirs)  # −4, −2, 0, 2, 4: their error is √2
    assert (found.value, found.count) == (0.0, 5)
    assert (found.low, found.high) == pytest.approx((-T4 * 2**0.5, T4 * 2**0.5), rel=1e-6)
    shifted = paired(ours, ours - 5)
    assert (shifted.low, shifted.value, shifted.high) == (5.0, 5.0, 5.0)
    assert significantly_different(ours, ours - 5) is True
    assert significantly_different(ours[:4], ours[:4] - 5) is None  # four seeds tell nothing apart


def test_a_ratio_is_ours_over_theirs():
    theirs = pd.Series(dict(enumerate(FIVE)))
    found = ratio(paired(np.log(2 * theirs), np.log(theirs)))
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    one = ratio(Interval(0.0, -np.log(4), np.log(2), 5))
    assert (one.low, one.value, one.high) == pytest.approx((0.25, 1.0, 2.0))


def test_students_interval_covers_what_it_says():
    """2000 times five draws; the mean of three differences at once with Bonferroni's."""
    draws = np.random.default_rng(7).standard_normal((2000, 3, 5))
    alone = [mean(some[0]) for some in draws]
    assert 0.935 <= np.mean([found.low <= 0 <= found.high for found in alone]) <= 0.965
    together = [[mean(one, family=3) for one in some] for some in draws]
    assert 0.935 <= np.mean([all(one.low <= 0 <= one.high for one in some) for some in together]) <= 0.97


def test_a_mean_over_problems_by_hand():
    three = [np.full(5, 1.0), np.full(4, 2.0), np.full(1, 6.0)]  # 3 on average; seeds do not differ
    found = across(three)
    error = np.std([1, 2, 6], ddof=1) / 3**0.5
    assert (found.value, found.count) == (3.0, 3)  # of problems, however many seeds each has
    half = stats.t.ppf(0.975, 2) * error
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half), abs=0.15)  # 10 000 draws know it to 2 %
    assert across(three) == found
    assert across(three[:2]).value == 1.5
    assert not across(three[:2]).known  # two problems say nothing of others like them
    assert np.isnan(across([*three, np.array([1.0, np.nan])]).value)
    seeds = across([np.array([0.0, 10.0])] * 3)  # equal problems, whose seeds differ
    assert seeds.value == 5.0
    assert seeds.low < 5.0 < seeds.high


@pytest.mark.parametrize(("between", "least", "most"), [(1.0, 0.92, 0.98), (0.0, 0.95, 1.0)])
def test_what_the_interval_over_problems_covers(between, least, most, monkeypatch):
    """Problems that differ: 95 %; problems that are all alike: more, for seeds are drawn twice over."""
    monkeypatch.setattr("analysis.study.statistics.intervals.RESAMPLES", 200)
    draws = np.random.default_rng(3)
    hits = []
    for _ in range(400):
        problems = between * draws.standard_normal((4, 1)) + 0.1 * draws.standard_normal((4, 5))
        found = across(list(problems))
        hits.append(found.low <= 0 <= found.high)
    assert least <= np.mean(hits) <= most


def test_the_exponent_of_a_power_law():
    x, seeds = pd.Series([1.0, 4.0, 16.0] * 5), pd.Series(np.repeat(range(5), 3))
    found = slope(x, 7 * x**-0.25, seeds)
    assert (found.value, found.low, found.high) == pytest.approx((-0.25, -0.25, -0.25))
    tilted = slope(x, x ** (-0.25 - 0.01 * seeds), seeds)
    assert tilted.value == pytest.approx(-0.27)
    assert tilted.high - tilted.value == pytest.approx(0.01 * T4 * 0.5**0.5)
    gone = (7 * x**-0.25).where(x.index != 4)
    assert np.isnan(slope(x, gone, seeds).value)  # not the exponent of the survivors
    assert np.isnan(slope(x[:14], 7 * x[:14] ** -0.25, seeds[:14]).value)  # a seed lacks a point
    few = slope(x[:12], 7 * x[:12] ** -0.25, seeds[:12])
    assert (few.count, few.known) == (4, False)


@pytest.mark.parametrize(("seeds", "known"), [(2, False), (5, True)])
def test_equal_times_have_an_interval_from_five_seeds_on(seeds, known):
    found, _ = network_times._time(pd.DataFrame({"seed": range(seeds), "time": 0.5}), "time")
    assert found[""] == 0.5
    assert np.isfinite(found["_low"]) == np.isfinite(found["_high"]) == known
