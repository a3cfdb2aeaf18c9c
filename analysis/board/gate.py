"""The gate (gate.csv): whether the graph is felt on a workload."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.cells import Curve
from analysis.board.scoring import finals
from analysis.board.targets import aims_of
from analysis.board.totals import total
from analysis.results.errors import NoData
from bench.base.board import GATE, YARDSTICK, Workload

POOLED = f"pooled_{YARDSTICK}"
"""The bound that averages exactly, as on the complete graph."""
FinalOf = Callable[[pd.DataFrame], list[float]]
LEAST = 0.01
"""The graph is felt if D-SGD ends this part of F_0 − F_ref above the complete graph."""


def gate(
    workloads: Iterable[Workload], table: pd.DataFrame, curves: Mapping[str, Curve], frozen: pd.DataFrame
) -> pd.DataFrame:
    """Return one row per workload: how far tuned D-SGD ends above the complete graph, as a part of F_0 − F_ref."""
    rows, out = frozen.set_index("workload", drop=False), []
    for workload in workloads:
        mine = table[(table["workload"] == workload.name) & table["seed"].isin(workload.seeds[GATE])]
        aims = aims_of(rows.loc[workload.name].to_dict(), mine, curves)
        final_of = partial(finals, aims, curves)
        ours, theirs = (_best_finals(workload, mine, name, final_of) for name in (YARDSTICK, POOLED))
        apart = total({workload.name: (ours[1] - theirs[1]).dropna()}, {workload.name: workload.stratum})
        felt = bool(apart.value >= LEAST and apart.low > 0)
        found: dict[str, Any] = {"workload": workload.name, "felt": felt, "part": apart.value, "low": apart.low}
        found |= {"high": apart.high, "seeds": apart.count, "setting": ours[0], "complete": theirs[0]}
        out.append(found)
    return pd.DataFrame(out)


def _best_finals(workload: Workload, runs: pd.DataFrame, entrant: str, final_of: FinalOf) -> tuple[str, pd.Series]:
    """Return the setting of an entrant with the best median final loss over all seeds, and these losses by seed."""
    found = []
    mine = runs[runs["entrant"] == entrant]
    counts = mine.groupby("setting")["seed"].transform("nunique")
    for setting, some in mine[counts == len(workload.seeds[GATE])].groupby("setting"):
        values = pd.Series(final_of(some), index=some["seed"])
        found.append((float(values.median()), str(setting), values))
    if not found or not np.isfinite(min(found, key=lambda each: each[:2])[0]):
        what = f"{workload.name} has no finished runs of {entrant} with all seeds of the gate"
        raise NoData(f"{what}; type python bench/board.py run gate --workload {workload.name}")
    _, setting, values = min(found, key=lambda each: each[:2])
    return setting, values
