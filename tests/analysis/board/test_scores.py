"""Scores and standings of a hand-made board."""

import numpy as np
import pandas as pd
import pytest

from analysis.board.cells import cells, curves
from analysis.board.choose import as_table, choose_tuned, graded
from analysis.board.scores import by_tries, profiles, reported, scored, standings
from analysis.board.targets import freeze
from analysis.results.errors import NoData
from tests.analysis.board.made import REPORT, STEPS, grid, made_board, results

DSGD = {0.1: 0.7, 1.0: 1.0, 10.0: 0.5}


def everything(*runs, provenance=None, **changes):
    """The scored report runs, the graded tuning runs, and the standings."""
    board, found = made_board(**changes), results(*runs, provenance=provenance)
    table = cells(found, board, board.workloads)
    courses = curves(found, table, board.workloads)
    frozen = freeze(board, board.workloads.values(), table, courses)
    tuning = graded(board, board.workloads.values(), table, courses, frozen)
    report = reported(board, table, as_table(choose_tuned(tuning)))
    long = scored(board, report, courses, frozen)
    declared = {one: found.declared[one]["provenance"] for one in found.declared}
    return long, tuning, standings(board, long, lambda name: declared[board.everyone[name].method] == "paper")


def score_of(long, method, price="gradients"):
    mine = long[(long["entrant"] == method) & (long["price"] == price)]
    assert mine["score"].nunique() == 1
    return mine["score"].iloc[0]


def places(table, price="gradients"):
    return table[table["price"] == price].set_index("method")


def test_the_score_of_a_hand_made_table():
    """D-SGD reaches target k after 2^(k−1) steps, the rate 2 after 2^((k−1)/2)."""
    long, _, table = everything(*grid("dsgd", DSGD), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}))
    assert score_of(long, "dsgd") == pytest.approx(0)
    expected = np.mean([min(3, (k - 1) / 2) for k in range(1, 9)])
    assert score_of(long, "dsgt") == pytest.approx(expected)
    assert places(table).loc["dsgt", "score"] == pytest.approx(expected)
    assert places(table)["tier"].to_dict() == {"dsgt": 1, "dsgd": 2}


def test_rounds_cost_at_the_price_latency():
    """Two rounds of 50 ms and one gradient of 10 ms per step. The cost of the last target is interpolated too."""
    long, *_ = everything(*grid("dsgd", DSGD), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}, rounds=2))
    steps = 2.0 ** (np.arange(8) / 2)
    expected = np.log2(0.06 * 2.0 ** np.arange(8) / (0.11 * steps))
    assert score_of(long, "dsgt", "latency") == pytest.approx(np.clip(expected, -3, 3).mean())


def test_missed_targets_cost_twice_the_budget():
    """The loss stays at target 5: targets 6, 7 and 8 cost 2048 steps, and D-SGD's are 32, 64 and 128."""
    long, _, table = everything(*grid("dsgd", DSGD), *grid("slow", {0.1: 1.0, 1.0: 0.2}, floor=16.0))
    mine = long[(long["entrant"] == "slow") & (long["price"] == "gradients")]
    assert np.stack(list(mine["costs"]))[:, 5:] == pytest.approx(0.01 * 2 * STEPS)
    assert score_of(long, "slow") == pytest.approx((5 * 0 + 3 * -3) / 8)
    assert (mine["missed"] == 3).all()
    assert places(table).loc["slow", "missed"] == 3 * len(mine)


def test_diverged_runs_miss_all_targets():
    gone = [*grid("slow", {0.1: 2.0}, state="nonfinite"), *grid("slow", {1.0: 2.0}, state="nonfinite")]
    long, _, table = everything(*grid("dsgd", DSGD), *gone)
    assert score_of(long, "slow") == -3
    assert places(table).loc["slow", ["missed", "diverged"]].tolist() == [8 * 15, 15]


def test_missing_does_not_pay_for_methods_that_hardly_communicate():
    """Tuned D-SGD reaches target 8. A miss costs twice its budget, also without communication."""
    local = grid("slow", {0.1: 0.1, 1.0: 0.1}, floor=400.0, rounds=0)
    long, *_ = everything(*grid("dsgd", {0.1: 0.71, 1.0: 0.6}), *local)
    costs = {
        name: np.stack(list(some["costs"]))[0] for name, some in long[long["price"] == "latency"].groupby("entrant")
    }
    assert costs["dsgd"][-1] == pytest.approx(0.06 * 2 ** (7 / 0.71))
    assert costs["slow"] == pytest.approx(2 * 0.06 * STEPS)


