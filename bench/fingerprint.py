"""Which source made the numbers: a hash of the files that can change them."""

from __future__ import annotations

import hashlib
import inspect
import sys
from functools import cache
from pathlib import Path

from bench.config import RunConfig
from bench.registry import datasets, models, partitions, topologies

CORE = (
    "algorithm",
    "backend",
    "build",
    "certificate",
    "checkpoint",
    "loop",
    "metrics",
    "mixing",
    "mpi",
    "problem",
    "randomness",
    "schedules",
    "supervised",
    "weights",
)
"""Modules of bench that have a part in every number; what is chosen by name is counted where it is chosen."""


def fingerprint(config: RunConfig) -> str:
    """Over the core and what was chosen: algorithm, graph, dataset, partition, model, with their bases.

    Where the files lie makes no difference, nor does Python's own library.
    """
    chosen: list[object] = [topologies[config.topology.name].graph, partitions[config.partition.name]]
    for item in (config.algorithm, datasets[config.dataset.name], models[config.model.name]):
        chosen += inspect.getmro(item) if inspect.isclass(item) else [item]
    here = Path(__file__).parent
    files = {here / f"{name}.py" for name in CORE} | {path for item in chosen if (path := _source(item))}
    return hashlib.sha256("".join(sorted({_digest(file) for file in files})).encode()).hexdigest()[:16]


def _source(item: object) -> Path | None:
    """The file that defines something of ours or of a plug-in."""
    if str(getattr(item, "__module__", "")).partition(".")[0] in sys.stdlib_module_names:
        return None
    return Path(inspect.getfile(item))  # type: ignore[arg-type]


@cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
