"""The submissions of a results folder: results/queue/WHEN/, each with a ticket that names its job. Imports no torch."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.store.files import read_json, write_json
from bench.store.kinds import COUNT, TEXT, many, odd
from bench.store.record import FINAL
from bench.store.regular import make_folder, no_link
from bench.sweep.cluster import slurm

TICKET = "job.json"
JOB = re.compile("[0-9]{1,20}")
KINDS = {"job": TEXT, "workers": COUNT, "runs": many(TEXT)}


@dataclass(frozen=True)
class Ticket:
    """A job array of workers, and its runs."""

    job: str
    workers: int
    runs: tuple[str, ...]

    def keep(self, folder: Path) -> None:
        write_json(folder / TICKET, {"job": self.job, "workers": self.workers, "runs": list(self.runs)})


def new_folder(results: Path) -> Path:
    """Create the folder of a submission, for the order, the script and the output of the workers."""
    queue = make_folder(results.absolute() / "queue", parents=True)
    folder = queue / f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    return folder


def tickets(results: Path) -> list[Ticket]:
    """Return all tickets, the oldest first by job number, since the clocks of hosts differ."""
    paths = no_link(results / "queue").glob(f"*/{TICKET}")
    found = (_read(path) for path in paths if not path.parent.is_symlink())
    return sorted(filter(None, found), key=lambda ticket: (len(ticket.job), ticket.job))


def _read(path: Path) -> Ticket | None:
    """Return the ticket in a file, None if it has none; other keys are dropped, since they may be large."""
    content = read_json(path)
    if not content.keys() >= KINDS.keys() or odd(content, KINDS) or not JOB.fullmatch(content["job"]):
        return None
    return Ticket(content["job"], content["workers"], tuple(dict.fromkeys(content["runs"])))


def queue_lines(results: Path, found: Mapping[str, Mapping[str, Any]], only: bool = False) -> list[str]:
    """Describe the jobs with unfinished runs, by the states ``found`` in the folder; ``only``: of no other runs."""
    lacking = {ticket: _lacking(ticket, found, only) for ticket in tickets(results)}
    asked = [ticket for ticket in lacking if lacking[ticket]]
    if not asked:
        return []
    try:
        seen = slurm.tasks([ticket.job for ticket in asked])
    except slurm.NoQueue as error:
        return [f"Queue: job {', '.join(ticket.job for ticket in asked)}. {error}"]
    lines = []
    newer: set[str] = set()
    for ticket in reversed(asked):
        of_job = [task for task in seen if task.job == ticket.job]
        left = [run for run in lacking[ticket] if run not in newer]
        if any(not task.over for task in of_job):
            count = f"{ticket.workers} worker{'s' * (ticket.workers != 1)}"
            lines.append(f"Queue: job {ticket.job}, {count}: {slurm.summary(of_job)}; {len(left)} runs left.")
            newer.update(ticket.runs)
        elif left:
            ended = f" ({slurm.summary(of_job)})" if of_job else ""
            lines.append(
                f"Queue: job {ticket.job} has ended{ended}; {len(left)} of its {len(ticket.runs)} runs are not done. "
                "Repeat the command to submit them again."
            )
            newer.update(left)
    return lines[::-1]


def _lacking(ticket: Ticket, found: Mapping[str, Mapping[str, Any]], only: bool) -> list[str]:
    """Return the runs of a ticket that are not finished."""
    runs = [run for run in ticket.runs if run in found] if only else ticket.runs
    return [run for run in runs if found.get(run, {}).get("state") not in FINAL]
