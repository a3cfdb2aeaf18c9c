"""Who has lost its claim on a run changes nothing in the run's folder, whatever it was about to write."""

import json
import threading
from pathlib import Path

import pytest

from bench.store import leases
from bench.store.lock_kind import KIND
from bench.store.run_folder import RunFolder
from bench.sweep import waiting
from bench.sweep.states import look_at_run
from bench.sweep.sweep import run_sweep
from bench.sweep.workers import Executor
from tests.helpers.claims import LAST, QUIET, come_back
from tests.helpers.configs import config


@pytest.mark.parametrize("last", LAST)
def test_a_process_that_was_believed_dead_changes_nothing(last, tmp_path):
    before, after = come_back(last, tmp_path)
    assert json.loads(before["status.json"])["state"] == "done"
    assert after == before


@pytest.mark.parametrize("moment", ["before the check", "after the check"])
def test_a_write_that_comes_too_late_does_not_undo_a_finished_run(moment, tmp_path, monkeypatch):
    """A process stops inside a write of status.json, or the network holds its last request, until another is done."""
    (tmp_path / ".locks").mkdir()
    (tmp_path / ".locks" / KIND).write_text("leases\n")
    run = config(results=str(tmp_path), algo="dsgd")
    made, others, replace = [], [], Path.replace
    compute = Executor._compute
    monkeypatch.setattr(leases, "DEAD_S", 0.1)
    monkeypatch.setattr(waiting, "LOOK_S", 0.05)
    monkeypatch.setattr(Executor, "_compute", lambda *words: made.append(1) or compute(*words))

    def late() -> None:
        if not others and len(made) == 1 and json.loads((folder / "status.json").read_bytes())["step"] > 0:
            leases._held.clear()
            others.append(0)
            other = threading.Thread(target=lambda: others.extend(run_sweep([run], QUIET)))  # with drafts of its own
            other.start()
            other.join()

    folder = tmp_path / "runs" / run.run_id
    check = RunFolder.must_be_ours

    def checked(self) -> None:
        if moment == "before the check":
            late()
        check(self)

    def replaced(self, target):
        if moment == "after the check" and self.name.startswith(".status.json"):
            late()
        return replace(self, target)

    monkeypatch.setattr(RunFolder, "must_be_ours", checked)
    monkeypatch.setattr(Path, "replace", replaced)
    assert [result.state for result in run_sweep([run], QUIET)] == ["done"]
    assert [result.state for result in others[1:]] == ["done"]
    assert len(made) == 2  # by this process, which lost it, and by the other, which finished it
    assert look_at_run(folder)["state"] == "done"
    assert json.loads((folder / "status.json").read_bytes())["state"] == "done"


def test_one_thread_renews_all_leases(tmp_path):
    def renewing() -> int:
        return sum(thread.name == "leases" for thread in threading.enumerate())

    before = renewing()  # of earlier tests
    for number in range(20):
        lease = leases.Lease.take(tmp_path / f"{number}")
        assert lease is not None
        lease.release()
    assert renewing() - before <= 1
