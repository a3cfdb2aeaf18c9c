"""What other constants of the score would change, and which targets are reached, on invented runs."""

import numpy as np
import pandas as pd
import pytest

from analysis.board.cells import bytes_paid, cells, curves
from analysis.board.choose import as_table, choose_tuned, graded
from analysis.board.clock import clocks
from analysis.board.gate import gate
from analysis.board.scores import reported, scored
from analysis.board.sensitivity import VARIANTS, reached, sensitivity, sensitivity_markdown
from analysis.board.targets import freeze
from tests.analysis.board.made import REPORT, STEPS, grid, made_board, results, run
from tests.helpers.timed import pair

DSGD = {0.1: 0.7, 1.0: 1.0, 10.0: 0.5}


def everything(*runs, **changes):
    board, found = made_board(**changes), results(*runs)
    table = cells(found, board, board.workloads)
    courses = curves(found, table, board.workloads)
    frozen = freeze(board, board.workloads.values(), table, courses)
    tuning = graded(board, board.workloads.values(), table, courses, frozen)
    return board, reported(board, table, as_table(choose_tuned(tuning))), courses, frozen


def test_each_constant_changes_the_score_as_said():
    """The scores of other rules, from the costs of the board's rule and the definition."""
    fast, slow = grid("dsgt", {0.1: 50.0, 1.0: 0.3}), grid("slow", {0.1: 1.0, 1.0: 0.2}, floor=16.0)
    board, runs, courses, frozen = everything(*grid("dsgd", DSGD), *fast, *slow)
    table = sensitivity(board, runs, courses, frozen, lambda name: True)
    score = table.set_index(["variant", "method"])["score"]
    long = scored(board, runs, courses, frozen)
    costs = long[(long["workload"] == "T1") & (long["price"] == "gradients")].groupby("entrant")["costs"].first()
    for variant, limit, miss in (
        ("board", 3, 2), ("within ±2", 2, 2), ("within ±6", 6, 2), ("miss × 1", 3, 1), ("miss × 4", 3, 4)
    ):  # fmt: skip
        for name in ("dsgt", "slow"):
            mine = np.where(costs[name] > 0.01 * STEPS, costs[name] * miss / 2, costs[name])
            expected = np.clip(np.log2(costs["dsgd"] / mine), -limit, limit).mean()
            assert score[variant, name] == pytest.approx(expected)
    here = {name: np.log2(costs["dsgd"] / costs[name]).clip(-3, 3) for name in ("dsgt", "slow")}
    on_d1 = table[table["variant"] == "without T"].set_index("method")["score"]
    for name, each in here.items():
        assert score["targets 1–4", name] == pytest.approx(each[:4].mean())
        assert score["targets 5–8", name] == pytest.approx(each[4:].mean())
        assert on_d1[name] == pytest.approx(each.mean())  # the courses are the same on all workloads
    assert set(table["variant"]) == {*VARIANTS, "without D", "without T"}
    assert table["tier"].notna().all()


def test_a_dip_reaches_a_target_only_if_the_first_time_counts():
    steady, dips = grid("dsgd", DSGD), grid("dsgt", {0.1: 1.0, 1.0: 0.3})
    for labels, rows in dips:
        if labels["eta"] == 0.1:
            rows.loc[3, "node_loss"] = 1.0  # below all targets, and above them at the next evaluation
    board, runs, courses, frozen = everything(*steady, *dips)
    table = sensitivity(board, runs, courses, frozen, lambda name: True).set_index(["variant", "method"])["score"]
    both = np.log2(4 / 2 ** (1 + 1 / 7)) + np.log2(8 / 2 ** (1 + 2 / 7))  # targets 3 and 4, from 128 to 1 at step 4
    assert table["board", "dsgt"] == pytest.approx(both / 8)
    assert table["first reached", "dsgt"] > 1


def test_the_targets_that_runs_reach():
    board, runs, courses, frozen = everything(*grid("dsgd", DSGD), *grid("slow", {0.1: 1.0, 1.0: 0.2}, floor=16.0))
    table = reached(board, scored(board, runs, courses, frozen), lambda name: True)
    assert len(table) == 8 * 3
    mine = table[table["workload"] == "T1"].set_index("target")
    assert mine["ours"].tolist() == [1.0] * 8
    assert mine["ranked"].tolist() == [1.0] * 5 + [0.0] * 3
    assert mine.loc[4, "cost"] == pytest.approx(0.01 * 8)
    text = sensitivity_markdown(sensitivity(board, runs, courses, frozen, lambda name: True), table, str)
    assert "| slow |" in text
    assert "0.08 s; 100 %; 100 %" in text


def test_a_number_is_paid_at_the_type_of_the_workload():
    """The declared type of a method changes its bytes and not its price."""
    both = [run("dsgd", 0.1, 1.0, "T1", seed, dtype=kind) for seed, kind in enumerate(("float32", "float64"))]
    found, board = results(*both), made_board()
    table = cells(found, board, board.workloads).iloc[:0]
    rows = [{"run_id": labels["run_id"], "workload": "T1"} for labels, _ in both]
    table = table.reindex(range(2)).assign(**{key: [row[key] for row in rows] for key in ("run_id", "workload")})
    board.workloads["T1"].set["dtype"] = "float32"
    assert list(bytes_paid(found, table, board.workloads).values()) == [1.0, 0.5]


def test_the_gate_is_relative_to_the_problem_of_each_seed():
    """f* and F_0 differ by 7 between the seeds; each gap counts relative to its own F_0 − f*."""
    runs = [
        run(name, 1.0, 1.0, "D1", seed, topology=graph, floor=floor)
        for seed in (0, 1)
        for name, graph, floor in (("dsgd", "ring", 51.2), ("dsgd", "all_reduce", 0.0))
    ]
    for labels, rows in runs:
        if labels["seed"] == 1:
            rows["node_loss"] = 2 * rows["node_loss"] + 7
            rows["train_loss"], rows["suboptimality"] = rows["node_loss"], 2 * rows["suboptimality"]
    board, found = made_board(), results(*runs, *grid("dsgd", {0.1: 1.0, 1.0: 0.1}, ["D1"], REPORT))
    some = {"D1": board.workloads["D1"]}
    table = cells(found, board, some)
    courses = curves(found, table, some)
    frozen = pd.DataFrame([{"workload": "D1", "rule": "minimum", "start": 513.0, "reference": 1.0}])
    (row,) = gate(some.values(), table, courses, frozen).to_dict("records")
    assert row["part"] == pytest.approx(0.1, abs=0.001)
    assert row["low"] > 0.09


def test_the_clock_counts_the_bytes_that_a_run_pays():
    """The seconds grow in proportion to the bytes, beside those of gradients and latencies."""
    found = pair()
    run = found.runs["run_id"].iloc[0]
    half, whole, twice = (clocks(found, {run: part}, ["wan"])["wan"](run)[-1] for part in (0.5, 1.0, 2.0))
    assert twice - whole == pytest.approx(2 * (whole - half), rel=0.02)  # the clock has whole ticks
    assert whole > half
