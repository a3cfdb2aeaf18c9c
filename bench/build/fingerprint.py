"""Which source made the numbers: a hash of the files that can change them, as they were imported."""

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
"""Files and folders that have a part in every number; what is chosen by name is counted where it is chosen."""

SHORT = 16
"""Digits of a hash that a manifest has."""


def fingerprint(config: RunConfig) -> str:
    """Over the core and what was chosen: algorithm, graph, dataset, partition, model, with their bases.

    Where the files lie makes no difference, nor does Python's own library; nor does a metric, which changes no step.
    """
    return combined(_digests(_core() | _files(chosen(config))).values())


def parts(config: RunConfig) -> dict[str, str]:
    """What the fingerprint covers, for runs to be compared by: one hash of the core, one of every other file."""
    files, core = sources(config), {imported.name(file) for file in _core()}
    others = {name: digest[:SHORT] for name, digest in sorted(files.items()) if name not in core}
    return {"core": combined(files[name] for name in core), **others}


def sources(config: RunConfig) -> dict[str, str]:
    """The files that count for a configuration, those of metrics among them, by name, with their hashes."""
    return {**_digests(_core() | _files(chosen(config))), **measuring()}


def measuring() -> dict[str, str]:
    """The files of the metrics of plug-ins, by name, with their hashes."""
    return _digests(_files([metrics[name].function for name in metrics]))


def _files(items: Iterable[object]) -> frozenset[Path]:
    return frozenset(file for item in items if (path := _source(item)) for file in with_imports(path))


def _digests(files: Iterable[Path]) -> dict[str, str]:
    return {imported.name(file): imported.digest(file) for file in files}


@cache
def _core() -> frozenset[Path]:
    places = [ROOT / name for name in CORE]
    return frozenset(file for place in places for file in ([place] if place.is_file() else place.rglob("*.py")))


@cache
def with_imports(file: Path) -> frozenset[Path]:
    """Return a file of a plug-in and all files that it imports, directly or not, without installed packages."""
    found, todo = set(), [file]
    while todo:
        here = todo.pop()
        if here not in found:
            found.add(here)
            todo += [path for path in _imports(here) if path.is_file()]
    return frozenset(found)


_one_parser = threading.Lock()
"""Python 3.11 loses count of its recursion where two threads parse at once, and raises SystemError."""


def _imports(file: Path) -> Iterator[Path]:
    """Where the modules that a file names would lie, seen from its own folder and from that of its package."""
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
    """Whether a package beside a file belongs to it: where things are installed, libraries lie there too."""
    own = file.relative_to(top).parts[0].removesuffix(".py")
    return name == own or {name, own} <= set(imported.FOLDERS) or not _installed(top)


@cache
def _loose_folders(path: tuple[str, ...]) -> list[Path]:
    """Folders of PYTHONPATH whose modules have no version: neither Python's own, nor pip's, nor the suite."""
    own = [Path(place) for place in sysconfig.get_paths().values()]
    found = [Path(place).resolve() for place in path if Path(place).is_dir()]
    return [folder for folder in found if folder not in (*own, ROOT) and not _installed(folder)]


@cache
def _installed(folder: Path) -> bool:
    """Whether pip puts packages here: site-packages, or what was named with --target."""
    return any(folder.glob("*.dist-info"))


def _places(base: Path, name: str) -> tuple[Path, Path]:
    path = base.joinpath(*name.split("."))
    return path.with_suffix(".py"), path / "__init__.py"


def _ours(place: Path, file: Path) -> bool:
    """What the suite itself offers counts by the rules above, whoever imports it: all but a method's own neighbors."""
    return place.is_relative_to(ROOT / "bench") or (place.is_relative_to(ROOT) and not file.is_relative_to(ROOT))


def combined(digests: Iterable[str]) -> str:
    return hashlib.sha256("".join(sorted(set(digests))).encode()).hexdigest()[:SHORT]


def chosen(config: RunConfig) -> list[object]:
    """What the configuration names: functions, and classes with their bases."""
    out: list[object] = [topologies[config.topology.name].graph, partitions[config.partition.name]]
    if (rule := config.topology.options.get("weights")) is not None:
        out.append(weight_rules[rule].weigh)
    network = links[config.links.name], compressors[config.compressor.name]
    objective = losses[config.loss.name], regularizers[config.regularizer.name]
    out += [schedules[name][0] for name in schedules if name == config.algo.options.get("schedule")]
    for item in (method_of(config), datasets[config.dataset.name], models[config.model.name], *network, *objective):
        out += inspect.getmro(item) if inspect.isclass(item) else [item]
    for source in models[config.model.name].sources(**config.model.options):
        out += inspect.getmro(source) if inspect.isclass(source) else [source]
    return out


def libraries() -> dict[str, str]:
    """The versions of the packages that compute, as this process has imported them."""
    return {name: str(import_module(name).__version__) for name in LIBRARIES}


def has_plugins(config: RunConfig) -> bool:
    """Whether somebody else's code has a part in this run."""
    ours = (*imported.FOLDERS, *sys.stdlib_module_names, *LIBRARIES)
    return any(str(getattr(item, "__module__", "")).partition(".")[0] not in ours for item in chosen(config))


def _source(item: object) -> Path | None:
    """The file that defines something of ours or of a plug-in; what has a version of its own beside this is none.

    Decorators are looked through: a function under ``functools.cache`` or ``torch.no_grad`` is its author's.
    """
    while isinstance(item, partial) or hasattr(item, "__wrapped__"):
        item = item.func if isinstance(item, partial) else item.__wrapped__
    if not inspect.isroutine(item) and not inspect.isclass(item):
        item = type(item)  # a metric may be any object that can be called
    if str(getattr(item, "__module__", "")).partition(".")[0] in {*sys.stdlib_module_names, *LIBRARIES}:
        return None
    return Path(inspect.getfile(item))
