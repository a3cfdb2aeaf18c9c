"""Estimate the time of runs from finished runs."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.config.run_config import RunConfig
from bench.store.integrity import read_file
from bench.store.record import FINAL
from bench.store.regular import run_names

ALIKE = (
    ("dataset", "model", "nodes", "batch_size", "engine", "device", "algo", "topology"),
    ("dataset", "model", "nodes", "batch_size", "engine", "device", "algo"),
    ("dataset", "model", "nodes", "engine", "device"),
)
"""Labels that a finished run must share with a new one. The first set with a match is used."""


class Estimate(NamedTuple):
    """Seconds of one worker for all runs and for the longest one, and the numbers of runs with and without estimate."""

    seconds: float
    longest: float
    known: int
    unknown: int


def estimate(configs: Sequence[RunConfig], runs: Path) -> Estimate:
    """Estimate the time of runs by the median seconds per step of similar runs."""
    paces: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    try:
        summaries = [read_file(runs / name, "summary.json") for name in run_names(runs.parent)]
    except OSError:
        summaries = []
    for run in summaries:
        seconds, steps = run.get("wall_s") or 0, run.get("step") or 0
        if run.get("state") in FINAL and seconds > 0 and steps > 0:
            for key in _keys(run):
                paces[key].append(seconds / steps)
    known = []
    for config in configs:
        similar = next((paces[key] for key in _keys(config.labels()) if key in paces), None)
        if similar is not None:
            known.append(config.steps * statistics.median(similar))
    return Estimate(sum(known), max(known, default=0.0), len(known), len(configs) - len(known))


def _keys(labels: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [tuple(labels.get(name) for name in names) for names in ALIKE]


def sentence(found: Estimate, workers: int) -> str:
    """Return the estimate as a sentence."""
    if not found.known:
        return "No time estimate: no similar run is done in this folder."
    each = max(found.longest, found.seconds / workers)
    rest = f" ({found.unknown} runs without estimate not included)" if found.unknown else ""
    return f"About {duration(each)} per worker, estimated from similar runs{rest}."


def duration(seconds: float) -> str:
    """Return a text such as 40 s, 3 minutes or 2.5 hours."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
