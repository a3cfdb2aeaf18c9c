"""Notes on costs and metrics in seconds, and on steps of asynchronous methods."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from analysis.results.labels import is_asynchronous, methods
from analysis.results.results import NETWORK_S, Results
from analysis.results.wording import listed

MEASURED = {"wall_s", "comm_s", "eval_s", "compute_s"}
"""Columns with measured seconds."""
SHARED = "runs that are computed together share one measured time, so that their seconds have no interval"
STEPS = (
    "steps of asynchronous methods ({methods}) are multiples of the nominal time of a gradient: with a slow node, a "
    "synchronous method takes more seconds for as many steps (compare them with --x seconds)"
)


def share_time(runs: pd.DataFrame, metric: str) -> bool:
    """Whether a metric is measured seconds that several of these runs share: they are not one observation per seed."""
    return metric in MEASURED and "replicas" in runs and bool((runs["replicas"] > 1).any())


def clock_note(results: Results, column: str | None, runs: pd.DataFrame, metrics: Collection[str] = ()) -> list[str]:
    """Return a note if the cost or a metric is in seconds, or in steps of asynchronous methods: how they are computed,
    or why they are not comparable."""
    if MEASURED & {column, *metrics}:
        return [*_different_machines(results, runs), *([SHARED] if any(share_time(runs, m) for m in MEASURED) else [])]
    if column == "step":
        present = methods(runs["algo"].unique(), results)
        names = [name for algo, name in present.items() if is_asynchronous(algo, results)]
        return [STEPS.format(methods=listed(names))] if names else []
    if column != NETWORK_S:
        return []
    timed = set(results.finals["algo"][results.finals[NETWORK_S].notna()])
    waits = any(is_asynchronous(algo, results) for algo in timed)
    how = "computed from the gradients, rounds and bytes of every run; they are not measured"
    more = "; those of asynchronous runs are the virtual times of their events" if waits else ""
    return [f"the seconds on the network ({results.network}) are {how}{more}"]


def _different_machines(results: Results, runs: pd.DataFrame) -> list[str]:
    """Return a note if the runs differ in engine, device, ranks, host or the number of runs of their group."""
    groups = results.runs.set_index("run_id")["replicas"] if "replicas" in results.runs else {}
    made = set()
    for run in runs["run_id"]:
        fact = results.facts.get(run, {})
        made.add(str([*(fact.get(key) for key in ("engine", "device", "ranks", "host")), groups.get(run)]))
    differ = "seconds are not comparable: the runs differ in engine, device, host or the size of their group"
    return [differ] if len(made) > 1 else []
