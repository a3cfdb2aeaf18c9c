"""Which runs belong to the board, its frozen targets, the gate and the chosen settings."""

import numpy as np
import pytest
import yaml

from analysis.board.cells import cells, curves, named
from analysis.board.choose import choose_dev, choose_tuned, graded, setting_of
from analysis.board.extended import sealed_board, side_board
from analysis.board.gate import gate
from analysis.board.grid import check_complete
from analysis.board.targets import freeze
from analysis.results.errors import NoData
from bench.base.board_file import board_of
from tests.analysis.board.made import REPORT, SAID, grid, made_board, results, run

DSGD = {0.1: 0.7, 1.0: 1.0, 10.0: 0.5}
TUNE = (0, 1)


def loaded(*runs, dev=False, **changes):
    board, found = made_board(**changes), results(*runs)
    some = board.dev if dev else board.workloads
    table = cells(found, board, some)
    courses = curves(found, table, some)
    return board, list(some.values()), table, courses


def choose(chooser, *runs, dev=False):
    board, some, table, courses = loaded(*runs, dev=dev)
    found = graded(board, some, table, courses, freeze(board, some, table, courses))
    return {(row["method"], row["workload"]): row for row in chooser(found)}


def test_settings_are_chosen_on_each_workload():
    uneven = [
        *grid("dsgt", {0.1: 2.0, 1.0: 1.2, 10.0: 0.1}, ["D1"], TUNE),
        *grid("dsgt", {0.1: 0.1, 1.0: 2.0, 10.0: 0.1}, ["T1", "T2"], TUNE),
    ]
    chosen = choose(choose_tuned, *grid("dsgd", DSGD, seeds=TUNE), *uneven)
    assert chosen["dsgt", "D1"]["algo.eta"] == 0.1
    assert chosen["dsgt", "D1"]["edges"] == "eta low"
    assert chosen["dsgt", "T2"]["algo.eta"] == 1.0
    assert chosen["dsgt", "T2"]["edges"] == ""
    assert chosen["dsgd", "T1"]["algo.eta"] == 1.0
    assert setting_of(chosen["dsgt", "D1"]) == "eta=0.1 schedule=fixed"


def test_ties_go_to_the_least_final_loss_and_have_no_edge():
    """No setting reaches a target. The last one ends lowest."""
    lost = [
        run("dsgt", eta, 0.0, "D1", seed, floor=floor) for eta, floor in ((0.1, 500.0), (1.0, 400.0)) for seed in TUNE
    ]
    row = choose(choose_tuned, *grid("dsgd", DSGD, seeds=TUNE), *lost)["dsgt", "D1"]
    assert (row["algo.eta"], row["tied"], row["edges"]) == (1.0, 2, "")


def test_a_tied_yardstick_has_no_edge():
    lost = [
        run("dsgd", eta, 0.0, w, seed, floor=400.0 + eta)
        for eta in (0.1, 1.0)
        for seed in TUNE
        for w in ("D1", "T1", "T2")
    ]
    row = choose(choose_tuned, *lost)["dsgd", "D1"]
    assert (row["algo.eta"], row["tied"], row["edges"]) == (0.1, 2, "")


def test_a_setting_that_lacks_a_tuning_seed_is_not_chosen():
    """The better one lacks a seed. The method dsgt has no setting with both seeds on T1."""
    some = [*grid("dsgt", {0.1: 2.0}, ["D1", "T1"], [0]), *grid("dsgt", {1.0: 0.5}, ["D1"], TUNE)]
    chosen = choose(choose_tuned, *grid("dsgd", DSGD, seeds=TUNE), *some)
    assert chosen["dsgt", "D1"]["algo.eta"] == 1.0
    assert ("dsgt", "T1") not in chosen
    with pytest.raises(NoData, match="dsgd"):
        choose(choose_tuned, *grid("dsgd", DSGD, seeds=[0]))


def test_report_seeds_choose_nothing():
    """On the report seeds another setting is the best one."""
    misleading = grid("dsgt", {0.1: 0.1, 1.0: 3.0}, seeds=(100, 101))
    chosen = choose(choose_tuned, *grid("dsgd", DSGD), *grid("dsgt", {0.1: 2.0, 1.0: 0.4}, seeds=TUNE), *misleading)
    assert chosen["dsgt", "D1"]["algo.eta"] == 0.1


