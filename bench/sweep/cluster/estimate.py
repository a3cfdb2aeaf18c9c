"""How long runs are likely to take, judging by those that there are."""

from __future__ import annotations

import statistics
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
"""What runs must share for one to tell of the other: the strictest that finds any."""


class Estimate(NamedTuple):
    """Seconds that one worker would take for some runs, and for the longest of them; of how many nothing is known."""

    seconds: float
    longest: float
    known: int
    unknown: int


def estimate(configs: Sequence[RunConfig], runs: Path) -> Estimate:
    """By the median pace of runs that are alike."""
    known = _known(runs)
    paces: list[dict[tuple[Any, ...], list[float]]] = []
    for names in ALIKE:
        of: dict[tuple[Any, ...], list[float]] = {}
        for labels in known:
            of.setdefault(tuple(labels.get(name) for name in names), []).append(labels["wall_s"] / labels["step"])
        paces.append(of)
    found = []
    for config in configs:
        labels = config.labels()
        alike = (of.get(tuple(labels.get(name) for name in names)) for names, of in zip(ALIKE, paces, strict=True))
        pace = next(filter(None, alike), None)
        if pace is not None:
            found.append(config.steps * statistics.median(pace))
    return Estimate(sum(found), max(found, default=0.0), len(found), len(configs) - len(found))


def _known(runs: Path) -> list[Mapping[str, Any]]:
    """The summaries of runs that have ended and say how long they took."""
    try:
        found = [read_file(runs / name, "summary.json") for name in run_names(runs.parent)]
    except OSError:
        return []
    return [said for said in found if said.get("state") in FINAL and _timed(said.get("wall_s"), said.get("step"))]


def _timed(*numbers: object) -> bool:
    return all(isinstance(number, int | float) and number > 0 for number in numbers)


def sentence(found: Estimate, workers: int) -> str:
    """For who is about to wait."""
    if not found.known:
        return "How long that takes is not known: no run like these is done in this folder."
    each = max(found.longest, found.seconds / workers)
    rest = f", and of {found.unknown} nothing is known" if found.unknown else ""
    return f"About {said(each)} for each worker, judging by runs like these that are done{rest}."


def said(seconds: float) -> str:
    """40 s, 3 minutes, 2.5 hours"""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
