"""What stands beside the tiers: pairs, margins of a choice, equal times, and references that runs pass."""

import numpy as np
import pandas as pd
import pytest

from analysis.board.cells import Curve, cells, curves
from analysis.board.choose import as_table, choose_dev, graded
from analysis.board.extended import side_board
from analysis.board.margins import margins, margins_markdown
from analysis.board.markdown import hidden_markdown
from analysis.board.sealed import sealed
from analysis.board.side import SideTable, until_the_first_end
from analysis.board.targets import freeze
from analysis.board.totals import difference, pairs
from tests.analysis.board.made import grid, made_board, results, workload

STRATA = {"D1": "D"}


def series(*values):
    return {"D1": pd.Series(values, index=range(100, 100 + len(values)), dtype=float)}


def test_every_pair_has_the_interval_of_its_difference():
    some = {"low": series(0, 1, 0), "high": series(3, 3, 4), "middle": series(2, 1, 2)}
    found = list(pairs(some, STRATA))
    assert [(one, other) for one, other, _ in found] == [("high", "middle"), ("high", "low"), ("middle", "low")]
    for one, other, gap in found:
        assert gap == difference(some[one], some[other], STRATA)


def curve(ends, times):
    there = np.asarray(times, dtype=float)
    return Curve(ends * there / there[-1], there, there, 1 / (1 + there))


def test_until_the_first_end_all_runs_have_the_same_time():
    """A run of 80 s beside one of 20 s, and one that diverged after 5 s: its end does not count."""
    times = {"long": np.array([0.0, 10, 20, 40, 80]), "short": np.array([0.0, 5, 20]), "gone": np.array([0.0, 5])}
    courses = {run: curve(100.0, spent) for run, spent in times.items()}
    runs = pd.DataFrame({"run_id": list(times), "diverged": [False, False, True]})
    limit, cut, spent = until_the_first_end(runs, courses, times.get, 4000)
    assert limit == 20
    assert spent["long"].tolist() == [0, 10, 20]
    assert cut["long"].gradients.tolist() == [0, 2000, 4000]
    assert cut["long"].losses.tolist() == courses["long"].losses[:3].tolist()
    assert cut["short"].gradients.tolist() == [0, 1000, 4000]
    assert cut["gone"].gradients.tolist() == [0, 1000]


def developed(*runs):
    board, found = made_board(), results(*runs)
    table = cells(found, board, board.dev)
    courses = curves(found, table, board.dev)
    frozen = freeze(board, board.dev.values(), table, courses)
    scores = graded(board, board.dev.values(), table, courses, frozen)
    return scores, as_table(choose_dev(scores))


def on_v1(method, rates, **more):
    return grid(method, rates, workloads=("V1",), seeds=(0, 1), **more)


def test_the_margin_of_a_choice_is_paired_by_seed():
    scores, chosen = developed(*on_v1("dsgd", {0.1: 0.5, 1.0: 1.0}), *on_v1("dsgt", {0.1: 1.2, 1.0: 1.3}, spread=0.3))
    found = margins(scores, chosen).set_index("method").loc["dsgt"]
    assert (found["setting"], found["second"]) == ("eta=1 schedule=fixed", "eta=0.1 schedule=fixed")
    mine = scores[scores["entrant"] == "dsgt"].pivot_table("score", "seed", "setting")
    gaps = mine[found["setting"]] - mine[found["second"]]
    assert found["ahead"] == pytest.approx(gaps.mean())
    assert found["error"] == pytest.approx(abs(gaps[0] - gaps[1]) / 2)


def test_close_choices_are_named():
    rows = [["dsgt", "eta=1", "eta=0.1", 0.1, 0.2], ["dsgd", "eta=1", "eta=0.1", 0.3, 0.2]]
    table = pd.DataFrame(rows, columns=["method", "setting", "second", "ahead", "error"])
    text = "\n".join(margins_markdown(table, str))
    assert "1 method of 2" in text
    assert "dsgt (eta=1, or eta=0.1)." in text


@pytest.mark.parametrize(("minimum", "said"), [(1.0, False), (100.0, True)])
def test_a_reference_that_runs_pass_is_said(minimum, said):
    board = made_board(workloads={"D1": {**workload("D1", "quadratics")}})
    runs = grid("dsgd", {0.1: 1.0}, workloads=("D1",), minimum=minimum)
    chosen = as_table(
        [{"ruleset": "dev", "workload": "all", "method": "dsgd", "algo.eta": 0.1, "algo.schedule": "fixed"}]
    )
    found = sealed(results(*runs), board, chosen, lambda name: True)
    assert ("On D1, runs end below" in found.note) == said
    assert sealed(results(*runs), board, chosen.assign(method="dsgt"), lambda name: True) is None


def test_a_hidden_number_without_a_run_is_named():
    rows = [["dsgt", "beta=1", 0.1, np.nan, np.nan], ["dsgt", "beta=3", 0.2, 0.4, 0.3]]
    table = pd.DataFrame(rows, columns=["method", "number", "T1", "I1", "change"])
    assert hidden_markdown(["T1", "I1"], table, str).rstrip().endswith("not counted: dsgt beta=1.")
    assert "not counted" not in hidden_markdown(["T1", "I1"], table.iloc[1:], str)


def test_a_side_table_also_has_native_settings():
    """Of its own entrants only; tuned settings of other workloads do not count."""
    said = {"stepsize": "eta", "native": {"algo.eta": 0.1, "algo.schedule": "fixed"}}
    side = {"more": {"base": "D1", "set": {}, "entrants": {"dsgd": {"stepsize": "eta"}, "dsgt": said}}}
    board = side_board(made_board(side=side), "more")
    found = results(*grid("dsgd", {0.1: 0.5, 1.0: 1.0}, ("D1",)), *grid("dsgt", {0.1: 1.0, 1.0: 2.0}, ("D1",)))
    rows = [
        {"ruleset": "tuned", "workload": "more", "method": "dsgd", "algo.eta": 1.0, "algo.schedule": "fixed"},
        {"ruleset": "tuned", "workload": "more", "method": "dsgt", "algo.eta": 1.0, "algo.schedule": "fixed"},
        {"ruleset": "tuned", "workload": "D1", "method": "dsgt", "algo.eta": 0.1, "algo.schedule": "fixed"},
        {"ruleset": "native", "workload": "all", "method": "dsgt", "algo.eta": 0.1, "algo.schedule": "fixed"},
        {"ruleset": "native", "workload": "all", "method": "dadam", "algo.eta": 0.1, "algo.schedule": "fixed"},
    ]
    frozen = pd.DataFrame({"workload": ["more"], "rule": "minimum"})
    table = SideTable(found, board, frozen).standings(as_table(rows), lambda name: True)
    mine = table[table["price"] == "gradients"].set_index(["ruleset", "method"])["score"]
    assert set(mine.index) == {("tuned", "dsgd"), ("tuned", "dsgt"), ("native", "dsgt")}
    assert mine["native", "dsgt"] == pytest.approx(0)  # the rate of tuned D-SGD
    assert mine["tuned", "dsgt"] > 1
