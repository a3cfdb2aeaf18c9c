"""Totals and tiers, on hand-made scores."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.board.totals import COMPARISONS, difference, stratum_means, tier_ranges, tiers, total, weights

STRATA = {"D1": "D", "T1": "T", "T2": "T"}
SEEDS = range(100, 110)


def scores(*means, noise=0.0, draw=0, seeds=SEEDS):
    g = np.random.default_rng(draw)
    return {
        name: pd.Series(mean + noise * g.standard_normal(len(seeds)), index=list(seeds))
        for name, mean in zip(STRATA, means, strict=True)
    }


def test_strata_have_equal_weight():
    assert weights(STRATA) == {"D1": 0.5, "T1": 0.25, "T2": 0.25}
    assert total(scores(1, 2, 4), STRATA).value == pytest.approx(0.5 * 1 + 0.5 * 3)
    assert stratum_means(scores(1, 2, 4), STRATA) == {"D": 1, "T": 3}


def test_a_missing_workload_gives_no_total():
    some = scores(1, 2, 3)
    del some["T2"]
    assert np.isnan(total(some, STRATA).value)
    assert tiers({"one": some, "two": scores(0, 0, 0)}, STRATA).tier == {"two": 1}


def test_the_interval_is_the_paired_student_interval():
    ours, theirs = scores(1, 1, 1, noise=0.3, draw=1), scores(0, 0, 0, noise=0.3, draw=2)
    apart = sum(w * (ours[n] - theirs[n]).to_numpy() for n, w in weights(STRATA).items())
    half = stats.t.ppf(1 - 0.025 / COMPARISONS, 9) * apart.std(ddof=1) / np.sqrt(10)
    found = difference(ours, theirs, STRATA)
    assert (found.low, found.high) == pytest.approx((apart.mean() - half, apart.mean() + half))


def test_a_workload_with_fewer_seeds_adds_its_own_variance():
    some = scores(1, 1, 1, noise=0.3)
    some["T2"] = some["T2"].iloc[:3]
    parts = [0.5 * some["D1"] + 0.25 * some["T1"], 0.25 * some["T2"]]
    variances = [part.var() / len(part) for part in parts]
    freedom = sum(variances) ** 2 / (variances[0] ** 2 / 9 + variances[1] ** 2 / 2)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(sum(variances))
    found = total(some, STRATA)
    assert found.high - found.value == pytest.approx(half)


def test_a_duplicate_lands_in_the_tier_of_its_twin():
    for draw in range(20):
        entrants = {f"m{k}": scores(k / 5, 0, k / 9, noise=0.4, draw=10 * draw + k) for k in range(8)}
        for name in list(entrants):
            both = tiers({**entrants, "twin": entrants[name]}, STRATA).tier
            assert both["twin"] == both[name]


def test_a_worse_entrant_moves_nobody():
    entrants = {f"m{k}": scores(k, k, k, noise=0.4, draw=k) for k in range(4)}
    before = tiers(entrants, STRATA).tier
    after = tiers({**entrants, "new": scores(-9, -9, -9, noise=0.1)}, STRATA).tier
    assert before == {name: after[name] for name in before}
    assert after["new"] == max(after.values())


def test_the_order_of_seeds_is_irrelevant():
    entrants = {f"m{k}": scores(k / 3, 0, 0, noise=0.4, draw=k) for k in range(5)}
    shuffled = {name: {w: s.sample(frac=1, random_state=3) for w, s in some.items()} for name, some in entrants.items()}
    assert tiers(shuffled, STRATA).tier == tiers(entrants, STRATA).tier
    apart = [difference(some["m1"], entrants["m0"], STRATA) for some in (entrants, shuffled)]
    assert apart[0].low == pytest.approx(apart[1].low)


def test_clear_differences_make_tiers_and_unclear_ones_do_not():
    entrants = {name: scores(m, m, m, noise=0.1, draw=m + 5) for name, m in (("a", 2), ("b", 0), ("c", -2))}
    assert tiers(entrants, STRATA).tier == {"a": 1, "b": 2, "c": 3}
    close = {name: scores(m, m, m, noise=2.0, draw=k) for k, (name, m) in enumerate((("a", 0.1), ("b", 0.0)))}
    assert set(tiers(close, STRATA).tier.values()) == {1}


def test_the_range_shows_what_one_workload_decides():
    """b wins on T1 alone, by much: without T1 it is last."""
    entrants = {"a": scores(0, 0, 0, noise=0.01, draw=1), "b": scores(-0.2, 3, -0.2, noise=0.01, draw=2)}
    assert tiers(entrants, STRATA).tier == {"a": 2, "b": 1}
    assert tier_ranges(entrants, STRATA) == {"a": (1, 2), "b": (1, 2)}


@pytest.mark.parametrize("skewed", [False, True])
def test_equal_entrants_are_in_tier_1(skewed):
    """Of 20 equal entrants, which differ in their spread, none is left out in more than 5 % of the cases."""
    g, cases, wrong = np.random.default_rng(0), 150, 0
    for _ in range(cases):
        draws = -g.gamma(2, 1, (20, 10)) if skewed else g.standard_normal((20, 10))
        values = g.uniform(0.03, 0.15, (20, 1)) * (draws - draws.mean() * skewed)
        each = {str(k): {"D1": pd.Series(row, index=list(SEEDS))} for k, row in enumerate(values - 0.0)}
        wrong += set(tiers(each, {"D1": "D"}).tier.values()) != {1}
    assert wrong / cases <= 0.05
