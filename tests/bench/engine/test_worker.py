"""A rank writes checkpoints only while its runner holds the lock of the run."""

import json

import numpy as np
import pytest
import torch

from bench.base.errors import Failure
from bench.engine.worker import Reporter
from bench.store.files import lock_of
from bench.training.observer import Snapshot
from tests.helpers.run_folders import TIMES


@pytest.mark.parametrize("kind", ["", ".lease"], ids=["lock", "lease"])
def test_a_rank_without_its_runner_writes_no_checkpoint_into_the_run_of_another_process(tmp_path, kind):
    run = tmp_path / "runs" / "dsgd"
    run.mkdir(parents=True)
    lock = lock_of(run).with_name(f"{run.name}{kind}")
    lock.parent.mkdir()

    def taken_by(pid: int) -> None:
        lock.write_text(json.dumps({"pid": pid, "host": "here", "since": 1.5}))

    def checkpoint(step: int) -> list[str]:
        state = {"x": torch.zeros(1, 3, 2)}
        counts = [np.zeros(9, dtype=np.int64)]
        rank.checkpoint(0, Snapshot(step, state, [dict.fromkeys(TIMES, 0.0)], [{}], counts))
        return sorted(path.name for path in (run / "checkpoint").iterdir())

    taken_by(6)  # what the file system of another host may still show
    rank = Reporter(None, None, 1, range(3), [str(run / "checkpoint")], (7, "here"), [""])
    assert checkpoint(10) == ["10.0-2.npz"]
    taken_by(7)
    assert checkpoint(20) == ["10.0-2.npz", "20.0-2.npz"]
    lock.write_text("")  # as of a file that is being written
    before = checkpoint(30)
    assert "30.0-2.npz" in before
    for harm in (lambda: taken_by(8), lock.unlink):  # unlink: another process took the lease and released it
        harm()
        with pytest.raises(Failure, match="dsgd"):
            checkpoint(40)
    assert sorted(path.name for path in (run / "checkpoint").iterdir()) == before


def test_a_rank_may_see_the_lock_of_its_runner_late(tmp_path):
    run = tmp_path / "runs" / "dsgd"
    run.mkdir(parents=True)
    lock = lock_of(run)
    rank = Reporter(None, None, 1, range(3), [str(run / "checkpoint")], (7, "here"), [""])
    moment = Snapshot(10, {"x": torch.zeros(1, 3, 2)}, [dict.fromkeys(TIMES, 0.0)], [{}], [np.zeros(9, dtype=np.int64)])
    rank.checkpoint(0, moment)
    lock.parent.mkdir()
    lock.write_text(json.dumps({"pid": 7, "host": "here", "since": 1.5}))
    rank.checkpoint(0, moment)
    lock.unlink()
    with pytest.raises(Failure, match="dsgd"):
        rank.checkpoint(0, moment)
