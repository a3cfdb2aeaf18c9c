"""The answers of the board, on invented scores."""

import pandas as pd
import pytest

from analysis.board.answers import Scored, answers
from tests.analysis.board.made import made_board

WORDS = ("no tuning", "on what", "communication", "heterogeneity", "other networks", "nobody saw")
"""A part of each question."""


def row(ruleset, method, score, *, price="gradients", tier=1, d=0.0, t=0.0):
    return {"ruleset": ruleset, "price": price, "method": method, "score": score, "tier": tier, "D": d, "T": t}


TABLE = [
    row("tuned", "dsgt", 2.0, d=3, t=1),
    row("tuned", "dsgd", 0.0, tier=2),
    row("tuned", "pooled_dsgd", 3.0, tier=None),
    row("tuned", "dsgt", 0.5, price="latency"),
    row("tuned", "dsgd", 0.25, price="latency"),
    row("dev", "dsgt", 1.5, d=2, t=1),
    row("dev", "dsgd", -1.0, tier=2, d=-1, t=-1),
    row("native", "dadam", 1.0, d=0, t=2),
]
RUNS = [
    {"ruleset": "tuned", "price": "gradients", "workload": workload, "entrant": entrant, "seed": seed, "score": score}
    for workload, better in (("D1", 3.0), ("T1", 1.0))
    for entrant, score in (("dsgd", 0.0), ("dsgt", better), ("pooled_dsgd", 3.0))
    for seed in (100, 101)
]


NAMES = {"dsgd": "D-SGD", "dsgt": "D-SGT", "dadam": "D-Adam", "gt_nsgdm": "GT-NSGDm†", "pooled_dsgd": "pooled D-SGD"}


def found(table=TABLE, runs=RUNS, side=None, sealed=None):
    tables = {name: pd.DataFrame(rows) for name, rows in (side or {}).items()}
    made = answers(Scored(made_board(), pd.DataFrame(table), pd.DataFrame(runs), NAMES.__getitem__, tables, sealed))
    return {word: answer for answer in made for word in WORDS if word in answer.question}


def test_the_price_of_not_tuning_is_that_of_all_methods_but_bounds():
    untuned = found()["no tuning"]
    assert [(line[0], *line[2:]) for line in untuned.rows] == [
        ("D-SGT", "1.50", "1", "2.00", "0.50"),
        ("D-Adam", "1.00", "1", "–", "–"),
        ("D-SGD", "−1.00", "2", "0.00", "1.00"),
    ]
    assert "problems: D-SGT 1.50. Tier 1: D-SGT." in untuned.sentence
    assert "paper: D-Adam 1.00. D-Adam is the only" in untuned.sentence
    assert "tuned: D-SGT 2.00." in untuned.sentence
    assert "pooled" not in untuned.sentence


def test_a_method_that_is_not_ranked_stands_beside_the_best_ranked_one():
    other = row("native", "gt_nsgdm", 1.5, tier=None, d=-1, t=3)
    made = found([*TABLE, other])
    assert "paper: GT-NSGDm† 1.50 (best ranked: D-Adam 1.00). D-Adam is the only" in made["no tuning"].sentence
    assert made["no tuning"].rows[0][2:4] == ["1.50", "–"]
    assert [line[1] for line in made["on what"].rows] == ["D-Adam 0.00", "GT-NSGDm† 3.00 (best ranked: D-Adam 2.00)"]


def test_side_tables_answer_for_other_networks():
    lossy = [row("tuned", "dsgd", 0.0), row("tuned", "dsgt", 0.5), row("tuned", "gt_nsgdm", 0.75, tier=None)]
    assert found(side={"lossy": lossy})["other networks"].rows == [
        ["lossy", "tuned", "gradients", "D-SGT and D-SGD", "GT-NSGDm† 0.75 (best ranked: D-SGT 0.50)", "0.00"]
    ]
    alone = [row("tuned", "gt_nsgdm", 0.75, tier=None)]
    assert found(side={"lossy": alone})["other networks"].rows[0][3:] == ["–", "GT-NSGDm† 0.75", "–"]


def test_the_best_of_each_stratum():
    best = found()["on what"]
    assert best.rows == [
        ["D", "D-Adam 0.00", "D-SGT 2.00", "D-SGT 3.00"],
        ["T", "D-Adam 2.00", "D-SGT 1.00", "D-SGT 1.00"],
    ]


def test_communication_decides_where_scores_change():
    moved = found()["communication"].rows
    assert moved == [
        ["gradients", "D-SGT", "–", "–"],
        ["latency", "D-SGT and D-SGD", "D-SGT (−1.50)", "D-SGD (0.25)"],
    ]


def test_heterogeneity_decides_where_tracking_helps():
    felt = found()["heterogeneity"]
    assert [line[0] for line in felt.rows] == ["D1", "T1"]
    assert felt.rows[0][2:] == ["3.00 (3.00 to 3.00)"] * 2
    assert felt.sentence.startswith("Most on D1")
    assert "Least on T1: 1.00" in felt.sentence


@pytest.mark.parametrize("table", [[one for one in TABLE if one["ruleset"] == "tuned"], TABLE[:1]])
def test_what_did_not_run_has_no_answer(table):
    made = found(table, [one for one in RUNS if one["entrant"] == "dsgd"])
    assert "heterogeneity" not in made
    assert "no tuning" not in made
    assert all(answer.rows for answer in made.values())


def test_sealed_problems_answer_whether_it_holds():
    here = [row("dev", "dsgt", 0.5), row("dev", "dsgd", 0.75), row("native", "dadam", -1.0)]
    sealed = pd.DataFrame([{**one, "workloads": "Z1", "Z1": one["score"]} for one in here])
    holds = found(sealed=sealed)["nobody saw"]
    assert [(line[0], *line[2:]) for line in holds.rows] == [
        ("D-Adam", "1.00", "−1.00", "−1.00"),
        ("D-SGD", "−1.00", "0.75", "0.75"),
        ("D-SGT", "1.50", "0.50", "0.50"),
    ]
    assert "D-SGT 0.50. Best here: D-SGD 0.75." in holds.sentence
    assert "is −1.00." in holds.sentence
