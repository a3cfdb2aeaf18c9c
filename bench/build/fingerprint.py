"""The fingerprint of a run: a hash of the source files that can change its results, as they were imported."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.base import imported
from bench.base.registry import (
    Registry,
    algorithms,
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
from bench.build.source_files import BENCH, core, is_installed, with_imports
from bench.clock.choice import NONE
from bench.config.run_config import SHORT, RunConfig
from bench.network.graphs import Topology
from bench.network.weights import Rule
from bench.store.software import LIBRARIES
from bench.training.metrics import Metric

RATES = tuple(BENCH / name for name in ("build/rates.py", "clock/choice.py", "clock/compute.py", "clock/network.py"))
"""The files that determine how many gradients per second a node computes on a network."""
ORDER = (*RATES, BENCH / "build/events.py", *sorted((BENCH / "events").glob("*.py")))
"""The files that determine the order of events of an asynchronous run."""


def fingerprint(config: RunConfig) -> str:
    """Return a hash of the core and of the choices: algorithm, graph, dataset, partition, model, with their bases.

    It depends neither on the folders of the files, nor on Python's standard library, nor on metrics of plug-ins.
    """
    return combined(_counted(config))


def parts(config: RunConfig) -> dict[str, str]:
    """Return the parts of the fingerprint for comparisons of runs: a hash of the core, and one of every other file.

    A choice of a plug-in has the names of its files too: two plug-ins may use one name in files of different names.
    """
    files, central = sources(config), _core_names()
    others = {name: digest[:SHORT] for name, digest in sorted(files.items()) if name not in central}
    origins = _origins([*choices(config), *((metrics, name) for name in metrics)])
    return {"core": combined({name: files[name] for name in central}), **others, **origins}


def remeasured(before: Mapping[str, str]) -> bool:
    """Whether a plug-in metric comes from another file, or another version of it, than ``before``, the parts of a run.

    A metric that the run lacks makes no difference.
    """
    digests = {name: digest[:SHORT] for name, digest in measuring().items()}
    now = {**digests, **_origins([(metrics, name) for name in metrics])}
    return any(before.get(name, part) != part for name, part in now.items())


def _origins(chosen: Iterable[tuple[Registry[Any], str]]) -> dict[str, str]:
    """Return the files of those that come from plug-ins, such as algorithm/mine: mine.py."""
    out = {}
    for registry, name in chosen:
        files = {*map(_source, _with_bases(_function(registry[name]))), registry.file(name)}
        if names := sorted({imported.name(file) for file in files if file and not imported.is_ours(file)}):
            out[f"{registry.kind.replace(' ', '_')}/{name}"] = "+".join(names)
    return out


def sources(config: RunConfig) -> dict[str, str]:
    """Return the hashes of all source files of a configuration, including those of metrics, by name."""
    return {**_counted(config), **measuring()}


def measuring() -> dict[str, str]:
    """Return the hashes of the files of plug-in metrics, by name."""
    files = [_source(metrics[name].function) for name in metrics] + [metrics.file(name) for name in metrics]
    return _digests(frozenset(found for file in files if file for found in with_imports(file)))


def _counted(config: RunConfig) -> dict[str, str]:
    """The files of the core and of the choices, by name, with their hashes."""
    return _digests(_files(tuple(chosen(config)), tuple(_registering(config))))


@cache
def _files(items: tuple[object, ...], registering: tuple[Path, ...]) -> frozenset[Path]:
    """The files of the core, of these items and of the modules that registered them: every run of a sweep asks."""
    files = [*map(_source, items), *registering]
    return core() | frozenset(found for file in files if file for found in with_imports(file))


def _digests(files: frozenset[Path]) -> dict[str, str]:
    """Return hashes by name. Files of one name, in folders without __init__.py, have one hash of all of them."""
    fixed, others = _of_suite(files)
    out = dict(fixed)
    for name, alike in others.items():
        digests = [imported.digest(file) for file in alike]
        out[name] = digests[0] if len(digests) == 1 else joined(digests)
    return out


def joined(digests: Iterable[str]) -> str:
    """Return a hash of several hashes in their order."""
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


@cache
def _of_suite(files: frozenset[Path]) -> tuple[dict[str, str], dict[str, list[Path]]]:
    """Return the hashes of the suite's files, which never change in a process, and the other files, by name."""
    fixed = {imported.name(file): imported.digest(file) for file in files if imported.is_ours(file)}
    others: dict[str, list[Path]] = {}
    for file in sorted(file for file in files if not imported.is_ours(file)):
        others.setdefault(imported.name(file), []).append(file)
    return fixed, others


