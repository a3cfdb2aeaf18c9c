"""Which source made the numbers: a hash of the files that can change them, and of nothing else."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from pathlib import Path
from types import ModuleType

import bench.algorithm
import bench.certificate
import bench.loop
import bench.metrics
import bench.mixing
import bench.problem
import bench.randomness
import bench.schedules
import bench.supervised
import bench.weights
from bench.config import RunConfig
from bench.registry import datasets, models, partitions, topologies

CORE: tuple[ModuleType, ...] = (
    bench.algorithm,
    bench.certificate,
    bench.loop,
    bench.metrics,
    bench.mixing,
    bench.problem,
    bench.randomness,
    bench.schedules,
    bench.supervised,
    bench.weights,
)


def fingerprint(config: RunConfig) -> str:
    """Over the core and what was chosen: algorithm, graph, dataset, partition, model, with their bases."""
    chosen: list[object] = [topologies[config.topology.name].graph, partitions[config.partition.name]]
    for item in (config.algorithm, datasets[config.dataset.name], models[config.model.name]):
        chosen += [base for base in inspect.getmro(item) if base is not object] if inspect.isclass(item) else [item]
    files = {_source(item) for item in (*CORE, *chosen)} - {None}
    return hashlib.sha256("".join(_digest(file) for file in sorted(files, key=str) if file).encode()).hexdigest()[:16]


def _source(item: object) -> Path | None:
    try:
        return Path(inspect.getfile(item))  # type: ignore[arg-type]
    except TypeError:  # built in
        return None


@cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
