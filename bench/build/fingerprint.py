"""The fingerprint of a run: a hash of the source files that can change its results, as they were imported."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from bench.base import imported
from bench.base.registry import (
    compressors,
    datasets,
    links,
    losses,
    metrics,
    models,
    partitions,
    regularizers,
    schedules,
    topologies,
    weight_rules,
)
from bench.build.network import method_of
from bench.build.source_files import core, with_imports
from bench.config.run_config import RunConfig
from bench.store.software import LIBRARIES

SHORT = 16
"""Digits of a hash in a manifest."""


def fingerprint(config: RunConfig) -> str:
    """Return a hash of the core and of the choices: algorithm, graph, dataset, partition, model, with their bases.

    It depends neither on the paths of the files, nor on Python's standard library, nor on metrics of plug-ins.
    """
    return combined(_counted(tuple(chosen(config))).values())


def parts(config: RunConfig) -> dict[str, str]:
    """Return the parts of the fingerprint for comparisons of runs: a hash of the core, and one of every other file."""
    files, central = sources(config), _core_names()
    others = {name: digest[:SHORT] for name, digest in sorted(files.items()) if name not in central}
    return {"core": combined(files[name] for name in central), **others}


def sources(config: RunConfig) -> dict[str, str]:
    """Return the hashes of all source files of a configuration, including those of metrics, by name."""
    return {**_counted(tuple(chosen(config))), **measuring()}


def measuring() -> dict[str, str]:
    """Return the hashes of the files of plug-in metrics, by name."""
    return _digests(_files([metrics[name].function for name in metrics]))


def _files(items: Iterable[object]) -> frozenset[Path]:
    return frozenset(file for item in items if (path := _source(item)) for file in with_imports(path))


def _digests(files: Iterable[Path]) -> dict[str, str]:
    return {imported.name(file): imported.digest(file) for file in files}


@cache
def _counted(items: tuple[object, ...]) -> dict[str, str]:
    """The files of the core and of these items, by name, with their hashes: every run of a sweep asks."""
    return _digests(core() | _files(items))


@cache
def _core_names() -> frozenset[str]:
    return frozenset(map(imported.name, core()))


def combined(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(set(digests))).encode()).hexdigest()[:SHORT]


def chosen(config: RunConfig) -> list[object]:
    """Return the choices of a configuration: functions, and classes with their bases."""
    out: list[object] = [topologies[config.topology.name].graph, partitions[config.partition.name]]
    if (rule := config.topology.options.get("weights")) is not None:
        out.append(weight_rules[rule].weigh)
    network = links[config.links.name], compressors[config.compressor.name]
    objective = losses[config.loss.name], regularizers[config.regularizer.name]
    out += [schedules[name][0] for name in schedules if name == config.algo.options.get("schedule")]
    model = models[config.model.name]
    further = (*network, *objective, *model.sources(**config.model.options))
    for item in (method_of(config), datasets[config.dataset.name], model, *further):
        out += inspect.getmro(item) if inspect.isclass(item) else [item]
    return out


def libraries() -> dict[str, str]:
    """Return the versions of torch and NumPy in this process."""
    return {name: str(import_module(name).__version__) for name in LIBRARIES}


def has_plugins(config: RunConfig) -> bool:
    """Return whether a run uses code of plug-ins."""
    ours = (*imported.FOLDERS, *sys.stdlib_module_names, *LIBRARIES)
    return any(str(getattr(item, "__module__", "")).partition(".")[0] not in ours for item in chosen(config))


def _source(item: object) -> Path | None:
    """Return the file that defines an item under its decorators; None for Python's and the libraries' own."""
    while isinstance(item, partial) or hasattr(item, "__wrapped__"):
        item = item.func if isinstance(item, partial) else item.__wrapped__
    if not inspect.isroutine(item) and not inspect.isclass(item):
        item = type(item)  # a metric may be any callable
    if str(getattr(item, "__module__", "")).partition(".")[0] in {*sys.stdlib_module_names, *LIBRARIES}:
        return None
    return Path(inspect.getfile(item))
