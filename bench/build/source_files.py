"""The source files that compute a run's numbers: the core, and a chosen file with everything that it imports."""

from __future__ import annotations

import ast
import gc
import sys
import sysconfig
import threading
from collections.abc import Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from bench.base import imported
from bench.base.home import ROOT
from bench.base.small_file import content_up_to

BENCH = ROOT / "bench"
CORE = (
    "bench/base/evaluation.py",
    "bench/base/keyed.py",
    "bench/base/layout.py",
    "bench/base/node_samples.py",
    "bench/base/prox.py",
    "bench/base/randomness.py",
    "bench/base/step_index.py",
    "bench/build/build.py",
    "bench/build/material.py",
    "bench/build/network.py",
    "bench/build/torch_setup.py",
    "bench/engine/mpi.py",
    "bench/engine/stacked.py",
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

PLUMBING = (
    *(
        "bench/__init__.py",
        "bench/base/",
        "bench/build/",
        "bench/clock/",
        "bench/config/",
        "bench/contracts/",
        "bench/data/",
    ),
    *("bench/engine/", "bench/network/cache.py", "bench/network/describe.py", "bench/network/drawing.py"),
    *("bench/store/", "bench/sweep/", "bench/terminal/", "hearsay/", "analysis/", "reproduction/", "tests/"),
)
"""Files and folders that, except for the core, do not affect results: names, files, messages, figures, checks."""


@cache
def core() -> frozenset[Path]:
    """Return the files of the core."""
    places = [ROOT / name for name in CORE]
    return frozenset(file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place]))


@cache
def with_imports(file: Path) -> frozenset[Path]:
    """Return a file and all files that it imports, also indirectly, without installed packages, core and plumbing."""
    found, todo = set(), [file]
    while todo:
        here = todo.pop()
        if here not in found:
            found.add(here)
            imports = _imports(here) if here.suffix == ".py" else ()
            todo += [path for path in imports if path.is_file() and not _known(path)]
    return frozenset(found)


def _known(file: Path) -> bool:
    """Return whether a file belongs to the core, which is always counted, or to the plumbing."""
    return file in core() or (file.is_relative_to(ROOT) and file.relative_to(ROOT).as_posix().startswith(PLUMBING))


LARGEST = 1 << 24
"""Bytes of a source file. A larger file of this name is data."""
UNIMPORTABLE = (OSError, SyntaxError, ValueError, RecursionError, MemoryError)
"""Errors of files that Python cannot import."""
_one_parser = threading.Lock()


def _parsed(text: bytes) -> ast.Module:
    """Parse a file so that no other thread parses meanwhile, else Python 3.11 raises SystemError.

    The lock stops the threads that call this function. Others, such as ``numpy.load``, get their turn only if the
    garbage collector calls a finalizer while the tree is built, hence it is off.
    """
    with _one_parser:
        enabled = gc.isenabled()
        gc.disable()
        try:
            return ast.parse(text)
        finally:
            if enabled:
                gc.enable()


def _imports(file: Path) -> Iterator[Path]:
    """Yield the possible files of the modules that a file imports."""
    top = imported.above(file)
    yield from _above(file, top)
    try:
        tree = _parsed(content_up_to(file, LARGEST))
    except UNIMPORTABLE:  # Python takes another file of this name
        return
    for node in _statements(tree):
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
            folders = _folders(name.partition(".")[0], file, top)
            yield from (place for folder in folders for place in _places(folder, name))


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements: ast.walk takes five times as long, since it also visits expressions."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            todo += getattr(node, part, ())


def _folders(name: str, file: Path, top: Path) -> list[Path]:
    """Return the folders that may hold a top-level module for a file; in site-packages its neighbors are libraries.

    All of them count, since the order of ``sys.path`` may differ in another process. Names of the suite are its own.
    """
    if name in imported.FOLDERS:
        return [ROOT]
    own = file.relative_to(top).parts[0].removesuffix(".py")
    return [*dict.fromkeys((*[top] * (name == own or not _installed(top)), *_loose_folders(tuple(sys.path))))]


@cache
def _loose_folders(path: tuple[str, ...]) -> list[Path]:
    """Return the suite's folder and those of PYTHONPATH, except Python's and pip's, which have versions."""
    own = [Path(place).resolve() for place in sysconfig.get_paths().values()]
    own += [place / "lib-dynload" for place in own]
    found = [ROOT, *(Path(place).resolve() for place in path if Path(place).is_dir())]
    return [folder for folder in found if folder not in own and not _installed(folder)]


@cache
def _installed(folder: Path) -> bool:
    """Return whether pip has installed packages here: site-packages, or a folder of --target."""
    return any(folder.glob("*.dist-info"))


def is_installed(file: Path) -> bool:
    """Return whether a file belongs to an installed package, which has a version."""
    return _installed(imported.above(file))


def _above(file: Path, top: Path) -> Iterator[Path]:
    """Yield the __init__ files of the packages of a file, which Python runs first; those of bench only import."""
    if not file.is_relative_to(BENCH):
        yield from (folder / "__init__.py" for folder in file.parents if folder != top and folder.is_relative_to(top))


def _places(base: Path, name: str) -> list[Path]:
    """Return the possible files of a module and of the packages above it; of ``package.*``, all files in it."""
    parts = name.split(".")
    path = base.joinpath(*parts)
    if parts[-1] == "*":
        return [*path.parent.glob("*.py"), *_places(base, ".".join(parts[:-1]))]
    packages = [] if path.is_relative_to(BENCH) else [base.joinpath(*parts[:end]) for end in range(1, len(parts))]
    compiled = [path.parent / f"{path.name}{suffix}" for suffix in EXTENSION_SUFFIXES]
    return [path / "__init__.py", path.with_suffix(".py"), *compiled, *(p / "__init__.py" for p in packages)]