@pytest.mark.parametrize(("calm_rate", "best"), [(0.9, 1.0), (0.2, 10.0)])
def test_a_diverged_run_misses_all_targets_of_the_development_problems(calm_rate, best):
    fast = [run("dsgt", 10.0, 3.0, "V1", seed, state="nonfinite" if seed else "done") for seed in TUNE]
    calm = grid("dsgt", {0.1: 0.1, 1.0: calm_rate}, ["V1"], TUNE)
    chosen = choose(choose_dev, *grid("dsgd", DSGD, ["V1"], TUNE), *fast, *calm, dev=True)
    assert chosen["dsgt", "all"]["algo.eta"] == best
    assert chosen["dsgt", "all"]["diverged"] == (best == 10.0)


def test_runs_of_other_studies_are_left_out():
    """Nine of ten runs have another value of an untuned option, so that the board's own runs are the exception."""
    own = grid("dsgdm", {0.1: 2.0}, ["D1"], TUNE)
    variants = [run("dsgdm", 0.1, 1.0, "D1", seed, beta=0.2) for seed in range(18)]
    _, _, table, _ = loaded(*own, *variants)
    assert sorted(table["run_id"]) == sorted(labels["run_id"] for labels, _ in own)


@pytest.mark.parametrize(
    "other",
    [
        {"links": "lossy", "links.p": 0.1, "links.semantics": "reabsorb"},
        {"dtype": "float64"},
        {"input_scale": 2.0},
        {"schedule_nodes": 4},
        {"topology.weights": "metropolis"},
        {"topology.lazy": True},
        {"steps": 1020},
        {"eval_every": 64},
        {"validation": 0.1},
        {"batch_size": 8},
        {"eta": 0.2},
        {"schedule": "diminishing"},
    ],
)
def test_runs_outside_the_protocol_are_left_out(other):
    own, strange = (run("dsgt", **{"eta": 0.1, "rate": 1.0, **labels}, workload="D1", seed=0) for labels in ({}, other))
    assert loaded(own, strange)[2]["run_id"].tolist() == [own[0]["run_id"]]
    assert loaded(strange)[2].empty


def test_a_report_seed_may_have_the_schedule_of_another_workload():
    found = run("dsgt", 0.1, 1.0, "D1", REPORT[0], schedule="diminishing")
    assert loaded(found)[2]["setting"].tolist() == ["eta=0.1 schedule=diminishing"]


def test_methods_that_declare_it_have_float64():
    labels, rows = run("dsgt", 0.1, 1.0, "D1", 0, dtype="float64")
    found, board = results((labels, rows)), made_board()
    found.facts[labels["run_id"]]["algorithm"]["requires_float64"] = True
    assert len(cells(found, board, board.workloads)) == 1


def test_the_steps_follow_from_the_declared_gradients_and_the_budget():
    labels, rows = run("dsgt", 0.1, 1.0, "D1", 0, steps=340, eval_every=10)
    found, board = results((labels, rows)), made_board()
    found.facts[labels["run_id"]]["algorithm"] |= {"gradients": 3, "start_samples": 2}
    assert len(cells(found, board, board.workloads)) == 1


def test_runs_older_than_a_setting_have_its_default():
    labels, rows = run("dsgd", 0.1, 1.0, "D1", 0)
    older = {name: value for name, value in labels.items() if name not in ("links", "input_scale", "order")}
    assert len(loaded((older, rows))[2]) == 1


def test_options_of_other_methods_are_missing():
    _, _, table, _ = loaded(*grid("dsgdm", {0.1: 2.0}, ["D1"], TUNE), *grid("dsgd", {0.1: 1.0}, ["D1"], TUNE))
    assert table["entrant"].value_counts().to_dict() == {"dsgd": 2, "dsgdm": 2}


def test_a_grid_without_a_seed_or_a_value_is_refused():
    """A value that was tried on one workload is due on the others too."""
    board, some, table, _ = loaded(*grid("dsgd", {0.1: 1.0, 1.0: 1.0}, seeds=TUNE))
    check_complete(some, table, board.entrants.values())
    for lost in (table["seed"] == 1, table["setting"] == "eta=1 schedule=fixed"):
        with pytest.raises(NoData, match=r"T2 .*dsgd.*run tune --workload T2"):
            check_complete(some, table[~(lost & (table["workload"] == "T2"))], board.entrants.values())
    longer = loaded(*grid("dsgd", {0.1: 1.0, 1.0: 1.0}, seeds=TUNE), *grid("dsgd", {3.0: 1.0}, ["D1"], TUNE))[2]
    with pytest.raises(NoData, match=r"T1 .*eta=3 "):
        check_complete(some, longer, board.entrants.values())


