"""The states of the runs of a results folder, and their table. Imports neither torch nor Hydra, for status.py."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.store.files import lock_of
from bench.store.integrity import examine, read_file
from bench.store.locks import Lock
from bench.store.record import COLUMNS, FINAL, SCORE
from bench.store.regular import is_missing
from bench.store.stored_run import has_another
from bench.terminal.console import Console
from bench.terminal.table import WRONG, show_failures, show_mixed, show_table
from bench.terminal.visible import in_line

if TYPE_CHECKING:
    from bench.config.run_config import RunConfig


def look_at_run(path: Path) -> dict[str, Any]:
    """Return labels, state and latest metrics of a run. It is ``running`` only if a process holds its lock."""
    found = examine(path)
    state = found.summary["state"] if found.ended else found.status.get("state", "unreadable")
    if state == "running" and not Lock(lock_of(path)).held():
        state = "interrupted"
    there = path.is_symlink() or os.path.lexists(path / "status.json")
    wrong = {WRONG: found.sentence()} if found.damaged and (there or state == "unreadable") else {}
    state = "damaged" if there and wrong else state
    if "state" not in found.summary:
        return {"algo": path.name, "topology": "?", "state": state, **wrong}
    if wrong:
        return {**found.labels, "state": state, **wrong}  # without metrics
    last = found.rows[-1] if found.rows else found.final
    latest = {name: value for name, value in last.items() if name in COLUMNS or name.startswith(SCORE)}
    return {**found.labels, "state": state, "step": found.status.get("step"), **latest}


def states_of(runs: Path, configs: Iterable[RunConfig]) -> dict[str, dict[str, Any]]:
    """Return the labels, the state and the latest metrics of these runs, by run_id."""
    return {
        name: look_at_run(runs / name)
        if not is_missing(runs / name / "status.json") and not has_another(runs / name, config)
        else {**config.labels(), "state": "missing"}
        for config in configs
        for name in [config.run_id]
    }


def show_found(
    console: Console, runs: Path, found: Mapping[str, Mapping[str, Any]], table: Sequence[Mapping[str, Any]]
) -> None:
    """Print the table, the errors and the number of runs in each state."""
    show_table(console, table)
    show_mixed(console, [(run["algo"], runs / name) for name, run in found.items() if run["state"] in FINAL])
    failed = [runs / name for name, run in found.items() if run["state"] == "failed"]
    show_failures(console, [(path, read_file(path, "status.json").get("error") or "?") for path in failed])
    for name, run in found.items():
        if WRONG in run:
            sentence = in_line(f"{name} is {run['state']}: {run[WRONG]}")
            console.print(sentence, markup=False, soft_wrap=True)
    counts = Counter(run["state"] for run in found.values())
    states = ", ".join(f"{count} {state}" for state, count in counts.most_common())
    console.print(f"{len(found)} run{'s' * (len(found) != 1)}: {states}")
