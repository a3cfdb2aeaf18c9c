"""The best setting, and what is reported of it, against tables worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from analysis.study.statistics import Best, best_setting, report
from analysis.study.statistics.best import FRESH, OWN
from tests.helpers.grids import BOTH, SQUARE, Values, grid, runs, square


def best_of(accuracies: dict[float, Values]) -> Best | None:
    return best_setting(grid(accuracies), ["eta"])


def test_the_rule_for_the_best_stepsize():
    best = best_of({0.01: [80, 82], 0.1: [90, 88], 1.0: [89, 90], 10.0: [99, None]})
    assert (best.values, best.edges) == ({"eta": 1.0}, [])  # 89.5 beats 89; at 10 a seed diverged
    assert best_of({0.1: [90.0], 1.0: [90.0]}).values == {"eta": 0.1}  # ties go to the smaller
    assert best_of({0.1: [80.0], 1.0: [90.0]}).edges == ["eta"]
    assert not best_of({0.1: [80.0]}).edges
    assert best_of({0.1: [80.0]}).alone
    assert best_of({0.1: [None, 80], 1.0: [None, None]}) is None
    blown = grid({0.1: [80.0], 1.0: [90.0]}).assign(state=["done", "diverging"])
    assert best_setting(blown, ["eta"]).values == {"eta": 0.1}


def test_an_option_of_which_every_value_has_the_same_mean_is_idle():
    accuracies = {0.1: [80.0, 82.0], 1.0: [90.0, 88.0]}
    pair = pd.concat([grid(accuracies).assign(alpha=alpha) for alpha in (0.3, 0.9)], ignore_index=True)
    best = best_setting(pair, ["eta", "alpha"])
    assert (best.values, best.edges, best.idle) == ({"eta": 1.0, "alpha": 0.3}, ["eta"], ["alpha"])
    pair.loc[0, "test_accuracy"] = 80.1
    assert best_setting(pair, ["eta", "alpha"]).idle == []
    gone = pd.concat([grid({**accuracies, 9.0: [None, None]}).assign(alpha=alpha) for alpha in (0.3, 0.9)])
    assert best_setting(gone.reset_index(drop=True), ["eta", "alpha"]).idle == ["alpha"]
    assert best_of({0.1: [80.0]}).idle == []


def test_equal_losses_are_told_apart_by_their_distance_from_the_minimum():
    """A loss of 17.9 has too few digits for f − f* = 1e-12, and less in single precision."""
    losses = grid({0.1: [17.9449131, 17.9449131], 0.3: [17.9449112, 17.9449112], 1.0: [18.0, 18.0]}, "test_loss")
    assert best_setting(losses, ["eta"]).values == {"eta": 0.1}
    distance = losses["eta"].map({0.1: 2e-6, 0.3: 1e-12, 1.0: 0.1})
    gaps = losses.assign(suboptimality=distance * (1 + losses["seed"]))
    assert best_setting(gaps, ["eta"]).values == {"eta": 0.3}
    two = gaps[gaps["eta"] < 1]
    assert best_setting(two, ["eta"]).idle == []
    assert best_setting(two.drop(columns="suboptimality"), ["eta"]).idle == ["eta"]
    assert set(report(two, ["eta"]).runs["eta"]) == {0.3}  # of each seed, by the other one
    gaps.loc[gaps["eta"] == 0.3, "suboptimality"] = np.nan
    assert best_setting(gaps, ["eta"]).values == {"eta": 0.1}


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


def test_no_setting_is_the_best_where_none_was_run_at_all_tuning_seeds():
    apart = runs([(0.1, 0, "done", 80.0), (1.0, 1, "done", 90.0)])
    assert best_setting(apart, ["eta"]) is None
    assert report(apart, ["eta"]).runs.empty


def test_without_accuracies_the_least_loss_is_best():
    losses = grid({0.1: [3.0, 3.0], 1.0: [2.0, 2.5], 10.0: [5.0, 1.0]}, "test_loss")
    best = best_setting(losses, ["eta"])
    assert best.values == {"eta": 1.0}
    assert best.along("eta").to_dict() == {0.1: 3.0, 1.0: 2.25, 10.0: 3.0}
    found = report(losses, ["eta"])  # at seed 0 seed 1 chooses η = 10, at seed 1 seed 0 chooses η = 1
    assert found.values("test_loss").to_dict() == {0: 5.0, 1: 2.5}


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
    even: dict[tuple[float, float], Values] = {key: [80.0, 80.0] for key in SQUARE}
    assert best_setting(square({**even, (1.0, 0.0): [90, 90], (0.1, 0.9): [90, 90]}), BOTH).values == {
        "eta": 0.1,
        "beta": 0.9,
    }  # the smaller η; of one η the smaller β
    assert best_setting(square(even), BOTH).values == {"eta": 0.1, "beta": 0.0}
    lacking = best_setting(square({**SQUARE, (0.1, 0.5): [99]}), BOTH)
    assert lacking.values == {"eta": 10.0, "beta": 0.5}  # one seed of two: set aside
    assert (lacking.seeds, lacking.edges) == ([0, 1], ["eta"])
    assert (0.1, 0.5) not in lacking.means.index


def test_every_seed_is_reported_at_what_the_others_choose():
    found = report(grid({0.1: [90, 80, 80], 1.0: [80, 84, 84]}), ["eta"])
    assert found.best.values == {"eta": 0.1}  # 83.3 against 82.7; but without seed 0, 80 against 84
    assert found.values("test_accuracy").to_dict() == {0: 80, 1: 80, 2: 80}  # not 90 at seed 0, which it chose itself
    assert found.runs["eta"].tolist() == [1.0, 0.1, 0.1]
    assert found.in_words == "0–2 (cross-fitted; another setting at 0)"
    gone = report(grid({0.1: [80, 80, 80], 1.0: [90, 90, None]}), ["eta"])  # seeds 0 and 1 take what is gone at 2
    assert gone.best.values == {"eta": 0.1}
    assert gone.values("test_accuracy").isna().tolist() == [False, False, True]


FIVE = {0.1: [80.0] * 5, 1.0: [90.0] * 5}


def test_further_seeds_of_the_chosen_setting_report_it_alone():
    found = report(grid({**FIVE, 1.0: [90.0] * 5 + [70, 71, 72, 73, 74]}), ["eta"])
    assert (found.best.values, found.best.seeds) == ({"eta": 1.0}, [0, 1, 2, 3, 4])
    assert found.values("test_accuracy").to_dict() == {5: 70, 6: 71, 7: 72, 8: 73, 9: 74}
    assert found.in_words == f"5–9 ({FRESH})"
    gone = report(grid({**FIVE, 1.0: [90.0] * 5 + [70, 71, 72, 73, None]}), ["eta"])
    assert gone.best.values == {"eta": 1.0}  # a seed that reports has no say in the choice,
    assert np.isnan(gone.values("test_accuracy")[9])  # and is not left out
    few = report(grid({**FIVE, 1.0: [90.0] * 5 + [70, 71, 72, 73]}), ["eta"])
    assert few.in_words == "0–4 (cross-fitted)"
    assert few.values("test_accuracy").tolist() == [90] * 5


def test_what_has_no_other_seeds_or_no_choice():
    one = report(grid({0.1: [80.0], 1.0: [90.0]}), ["eta"])
    assert (one.values("test_accuracy").tolist(), one.in_words) == ([90.0], f"0 ({OWN})")
    alone = report(grid({0.1: [80.0, 81.0]}), ["eta"])
    assert (alone.values("test_accuracy").tolist(), alone.in_words) == ([80.0, 81.0], "0–1")
    none = report(grid({0.1: [None, 80.0], 1.0: [80.0, None]}), ["eta"])
    assert (none.best, len(none.runs)) == (None, 0)


def test_what_is_chosen_by_one_metric_is_reported_in_another():
    both = grid({0.1: [90, 90, 90], 1.0: [80, 80, 80]}).assign(val_loss=[3.0, 3, 3, 2, 2, 2])
    assert report(both, ["eta"], ("val_loss", -1.0)).values("test_accuracy").tolist() == [80, 80, 80]
