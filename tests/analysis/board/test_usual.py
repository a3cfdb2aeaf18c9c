"""The expected labels of runs, against the labels of the runs that bench composes."""

import pytest

from analysis.board.cells import expected
from analysis.board.extended import side_board
from analysis.board.usual import usual
from analysis.results.errors import NoData
from bench.base.board_file import read
from bench.config.blocks import of_blocks
from bench.store.record import HOW
from bench.sweep.protocol.phases import cells, declared_of

METHODS = ("pooled_adam", "d2", "kgt", "deepstorm", "ed", "acid", "choco", "push_pull")


def test_stated_settings_replace_those_of_the_dataset_and_of_the_method():
    found = usual({"dataset": "digits", "algo": "acid", "algo.eta": 3, "nodes": 4, "topology.lazy": True})
    assert (found["model"], found["model.hidden"], found["network"]) == ("mlp", 64, "lan")
    assert (found["eta"], found["nodes"], found["topology.lazy"]) == (3, 4, True)
    found = usual({"dataset": "quadratics", "algo": "acid", "network": "none"})
    assert (found["batch_size"], found["network"]) == (1, "none")
    assert "network.slow" not in found


def test_an_unknown_method_is_named():
    with pytest.raises(NoData, match="my_method"):
        usual({"algo": "my_method"})


@pytest.mark.thorough
def test_the_labels_are_those_of_composed_runs():
    """D-SGD on all workloads and side tables, and methods with other steps, types, networks or compressors."""
    board = read()
    known = {**board.workloads, **board.dev}
    found = [cell for phase in ("dev", "tune") for cell in cells(board, phase)]
    found = [
        c for c in found if c.entrant.name == "dsgd" or (c.entrant.name in METHODS and c.workload.name not in known)
    ]
    found += [c for c in cells(board, "tune") if c.entrant.name in METHODS and c.workload.name == "T2"]
    runs = of_blocks([{**cell.blocks[0], "seed": [0]} for cell in found], [], "The board")
    assert len(found) > 20
    for cell, (run, *_) in zip(found, runs, strict=True):
        name, declared = cell.workload.name, declared_of(cell.entrant)
        here = board if name in known else side_board(board, name)
        entrant, workload = here.everyone[cell.entrant.name], known.get(name) or here.workloads[name]
        said = {key: getattr(declared, key) for key in ("gradients", "start_samples", "requires_float64")}
        wanted = expected(here, entrant, workload, said)
        labels = {k: v for k, v in run.labels().items() if k.partition(".")[0] not in (*HOW, "run_id", "seed")}
        free = (entrant.stepsize, "schedule", "seed")
        assert {k: v for k, v in labels.items() if k not in free} == {k: v for k, v in wanted.items() if k not in free}
