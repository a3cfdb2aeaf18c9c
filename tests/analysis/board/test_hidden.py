"""Changes of the score by numbers of the paper, on a hand-made board."""

import numpy as np
import pytest

from analysis.board.cells import cells, curves
from analysis.board.choose import as_table, choose_tuned, graded
from analysis.board.hidden import extremes, hidden
from analysis.board.targets import freeze
from tests.analysis.board.made import grid, made_board, results, run

USUAL = [*grid("dsgd", {0.1: 0.7, 1.0: 1.0}), *grid("qg_dsgdm", {0.1: 1.0, 1.0: 0.3})]


def changes(*variants):
    board = made_board(hidden={"workloads": ["T1", "T2"], "seeds": [0]})
    found = results(*USUAL, *variants)
    table = cells(found, board, board.workloads)
    courses = curves(found, table, board.workloads)
    frozen = freeze(board, board.workloads.values(), table, courses)
    chosen = as_table(choose_tuned(graded(board, board.workloads.values(), table, courses, frozen)))
    return hidden(found, board, chosen, frozen)


def variant(rate, workload, beta=0.9, nesterov=False, eta=0.1, seed=0):
    return run("qg_dsgdm", eta, rate, workload, seed, beta=beta, nesterov=nesterov)


def test_the_change_is_the_mean_over_the_workloads():
    """The rate 1 is that of tuned D-SGD. The rate 2 reaches target k after 2^((k−1)/2) steps, not after 2^(k−1)."""
    faster = np.mean([min(3, (k - 1) / 2) for k in range(1, 9)])
    table = changes(
        variant(2.0, "T1", 0.7), variant(1.0, "T2", 0.7), variant(0.5, "T1", 0.97), variant(0.5, "T2", 0.97)
    )
    assert table["number"].tolist() == ["beta=0.7", "beta=0.97"]
    assert table.loc[0, ["T1", "T2", "change"]].tolist() == pytest.approx([faster, 0, faster / 2])
    assert (table.loc[1, ["T1", "T2"]] < -1).all()
    found = extremes(table)["qg_dsgdm"]
    assert (found.worst_by, found.best_by, found.best) == ("beta=0.97", "beta=0.7", pytest.approx(faster / 2))


def test_other_runs_change_nothing():
    """Another stepsize, another seed, a changed word and two changed numbers are no changes of one number."""
    others = [variant(2.0, "T1", 0.7, eta=1.0), variant(2.0, "T1", 0.7, seed=1), variant(2.0, "T1", nesterov=True)]
    table = changes(*others, variant(2.0, "T1", 0.7, nesterov=True))
    assert table.empty
    assert extremes(table) == {}


def test_a_number_without_a_workload_has_no_extreme():
    table = changes(variant(2.0, "T1", 0.7))
    assert table["number"].tolist() == ["beta=0.7"]
    assert table["change"].isna().all()
    assert extremes(table) == {}
