"""Runs that several sources have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis.results.archive import SHORT, clipped
from analysis.results.errors import NoData
from analysis.results.results import Results
from bench.store.record import FINAL
from bench.store.stored_run import IDENTITY

CLOSE = 1e-5
"""Relative difference up to which numbers are equal: archives have single precision."""
TINY = 1e-12
"""Absolute difference up to which numbers are equal: a consensus error of 1e-30 is a rounding error."""
TIMES = ("compute_s", "comm_s", "eval_s", "wall_s")
"""Metrics that differ whenever a run is repeated."""


class Copy(NamedTuple):
    """The state and the evaluations of a run in one source."""

    state: str
    rows: pd.DataFrame

    def compared(self) -> list[str]:
        """Return the metrics that the run has. One that it lacks is NaN in every row, if other runs have it.

        A run ends at its first evaluation that is not finite, so in a single evaluation NaN may be a value.
        """
        if self.state == "nonfinite" and len(self.rows) == 1:
            return [*self.rows]
        return [*self.rows.columns[self.rows.notna().any()]]


def together(parts: Sequence[Results]) -> Results:
    """Merge results. Of duplicate runs, ended ones win; of these the first one, or a copy of it with more metrics."""
    if other := sorted(different(parts)):
        raise NoData(f"two sources have different runs with the same run_id: {other[0]}; their settings differ")
    ended = _ended(parts)
    complete = set[str]().union(*ended)
    chosen: dict[str, int] = {}
    for i, part in enumerate(parts):
        for run in part.runs["run_id"]:
            if run in ended[i] or run not in complete:
                chosen.setdefault(run, i)
    chosen |= _compared(parts)[0]
    fresh = [part.of(part.runs[part.runs["run_id"].map(chosen) == i]) for i, part in enumerate(parts)]
    labels, metrics = {c for part in fresh for c in part.runs}, {c for part in fresh for c in part.rows}
    if both := sorted(labels & metrics - {"run_id"}):
        raise NoData(f"{both[0]!r} is a metric of some runs and a label of others; these runs cannot be merged")
    return Results(
        pd.concat([part.runs for part in fresh], ignore_index=True),
        pd.concat([part.rows for part in fresh], ignore_index=True),
        {run: part.facts[run] for part in fresh for run in part.runs["run_id"] if run in part.facts},
        [one for part in parts for one in part.unreadable if one not in complete],
        ", ".join(part.source for part in parts),
        reasons={run: reason for part in reversed(parts) for run, reason in part.reasons.items()},
    )


def different(parts: Sequence[Results]) -> set[str]:
    """Return the run_ids under which the parts have runs of different settings; earlier versions do not record them."""
    known, out = dict[str, str](), set[str]()
    for part in parts:
        for run, facts in part.facts.items():
            if (one := str(facts.get(IDENTITY, ""))[:SHORT]) and known.setdefault(run, one) != one:
                out.add(run)
    return out


def contradicting(parts: Sequence[Results]) -> list[str]:
    """Return the runs whose numbers differ between the parts that have them."""
    return sorted(_compared(parts)[1])


def _ended(parts: Sequence[Results]) -> list[set[str]]:
    return [{*part.runs.loc[part.runs["state"].isin(FINAL), "run_id"]} for part in parts]


def _compared(parts: Sequence[Results]) -> tuple[dict[str, int], set[str]]:
    """Return the number of the part to use for each run that several parts have, and the runs that differ.

    Of runs that differ, the first part is used.
    """
    ended = _ended(parts)
    times = Counter(run for runs in ended for run in runs)
    first, best, differ = dict[str, int](), dict[str, tuple[int, Copy]](), set[str]()
    for i, part in enumerate(parts):
        several = [run for run in ended[i] if times[run] > 1]
        states = dict(zip(part.runs["run_id"], part.runs["state"], strict=True))
        for run, rows in part.rows[part.rows["run_id"].isin(several)].groupby("run_id", sort=False):
            copy = Copy(states[run], rows)
            first.setdefault(str(run), i)
            if (known := best.setdefault(str(run), (i, copy))[1]) is copy:
                continue
            if _differ(known, copy):
                differ.add(str(run))
            elif _metrics(rows) > _metrics(known.rows):
                best[str(run)] = i, copy
    return {run: first[run] if run in differ else i for run, (i, _) in best.items()}, differ


def _metrics(rows: pd.DataFrame) -> int:
    """Return the number of metrics that a run has."""
    return int(rows.notna().any().sum())


def _differ(one: Copy, other: Copy) -> bool:
    """Return whether two runs have other states or evaluations, or other numbers in a metric that both have."""
    if one.state != other.state or len(one.rows) != len(other.rows):
        return True
    both = {*other.compared()} - {"run_id", *TIMES}
    names = [name for name in one.compared() if name in both]
    a, b = (clipped(copy.rows[names].to_numpy(dtype=float, na_value=np.nan)) for copy in (one, other))
    return not np.allclose(a, b, rtol=CLOSE, atol=TINY, equal_nan=True)
