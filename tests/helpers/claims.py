"""A process that is believed dead in the middle of a run, and comes back when another has made it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from rich.console import Console

from bench.base.preemption import Preempted
from bench.store import leases
from bench.store.lock_kind import KIND
from bench.sweep import waiting
from bench.sweep.sweep import run_sweep
from bench.sweep.workers import Executor
from bench.training.observer import Outcome
from tests.helpers.configs import config

QUIET = Console(quiet=True)


def fails(error):
    raise error


LAST = {
    "fails": lambda observer, row: fails(ValueError("the network was away")),
    "is interrupted": lambda observer, row: fails(KeyboardInterrupt()),
    "leaves": lambda observer, row: fails(Preempted()),
    "learns": lambda observer, row: observer.learn(0, {"heterogeneity": 1.0}),
    "records": lambda observer, row: observer.record(0, row),
    "keeps a checkpoint": lambda observer, row: observer.checkpoint(0, None),
    "ends": lambda observer, row: observer.end(0, Outcome("done", 40)),
}
"""What it does then."""


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def come_back(last: str, folder: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files of the run as the other process has left them, and after this one has done its ``last``."""
    (folder / ".locks").mkdir(parents=True)
    (folder / ".locks" / KIND).write_text("leases\n")
    run = config(results=str(folder), algo="dsgd")
    home, compute, seen = folder / "runs" / run.run_id, Executor._compute, []

    def computed(self, step, members, observer, *where):
        if seen:
            return compute(self, step, members, observer, *where)  # the other
        seen.append({})
        leases._held.clear()  # as of a process that is stopped: its leases beat no more
        assert [result.state for result in run_sweep([run], QUIET)] == ["done"]
        seen[0] = content(home)
        return LAST[last](observer, {"step": 40})

    fast = (patch.object(leases, "DEAD_S", 0.1), patch.object(waiting, "LOOK_S", 0.05))
    with fast[0], fast[1], patch.object(Executor, "_compute", computed), suppress(KeyboardInterrupt, Preempted):
        assert [result.state for result in run_sweep([run], QUIET)] == ["done"]  # by the other
    return seen[0], content(home)
