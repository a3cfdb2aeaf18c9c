"""Runs of merged archives: the table has a metric that some of them lack."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.board.cells import cells, curves
from analysis.board.choose import graded
from analysis.board.targets import freeze
from analysis.results.errors import NoData
from tests.analysis.board.made import grid, made_board, results

RUNS = [*grid("dsgd", {0.1: 0.7, 1.0: 1.0}, spread=0.01), *grid("dsgt", {0.1: 2.0, 1.0: 0.3}, spread=0.01)]


def lacking(metric, which, state=None):
    """The results without a metric in the runs whose names contain a text."""
    found = results(*RUNS)
    rows = found.rows.assign(**{metric: found.rows[metric].where(~found.rows["run_id"].str.contains(which))})
    changed = found.runs["run_id"].str.contains(which) & (state is not None)
    return replace(found, rows=rows, runs=found.runs.assign(state=found.runs["state"].where(~changed, state)))


def scores(found, frozen=None):
    board = made_board()
    table = cells(found, board, board.workloads)
    courses = curves(found, table, board.workloads)
    frozen = freeze(board, board.workloads.values(), table, courses) if frozen is None else frozen
    return frozen, graded(board, board.workloads.values(), table, courses, frozen)


def test_runs_without_the_training_loss_have_the_same_targets_and_scores():
    """As in an archive merged from one with node_loss and suboptimality alone and one with all metrics."""
    for one, other in zip(scores(results(*RUNS)), scores(lacking("train_loss", "dsgd")), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


@pytest.mark.parametrize("state", ["done", "diverging"])
@pytest.mark.parametrize("which", ["dsgt-1-T1-0-ring", "dsgd-1-T1-0-ring"])
def test_a_run_without_the_scored_loss_is_named(which, state):
    with pytest.raises(NoData, match=rf"{which} .*archive\.py"):
        scores(lacking("node_loss", which, state))


def test_a_run_that_is_nonfinite_from_the_start_misses_all_targets():
    _, found = scores(lacking("node_loss", "dsgt-1-T1-0-ring", "nonfinite"))
    assert found.set_index("run_id").loc["dsgt-1-T1-0-ring", "missed"] == 8


def test_a_minimum_that_some_runs_lack_is_no_other_rule():
    which = "dsgd-0.1-T1-0-ring"
    frozen, _ = scores(results(*RUNS))
    assert set(frozen["rule"]) == {"minimum"}
    assert np.isfinite(frozen["reference"]).all()
    with pytest.raises(NoData, match=which):
        scores(lacking("suboptimality", which))
    with pytest.raises(NoData, match=r"dsgd-0\.1-D1-0-ring"):
        scores(lacking("suboptimality", "dsg"), frozen)
