"""The stored runs of a sweep that has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from analysis.results.folder import load_folder
from analysis.results.results import Results

if TYPE_CHECKING:
    from bench.sweep.sweep import Result


def of_sweep(place: Path, results: Sequence[Result]) -> Results:
    """Return the stored runs; without evaluations those that failed in this sweep and not in their folder.

    Another command may have finished such a run with another source, or its folder has an earlier result.
    """
    found = load_folder(place, [result.path.name for result in results])
    stored = dict(zip(found.runs.get("run_id", ()), found.runs.get("state", ()), strict=True))
    failed = [one for one in results if one.error is not None and stored.get(one.path.name) != "failed"]
    if not failed:
        return found
    names, order = {one.path.name for one in failed}, [one.path.name for one in results]
    rest = found.runs[[name not in names for name in stored]]
    runs = pd.concat([rest, pd.DataFrame([{**one.config.labels(), "state": "failed"} for one in failed])])
    runs = runs.sort_values("run_id", key=lambda some: some.map(order.index), ignore_index=True)
    return replace(found, runs=runs, rows=found.rows[~found.rows["run_id"].isin(names)])
