"""The fingerprint of a run: a hash of the source files that can change its results, as they were imported."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path

from bench.base import imported
from bench.base.home import ROOT
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
from bench.config.run_config import RunConfig
from bench.store.software import LIBRARIES

CORE = (
    "bench/base/layout.py",
    "bench/base/prox.py",
    "bench/base/randomness.py",
    "bench/base/step_index.py",
    "bench/build/build.py",
    "bench/build/material.py",
    "bench/build/network.py",
    "bench/engine/mpi.py",
    "bench/engine/stacked.py",
    "bench/engine/torch_setup.py",
    "bench/engine/wire.py",
    "bench/method",
    "bench/models/layers.py",
    "bench/models/measured.py",
    "bench/models/traced.py",
    "bench/network/bits.py",
    "bench/network/certificate.py",
    "bench/network/drawn.py",
    "bench/network/faulty.py",
    "bench/network/failures.py",
    "bench/network/mixing.py",
    "bench/network/sparse.py",
    "bench/network/spectrum.py",
    "bench/network/weights.py",
    "bench/problem",
    "bench/training",
)
"""Files and folders that affect all results. The fingerprint adds the choices of a configuration."""

SHORT = 16
"""Digits of a hash in a manifest."""


def fingerprint(config: RunConfig) -> str:
    """Return a hash of the core and of the choices: algorithm, graph, dataset, partition, model, with their bases.

    It depends neither on the paths of the files, nor on Python's standard library, nor on metrics of plug-ins.
    """
    return combined(_counted(tuple(chosen(config))).values())


def parts(config: RunConfig) -> dict[str, str]:
    """Return the parts of the fingerprint for comparisons of runs: a hash of the core, and one of every other file."""
    files, core = sources(config), _core_names()
    others = {name: digest[:SHORT] for name, digest in sorted(files.items()) if name not in core}
    return {"core": combined(files[name] for name in core), **others}


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
    return _digests(_core() | _files(items))


@cache
def _core_names() -> frozenset[str]:
    return frozenset(map(imported.name, _core()))


@cache
def _core() -> frozenset[Path]:
    places = [ROOT / name for name in CORE]
    return frozenset(file for place in places for file in ([place] if place.is_file() else place.rglob("*.py")))


@cache
def with_imports(file: Path) -> frozenset[Path]:
    """Return a file of a plug-in and all files that it imports, also indirectly, without installed packages."""
    found, todo = set(), [file]
    while todo:
        here = todo.pop()
        if here not in found:
            found.add(here)
            todo += [path for path in _imports(here) if path.is_file()]
    return frozenset(found)


_one_parser = threading.Lock()
"""Python 3.11 raises SystemError if two threads parse at once."""


def _imports(file: Path) -> Iterator[Path]:
    """Yield the possible files of the modules that a file imports."""
    top = imported.above(file)
    with _one_parser:
        tree = ast.parse(file.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module or ''}.{alias.name}".strip(".") for alias in node.names)]
            if node.level:
                base = file.parents[node.level - 1]
                yield from (place for name in names for place in _places(base, name))
                continue
        else:
            continue
        for name in names:
            folders = [top] * _near(name.partition(".")[0], file, top) + _loose_folders(tuple(sys.path))
            found = (place for folder in folders for place in _places(folder, name) if place.is_file())
            yield from (place for place in list(found)[:1] if not _ours(place, file))


def _near(name: str, file: Path, top: Path) -> bool:
    """Return whether a package beside a file belongs to it; in site-packages the neighbors are libraries."""
    own = file.relative_to(top).parts[0].removesuffix(".py")
    return name == own or {name, own} <= set(imported.FOLDERS) or not _installed(top)


@cache
def _loose_folders(path: tuple[str, ...]) -> list[Path]:
    """Return the folders of PYTHONPATH without versions: neither Python's, nor pip's, nor the suite."""
    own = [Path(place) for place in sysconfig.get_paths().values()]
    found = [Path(place).resolve() for place in path if Path(place).is_dir()]
    return [folder for folder in found if folder not in (*own, ROOT) and not _installed(folder)]


@cache
def _installed(folder: Path) -> bool:
    """Return whether pip has installed packages here: site-packages, or a folder of --target."""
    return any(folder.glob("*.dist-info"))


def _places(base: Path, name: str) -> tuple[Path, Path]:
    path = base.joinpath(*name.split("."))
    return path.with_suffix(".py"), path / "__init__.py"


def _ours(place: Path, file: Path) -> bool:
    """Return whether an imported file belongs to the suite, which CORE and the choices cover already."""
    return place.is_relative_to(ROOT / "bench") or (place.is_relative_to(ROOT) and not file.is_relative_to(ROOT))


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
