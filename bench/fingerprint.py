"""Which source made the numbers: a hash of the files that can change them, as they were imported."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench import imported
from bench.config import RunConfig
from bench.registry import datasets, models, partitions, topologies, weight_rules

CORE = (
    "algorithm",
    "arrays",
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
    return combined(sources(config).values())


def sources(config: RunConfig) -> dict[str, str]:
    """The files that count for a configuration, by name, with their hashes."""
    files = {Path(__file__).parent / f"{name}.py" for name in CORE}
    files |= {path for item in chosen(config) if (path := _source(item))}
    return {imported.name(file): imported.digest(file) for file in files}


def combined(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(set(digests))).encode()).hexdigest()[:16]


def chosen(config: RunConfig) -> list[object]:
    """What the configuration names: functions, and classes with their bases."""
    out: list[object] = [topologies[config.topology.name].graph, partitions[config.partition.name]]
    if (rule := config.topology.options.get("weights")) is not None:
        out.append(weight_rules[rule])
    for item in (config.algorithm, datasets[config.dataset.name], models[config.model.name]):
        out += inspect.getmro(item) if inspect.isclass(item) else [item]
    return out


def has_plugins(config: RunConfig) -> bool:
    """Whether somebody else's code has a part in this run."""
    ours = (*imported.FOLDERS, *sys.stdlib_module_names)
    return any(str(getattr(item, "__module__", "")).partition(".")[0] not in ours for item in chosen(config))


def differing(said: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """The names of files of which two processes have different versions."""
    return sorted(name for name in {*said, *expected} if said.get(name) != expected.get(name))


def _source(item: object) -> Path | None:
    """The file that defines something of ours or of a plug-in."""
    if str(getattr(item, "__module__", "")).partition(".")[0] in sys.stdlib_module_names:
        return None
    return Path(inspect.getfile(item))  # type: ignore[arg-type]
