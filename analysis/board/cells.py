"""The runs of the board in a results folder: which workload, entrant, setting and seed each belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.protocol import Entrant, Protocol, Workload
from analysis.results.errors import NoData
from analysis.results.results import Results

LOSS = "node_loss"
"""The scored loss: the mean over the nodes of the loss at their own points."""
SPENT = (0.8, 1.01)
"""A run has the budget of a workload if its gradients are between these parts of it; start-up batches count too."""
SCHEDULE, DTYPE = "schedule", "dtype"
PLAIN: Mapping[str, Any] = {
    "links": "reliable",
    "compressor": "none",
    "network": "none",
    "topology.lazy": False,
    "regularizer": "none",
    "scale": 1.0,
}
"""Settings of runs that neither a workload nor an entrant states; runs without such a label have this value."""
COLUMNS = ["workload", "entrant", "setting", "values", "seed", "run_id", "diverged"]


@dataclass(frozen=True)
class Curve:
    """The course of one run, per node.

    Attributes:
        gradients: Mini-batch gradients until each evaluation.
        rounds: Communication rounds.
        sent: Bytes.
        losses: The scored loss.
        minimum: The known minimum of the loss, else NaN.
    """

    gradients: np.ndarray
    rounds: np.ndarray
    sent: np.ndarray
    losses: np.ndarray
    minimum: float = np.nan


def cells(results: Results, protocol: Protocol, workloads: Mapping[str, Workload], changed: int = 0) -> pd.DataFrame:
    """Return one row per run of these workloads, with the columns ``COLUMNS``.

    With ``changed=1``, they are the runs with one other value of an untuned option, which the column ``changed`` names.

    Raises:
        NoData: Two runs have the same workload, entrant, setting and seed.
    """
    finals = results.finals
    gone = finals["diverging"] | (finals["state"] == "nonfinite")
    finals = finals.assign(diverged=gone.astype(bool), planned=_planned(results, finals))
    parts = [
        part
        for entrant in protocol.entrants.values()
        for part in _of_entrant(results, finals[finals["algo"] == entrant.algo], entrant, workloads, changed)
    ]
    columns = [*COLUMNS, *(["changed"] if changed else [])]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    twice = table[table.duplicated([name for name in columns if name not in ("values", "run_id", "diverged")])]
    if len(twice):
        one = twice.iloc[0]
        raise NoData(f"{one['entrant']} ran twice on {one['workload']} at {one['setting']} with seed {one['seed']}")
    return table[columns]


def curves(results: Results, table: pd.DataFrame) -> dict[str, Curve]:
    """Return the course of each run of the table."""
    sizes = results.runs.set_index("run_id")[["nodes", "batch_size"]]
    if LOSS not in results.rows:
        raise NoData(f"no run has the column {LOSS}")
    out = {}
    for run in table["run_id"]:
        nodes, batch = (int(value) for value in sizes.loc[run])
        taken = {
            name: results.course(run, name)[1].astype(float)
            for name in ("gradients", "rounds", "bytes", LOSS, "train_loss", "suboptimality")
            if name in results.rows
        }
        # nodes start at one point, so that both losses are f there; small archives lack the first one
        start = taken.get("train_loss", taken[LOSS])[0]
        least = start - taken["suboptimality"][0] if "suboptimality" in taken else np.nan
        out[run] = Curve(
            taken["gradients"] / (nodes * batch), taken["rounds"], taken["bytes"] / nodes, taken[LOSS], float(least)
        )
    return out


def _planned(results: Results, finals: pd.DataFrame) -> list[float]:
    """Return the gradients per node that each run was to take, with those of its start."""
    each = (results.facts.get(run, {}).get("algorithm") or {} for run in finals["run_id"])
    return [
        float(steps) * float(said.get("gradients", said.get("samples", 1))) + float(said.get("start_samples", 0))
        for steps, said in zip(finals["steps"], each, strict=True)
    ]


def _of_entrant(
    results: Results, runs: pd.DataFrame, entrant: Entrant, workloads: Mapping[str, Workload], changed: int
) -> Iterator[pd.DataFrame]:
    """Yield the runs of one entrant on each workload."""
    tuned = [name for name in (entrant.option, SCHEDULE) if name in runs]
    changes = _changes(runs, [name for name in results.options if name in runs and name not in tuned])
    counts = pd.Series([len(some) for some in changes], index=runs.index, dtype=int)
    texts = [" ".join(f"{name}={_short(value)}" for name, value in some.items()) for some in changes]
    runs = runs.assign(changed=texts)[counts == changed]
    for workload in workloads.values():
        part = runs["planned"] / workload.budget
        mine = runs[part.between(*SPENT) & _have(runs, {**PLAIN, **workload.settings, **entrant.settings})]
        if mine.empty:
            continue
        values = [
            {str(name): value for name, value in row.items() if not _missing(value)}
            for row in mine[tuned].to_dict("records")
        ]
        yield mine.assign(workload=workload.name, entrant=entrant.name, values=values, setting=list(map(named, values)))


def named(values: Mapping[str, Any]) -> str:
    """Return a setting as one text: eta=0.1 schedule=fixed; the same for 1 and 1.0."""
    words = {name: value if isinstance(value, str) else f"{float(value):g}" for name, value in values.items()}
    return " ".join(f"{name}={words[name]}" for name in sorted(words))


def _changes(runs: pd.DataFrame, others: list[str]) -> list[dict[str, Any]]:
    """Return the untuned options of each run that have not the values that most runs have."""
    if runs.empty or not others:
        return [{} for _ in runs.index]
    rows = list(runs[others].itertuples(index=False, name=None))
    counts = Counter(str(row) for row in rows)
    usual = min(counts, key=lambda text: (-counts[text], text))
    common = next(row for row in rows if str(row) == usual)
    return [{name: v for name, v, u in zip(others, row, common, strict=True) if str(v) != str(u)} for row in rows]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _have(runs: pd.DataFrame, settings: Mapping[str, Any]) -> pd.Series:
    """Return which runs have these settings."""
    keep = pd.Series(True, index=runs.index)
    for key, wanted in settings.items():
        label = key if key in runs else key.removeprefix("algo.")
        if key == DTYPE:  # methods that need float64 have it everywhere
            continue
        if label not in runs and wanted != PLAIN.get(key):
            return keep & False
        if label in runs:
            values = runs[label].astype(object)
            values = values.where(values.notna(), PLAIN.get(key))
            keep &= values.map(lambda value, wanted=wanted: _same(value, wanted)).astype(bool)
    return keep


def _same(value: Any, wanted: Any) -> bool:
    """Compare a label with a value of board.yaml: 1 equals 1.0, null is a missing label."""
    if wanted is None or _missing(value):
        return wanted is None and _missing(value)
    if isinstance(wanted, int | float) and not isinstance(value, str):
        return float(value) == float(wanted)
    return str(value) == str(wanted)


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and bool(np.isnan(value)))