def test_a_side_table_has_the_settings_and_entrants_of_its_own():
    lossy_links = {"links": "lossy", "links.p": 0.2, "links.semantics": "reabsorb"}
    side = {
        "lossy": {"base": "T2", "set": {"links": "lossy", "links.p": 0.2}, "entrants": {"dsgd": {"stepsize": "eta"}}}
    }
    board = side_board(made_board(side=side), "lossy")
    lossy, other = (run(name, 0.1, 1.0, "T2", 0, **lossy_links) for name in ("dsgd", "dsgt"))
    found = results(lossy, run("dsgd", 0.1, 1.0, "T2", 0), other)
    assert cells(found, board, board.workloads)["run_id"].tolist() == [lossy[0]["run_id"]]


def test_sealed_workloads_are_read_for_their_version_only(tmp_path):
    board = board_of(SAID, tmp_path)
    drawn = {"Z1": {"stratum": "Z", "budget": 10, "set": {"dataset": "quadratics"}}}
    file = tmp_path / "sealed.yaml"
    file.write_text(yaml.safe_dump({"version": board.hash, "workloads": drawn}), encoding="utf-8")
    found = sealed_board(board).workloads["Z1"]
    assert (found.stratum, found.budget, found.seeds) == ("Z1", 10, {"report": tuple(REPORT)})
    (tmp_path / "rules.md").write_text("changed")
    with pytest.raises(NoData, match="run sealed"):
        sealed_board(board)


def test_a_known_minimum_is_the_reference():
    board, some, table, courses = loaded(*grid("dsgd", DSGD))
    frozen = freeze(board, some, table, courses).set_index("workload")
    assert frozen.loc["D1", ["rule", "start", "reference"]].tolist() == ["minimum", 513, 1]
    assert frozen.loc["D1", "target_1"] == 257


def test_the_best_pooled_method_is_the_reference_otherwise():
    pooled = grid("dsgd", {0.1: 0.5, 1.0: 1.0, 10.0: 0.2}, topology="all_reduce", minimum=None)
    board, some, table, courses = loaded(*grid("dsgd", DSGD, minimum=None), *pooled)
    frozen = freeze(board, some, table, courses).set_index("workload")
    assert frozen.loc["T1", ["rule", "method", "setting"]].tolist() == ["pooled", "pooled_dsgd", "eta=1 schedule=fixed"]
    assert frozen.loc["T1", "reference"] == pytest.approx(1 + 256 / 1024)
    with pytest.raises(NoData, match="pooled_dsgd"):
        freeze(board, some, table[table["entrant"] == "dsgd"], courses)


def test_the_gate_needs_a_hundredth_of_the_gap_and_an_interval():
    """The pooled loss is 1 + 256/1024 in the end; that of D-SGD 1 + 8 on D1, about the pooled one on the others."""
    pooled = grid("dsgd", {0.1: 0.5, 1.0: 1.0}, topology="all_reduce", seeds=TUNE)
    far = [run("dsgd", eta, 1.0, "D1", seed, floor=8 + seed / 10) for eta in (0.1, 1.0) for seed in TUNE]
    near = grid("dsgd", {0.1: 0.5, 1.0: 0.9}, ["T1", "T2"], TUNE)
    board, some, table, courses = loaded(*pooled, *far, *near)
    found = gate(some, table, courses, freeze(board, some, table, courses)).set_index("workload")
    assert found["felt"].to_dict() == {"D1": True, "T1": False, "T2": False}
    assert found.loc["D1", "part"] == pytest.approx((8.05 - 0.25) / 512)


def test_the_quick_size_has_its_own_budget_and_seeds():
    quick = {
        "workloads": ["T2"],
        "entrants": ["dsgd"],
        "seeds": {"tune": [0], "report": [100]},
        "budget": 0.25,
        "schedules": ["fixed"],
        "hidden": {},
    }
    board = board_of({**SAID, "quick": quick}, size="quick")
    assert list(board.workloads) == ["T2"]
    assert (board.workloads["T2"].budget, board.workloads["T2"].seeds["report"]) == (256, (100,))
    assert list(board.everyone) == ["dsgd", "pooled_dsgd"]


def test_settings_have_one_name():
    assert named({"schedule": "fixed", "eta": 1}) == named({"eta": np.float64(1.0), "schedule": "fixed"})


def test_the_hash_covers_rules_protocol_targets_and_settings(tmp_path):
    board = board_of(SAID, tmp_path)
    found = [board.hash]
    for name in ("rules.md", "board.yaml", "targets.csv", "chosen.csv"):
        (tmp_path / name).write_text(name)
        found.append(board.hash)
    (tmp_path / "gate.csv").write_text("no part of the hash")
    assert board.hash == found[-1]
    assert len(set(found)) == 5
