"""The distinct runs of a sweep, by their run_id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.base.errors import UserError
from bench.config.run_config import RunConfig
from bench.store.record import HOW


def unique(runs: Iterable[RunConfig]) -> list[RunConfig]:
    """Return the runs without duplicates, in the order of first appearance.

    Raises:
        UserError: Two different runs have the same run_id.
    """
    out: dict[str, RunConfig] = {}
    for run in runs:
        other = out.get(run.run_id, run)
        if other.identity != run.identity:
            first, second = differences(other.labels(), run.labels())
            raise UserError(
                f"Two different runs have the same run_id {run.run_id}: one has {first}, the other {second}. Its last "
                "8 digits are the beginning of a hash. Compute one of the two in another results folder, such as "
                "results=other, and with W&B in another project (tracker.project=other)."
            )
        out[run.run_id] = run
    return list(out.values())


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, str]:
    """Return settings that two runs have with different values, as text."""
    names = [name for name in first if name in second and first[name] != second[name]]
    shown = [name for name in names if name.partition(".")[0] not in HOW][:3]
    one, other = (", ".join(f"{name}={values[name]}" for name in shown) for values in (first, second))
    return one or "other files", other or "these files"


def same_run_twice(runs: Sequence[RunConfig]) -> str | None:
    """Return a warning if some configurations are the same run with another engine, folder or the like."""
    last = {run.run_id: run.plain() for run in runs}
    lost = sum(run.plain() != last[run.run_id] for run in runs)
    warning = (
        f"{lost} of {len(runs)} configurations repeat another run and differ only in settings that do not change its "
        "numbers (engine, ranks, results and the like). Of equal runs, only the last one is computed."
    )
    return warning if lost else None
