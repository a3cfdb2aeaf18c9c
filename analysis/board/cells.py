"""The runs of the board in a results folder: which workload, entrant, setting and seed each belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.grid import belongs
from analysis.board.usual import Labels, usual
from analysis.results.errors import NoData
from analysis.results.numbers import missing
from analysis.results.results import OUTCOME, Results
from bench.base.board import Board, Entrant, Workload
from bench.store.record import ADDED, HOW, SINCE

LOSS = "node_loss"
"""The scored loss: the mean over the nodes of the loss at their own points."""
PACK = "pack it again with python analysis/archive.py RESULTS ARCHIVE --metrics node_loss,suboptimality"
"""What to type if an archive lacks a metric."""
SCHEDULE = "schedule"
DECLARED = ("gradients", "samples", "start_samples", "requires_float64")
"""What a run declares that its settings depend on: the number of steps and the floating-point type."""
WIDTH = {"float32": 4, "float64": 8}
"""The bytes of a number."""
COLUMNS = ["workload", "entrant", "setting", "values", "seed", "run_id", "diverged"]


@dataclass(frozen=True)
class Curve:
    """The course of one run, per node.

    Attributes:
        gradients: Mini-batch gradients until each evaluation.
        rounds: Communication rounds.
        sent: Bytes that the run pays.
        losses: The scored loss.
        minimum: The known minimum of the loss, else NaN.
    """

    gradients: np.ndarray
    rounds: np.ndarray
    sent: np.ndarray
    losses: np.ndarray
    minimum: float = np.nan


def cells(results: Results, board: Board, workloads: Mapping[str, Workload], changed: int = 0) -> pd.DataFrame:
    """Return one row per run of these workloads, with the columns ``COLUMNS``.

    A run belongs to an entrant on a workload if it has all settings that the protocol gives it: those that the protocol
    states, and the defaults. With ``changed=1``, they are the runs with one other value of an untuned option, which the
    column ``changed`` names. Runs of other studies may lie in the same folder.
    """
    finals = results.finals
    labels = [name for name in results.runs.columns if name in finals and name.partition(".")[0] not in HOW]
    known = dict[tuple[Any, ...], Labels]()
    rows = [
        {"run_id": run["run_id"], "diverged": diverged, "seed": int(run["seed"]), **found}
        for run, diverged in zip(finals[labels].to_dict("records"), finals["state"] != "done", strict=True)
        for found in _places(results, board, workloads, {str(k): v for k, v in run.items()}, changed, known)
    ]
    columns = [*COLUMNS, *(["changed"] if changed else [])]
    order = {name: place for place, name in enumerate([*board.everyone, *workloads])}
    rows.sort(key=lambda row: (order[row["entrant"]], order[row["workload"]]))
    return pd.DataFrame(rows, columns=columns).astype({"diverged": bool, "seed": int})


def bytes_paid(results: Results, table: pd.DataFrame, workloads: Mapping[str, Workload]) -> dict[str, float]:
    """Return the part of its bytes that each run of the table pays: a number has the type of the workload.

    Methods that the suite computes in float64 everywhere would pay twice for the same messages.
    """
    own = results.runs.set_index("run_id")["dtype"]
    pairs = zip(table["run_id"], table["workload"], strict=True)
    return {run: WIDTH[workloads[name].set.get("dtype", "float64")] / WIDTH[own[run]] for run, name in pairs}


def curves(results: Results, table: pd.DataFrame, workloads: Mapping[str, Workload]) -> dict[str, Curve]:
    """Return the course of each run of the table.

    Raises:
        NoData: A run has no values of the scored loss.
    """
    labels = results.runs.set_index("run_id")[["nodes", "batch_size", "state"]]
    if LOSS not in results.rows:
        raise NoData(f"no run has the column {LOSS}; {PACK}")
    out, paid = {}, bytes_paid(results, table, workloads)
    for run, workload in zip(table["run_id"], table["workload"], strict=True):
        nodes, batch = (int(labels.at[run, name]) for name in ("nodes", "batch_size"))
        taken = {
            name: results.course(run, name)[1].astype(float)
            for name in ("gradients", "rounds", "bytes", LOSS, "train_loss", "suboptimality")
            if name in results.rows
        }
        # NaN may be a value of a nonfinite run; other runs lack the metric if all their values are NaN
        if np.isnan(taken[LOSS]).all() and labels.at[run, "state"] != "nonfinite":
            raise NoData(f"the run {run} of {workload} has no {LOSS}; {PACK}")
        # nodes start at one point, so that both losses are f there; runs of small archives lack the first one
        start = taken["train_loss"][0] if "train_loss" in taken else np.nan
        start = taken[LOSS][0] if np.isnan(start) else start
        least = start - taken["suboptimality"][0] if "suboptimality" in taken else np.nan
        gradients, sent = taken["gradients"] / (nodes * batch), taken["bytes"] / nodes * paid[run]
        out[run] = Curve(gradients, taken["rounds"], sent, taken[LOSS], float(least))
    return out


def _places(
    results: Results,
    board: Board,
    workloads: Mapping[str, Workload],
    run: Labels,
    changed: int,
    known: dict[tuple[Any, ...], Labels],
) -> Iterator[dict[str, Any]]:
    """Yield the entrants and workloads that a run belongs to, as columns of the table; ``known``: expected labels."""
    declared, older = results.facts.get(run["run_id"], {}).get("algorithm") or {}, _older(run)
    for entrant in (one for one in board.everyone.values() if one.method == run["algo"]):
        tuned = [name for name in (entrant.stepsize, SCHEDULE) if name is not None]
        values = {name: run[name] for name in tuned if not missing(run.get(name))}
        for workload in workloads.values():
            if run["dataset"] != workload.set["dataset"]:
                continue
            key = (entrant.name, workload.name, *(declared.get(name) for name in DECLARED))
            if key not in known:
                known[key] = expected(board, entrant, workload, declared)
            wanted = known[key]
            if (run["topology"], run["steps"]) != (wanted["topology"], wanted["steps"]):  # saves most of the time
                continue
            names = [name for name in {*run, *wanted} if name not in (*OUTCOME, *tuned)]
            other = {name: run.get(name) for name in sorted(names) if not _has(run, name, wanted.get(name), older)}
            if len(other) != changed or not set(other) <= set(results.options):
                continue
            if belongs(board, entrant, workload, values.get(str(entrant.stepsize)), values.get(SCHEDULE), run["seed"]):
                text = " ".join(f"{name}={_short(value)}" for name, value in other.items())
                place = {"workload": workload.name, "entrant": entrant.name, "changed": text}
                yield {**place, "values": values, "setting": named(values)}


def expected(board: Board, entrant: Entrant, workload: Workload, declared: Mapping[str, Any]) -> Labels:
    """Return the labels that the protocol gives the runs of an entrant; ``declared``: the declaration of the run."""
    gradients = int(declared.get("gradients", declared.get("samples", 1)))
    steps = max(1, (workload.budget - int(declared.get("start_samples", 0))) // gradients)
    exact = {"dtype": "float64"} if declared.get("requires_float64") else {}
    stated = {**board.common, **workload.set, **exact, **entrant.set, "algo": entrant.method}
    labels = usual({**stated, "steps": steps, "eval_every": max(1, steps // board.evaluations)}, entrant.conf)
    return {name: value for name, value in labels.items() if name.partition(".")[0] not in HOW}


def named(values: Mapping[str, Any]) -> str:
    """Return a setting as one text: eta=0.1 schedule=fixed; the same for 1 and 1.0."""
    words = {name: value if isinstance(value, str) else f"{float(value):g}" for name, value in values.items()}
    return " ".join(f"{name}={words[name]}" for name in sorted(words))


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _has(run: Labels, name: str, wanted: Any, older: Labels) -> bool:
    """Return whether a run has this value: 1 equals 1.0; null, and no such setting, is a missing label."""
    value: Any = older.get(name) if missing(run.get(name)) else run[name]
    wanted = older.get(name) if wanted is None else wanted
    if wanted is None or missing(value):
        return wanted is None and missing(value)
    if isinstance(wanted, int | float) and not isinstance(value, str):
        return float(value) == float(wanted)
    return str(value) == str(wanted)


def _older(run: Labels) -> Labels:
    """Return the labels that runs of earlier versions lack, with the value that these runs had."""
    return SINCE | {k: v for (group, name), some in ADDED.items() if run.get(group) == name for k, v in some.items()}