@cache
def _core_names() -> frozenset[str]:
    return frozenset(map(imported.name, core()))


def combined(files: Mapping[str, str]) -> str:
    """Return a short hash of files, from their names and hashes."""
    return joined(f"{name}:{digest}" for name, digest in sorted(files.items()))[:SHORT]


def choices(config: RunConfig) -> list[tuple[Registry[Any], str]]:
    """Return the choices of a configuration, as registries and names."""
    rule = config.topology.options.get("weights") or topologies[config.topology.name].weights
    return [
        *[(topologies, config.topology.name), (partitions, config.partition.name)],
        *[(weight_rules, name) for name in weight_rules if name == rule],
        *[(schedules, name) for name in schedules if name == config.algo.options.get("schedule")],
        *[(links, config.links.name), (compressors, config.compressor.name)],
        *[(losses, config.loss.name), (regularizers, config.regularizer.name)],
        *[(algorithms, config.algo.name), (datasets, config.dataset.name), (models, config.model.name)],
    ]


def _registering(config: RunConfig) -> list[Path]:
    """Return the files of the modules that registered the choices: their arguments may come from there."""
    files = [file for registry, name in choices(config) if (file := registry.file(name))]
    if algorithms[config.algo.name].properties.asynchronous:
        return [*files, *ORDER]
    return files if config.network.name == NONE else [*files, *RATES]  # a metric uses the rates of the nodes


def chosen(config: RunConfig) -> list[object]:
    """Return the choices of a configuration: functions, and classes with their bases."""
    items = [_function(registry[name]) for registry, name in choices(config)]
    items += models[config.model.name].sources(**config.model.options)
    return [part for item in items for part in _with_bases(item)]


def _with_bases(item: Any) -> Iterable[Any]:
    return inspect.getmro(item) if inspect.isclass(item) else [item]


def _function(item: Any) -> Any:
    match item:
        case Topology():
            return item.graph
        case Rule():
            return item.weigh
        case Metric():
            return item.function
        case (shape, _):
            return shape
    return item


def libraries() -> dict[str, str]:
    """Return the versions of torch and NumPy in this process."""
    return {name: str(import_module(name).__version__) for name in LIBRARIES}


def has_plugins(config: RunConfig) -> bool:
    """Return whether a run uses code of plug-ins, as all runs do if there is a plug-in metric."""
    return bool([*metrics]) or _outside(chosen(config), _registering(config))


def is_plugin(registry: Registry[Any], name: str) -> bool:
    """Return whether an item, a base of it or its registration is code of a plug-in."""
    file = registry.file(name)
    return _outside(_with_bases(_function(registry[name])), [file] if file else [])


def is_plugin_model(config: RunConfig) -> bool:
    """Return whether a built-in model has a module of the user, as model=module has."""
    return _outside(models[config.model.name].sources(**config.model.options), [])


OURS = frozenset([*imported.FOLDERS, *sys.stdlib_module_names, *LIBRARIES])
"""Top-level modules that are no plug-ins."""


def _outside(items: Iterable[object], files: Iterable[Path]) -> bool:
    tops = [str(getattr(item, "__module__", "")).partition(".")[0] for item in items]
    tops += [imported.name(file).partition("/")[0] for file in files]
    return any(top not in OURS for top in tops)


def _source(item: object) -> Path | None:
    """Return the file that defines an item under its decorators; None for Python's and the libraries' own.

    A file is its own, unless it belongs to an installed package, which only names what the item is.
    """
    if isinstance(item, Path):
        return None if is_installed(item) else item
    while isinstance(item, partial) or hasattr(item, "__wrapped__"):
        item = item.func if isinstance(item, partial) else item.__wrapped__
    if not inspect.isroutine(item) and not inspect.isclass(item):
        item = type(item)  # a metric may be any callable
    if str(getattr(item, "__module__", "")).partition(".")[0] in {*sys.stdlib_module_names, *LIBRARIES}:
        return None
    return Path(inspect.getfile(item))