def test_a_new_entrant_changes_no_score():
    some = [*grid("dsgd", DSGD, spread=0.01), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}, spread=0.02)]
    before, after = (everything(*some, *more) for more in ([], grid("slow", {0.1: 0.4, 1.0: 0.3})))
    keys = ["entrant", "price", "workload", "seed"]
    old, new = (long.set_index(keys)["score"].sort_index() for long, *_ in (before, after))
    assert new.loc[old.index].tolist() == old.tolist()
    columns = ["tier", "score", "low", "high", "D", "T", "missed"]
    kept = places(after[2]).loc[places(before[2]).index, columns]
    pd.testing.assert_frame_equal(kept, places(before[2])[columns])


def test_a_duplicate_under_another_name_lands_in_the_tier_of_its_twin():
    rates = {0.1: 1.1, 1.0: 0.3}
    *_, table = everything(
        *grid("dsgd", DSGD, spread=0.01), *grid("dsgt", rates, spread=0.02), *grid("twin", rates, spread=0.02)
    )
    same = places(table)[["tier", "tier_low", "tier_high", "score", "low", "high"]]
    assert same.loc["twin"].tolist() == same.loc["dsgt"].tolist()


def test_the_order_of_runs_is_irrelevant():
    runs = [*grid("dsgd", DSGD, spread=0.01), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}, spread=0.02)]
    order = np.random.default_rng(0).permutation(len(runs))
    *_, one = everything(*runs)
    *_, other = everything(*(runs[k] for k in order))
    columns = ["tier", "score", "low", "high"]
    pd.testing.assert_frame_equal(places(one)[columns].sort_index(), places(other)[columns].sort_index())


def test_unverified_methods_and_bounds_have_scores_and_no_tier():
    pooled = grid("dsgd", {0.1: 1.5, 1.0: 1.2}, topology="all_reduce")
    *_, table = everything(
        *grid("dsgd", DSGD), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}), *pooled, provenance={"dsgt": "reconstructed"}
    )
    shown = places(table)
    assert shown["score"].notna().all()
    assert shown["tier"].dropna().to_dict() == {"dsgd": 1}
    assert shown["if_ranked"].dropna().to_dict() == {"dsgt": 1}


def test_an_entrant_without_a_seed_is_not_ranked():
    runs = [
        one
        for one in grid("dsgt", {0.1: 2.0, 1.0: 0.3})
        if not (one[0]["dataset"] == "quadratics" and one[0]["seed"] == 104)
    ]
    *_, table = everything(*grid("dsgd", DSGD), *runs)
    assert places(table).loc["dsgt", "lacks"] == "D1"
    assert np.isnan(places(table).loc["dsgt", "tier"])


def test_a_board_without_tuned_dsgd_is_refused():
    with pytest.raises(NoData, match="dsgd"):
        everything(*grid("dsgt", {0.1: 2.0, 1.0: 0.3}))


def test_a_yardstick_without_a_report_seed_is_refused():
    """Otherwise the scores of all other entrants would be relative to fewer seeds."""
    ours = [one for one in grid("dsgd", DSGD) if not (one[0]["dataset"] == "a9a" and one[0]["seed"] == 104)]
    with pytest.raises(NoData, match=r"T1 .*dsgd .*104.*run report --workload T1"):
        everything(*ours, *grid("dsgt", {0.1: 2.0, 1.0: 0.3}))


def test_settings_without_a_run_are_not_reported():
    chosen = pd.DataFrame([{"ruleset": "tuned", "workload": "D1", "method": "dsgt", "algo.eta": 1.0}])
    found, board = results(*grid("dsgd", DSGD)), made_board()
    assert reported(board, cells(found, board, board.workloads), chosen).empty


def test_the_best_of_all_settings_is_the_tuned_score():
    _, tuning, _ = everything(*grid("dsgd", DSGD), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}))
    curve = by_tries(made_board(), tuning).set_index(["method", "settings"])["score"]
    mine = tuning[tuning["entrant"] == "dsgt"].groupby("setting")["score"].mean()
    assert curve["dsgt", 1] == pytest.approx(mine.mean())
    assert curve["dsgt", 2] == pytest.approx(mine.max())
    assert curve["dsgd", 2] == pytest.approx(0)
    assert ("dsgd", 3) not in curve.index  # η = 10 is a longer end of the grid


def test_profiles_count_missed_targets_as_not_reached():
    long, *_ = everything(*grid("dsgd", DSGD), *grid("slow", {0.1: 1.0, 1.0: 0.2}, floor=16.0))
    found = {(one["method"], one["price"]): one["solved"] for one in profiles(made_board(), long, [0.5, 1.0001, 1e9])}
    assert found["dsgd", "gradients"] == pytest.approx([0, 1, 1])
    assert found["slow", "gradients"] == pytest.approx([0, 5 / 8, 5 / 8])


def test_only_report_seeds_are_reported():
    long, *_ = everything(*grid("dsgd", DSGD))
    assert sorted(long["seed"].unique()) == REPORT
