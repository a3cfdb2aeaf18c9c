"""Registries: names for everything that a user can choose or add.

The harness finds algorithms, graphs, weight rules, datasets, partitions, models and engines by name only. Plug-ins
import the harness; the harness never imports a plug-in by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pkgutil
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from bench.base import cells, imported
from bench.base.errors import UserError, closest_or_own, place
from bench.base.home import ROOT

T = TypeVar("T")

ENTRY_POINT_GROUP = "hearsay.plugins"
MODULES = "HEARSAY_PLUGINS"
"""Environment variable with modules to import as plug-ins, separated by commas."""
BUILT_IN = ("column", "config", "option", "site")
"""Kinds of names that no plug-in can add."""
SIGNATURE = "found by the harness through the registry"
"""A phrase in the first line of the packages algorithms and datasets, by which they are recognized."""
_registries: list[Registry[Any]] = []
sys.meta_path.insert(0, cells.Finder())
_BENCH = ("models", "problem", "network", "engine.engines", "clock.choice")
HOME = ("algorithms", "datasets", *(f"bench.{name}" for name in _BENCH))


class Registry(Generic[T]):
    """A table from names to items of one kind, which decorators fill when modules are imported.

    Attributes:
        kind: The kind of the items, for messages.
        cells: The file and line of each name that a notebook cell or the running script registered last. Such a name
            may be registered again, since users execute cells repeatedly.

    Example:
        >>> @links.register("reliable")
        ... class Reliable(LinkModel): ...
        >>> links["reliable"]
        <class 'Reliable'>
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}
        self._files: dict[str, Path | None] = {}
        self.cells: dict[str, tuple[str, int]] = {}
        _registries.append(self)

    def add(self, name: str, item: T) -> None:
        """Add a function or class under its name on the command line; raise ``UserError`` if the name is taken."""
        if name in self._items and name not in self.cells:
            raise UserError(
                f"The {self.kind} '{name}' is already registered by {_origin(self._items[name])}. "
                f"{_origin(item)} must use another name."
            )
        self._items[name] = item
        self._files[name] = _importing()
        if cell := _cell():
            self.cells[name] = cell

    def file(self, name: str) -> Path | None:
        """Return the file of the module that registered an item; the item may have been made by another one."""
        return self._files.get(name)

    def __getitem__(self, name: str) -> T:
        """Return an item; raise ``UserError`` with similar names if there is none."""
        discover()
        if name not in self._items:
            raise UserError(no_such(self.kind, name, self._items))
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        discover()
        return iter(sorted(self._items))

    def __contains__(self, name: object) -> bool:
        discover()
        return name in self._items

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that adds a function or class under ``name``; see ``add``."""

        def decorate(item: T) -> T:
            self.add(name, item)
            return item

        return decorate


algorithms: Registry[Any] = Registry("algorithm")
topologies: Registry[Any] = Registry("topology")
weight_rules: Registry[Any] = Registry("weight rule")
datasets: Registry[Any] = Registry("dataset")
recipes: Registry[Any] = Registry("downloaded dataset")
partitions: Registry[Any] = Registry("partition")
models: Registry[Any] = Registry("model")
losses: Registry[Any] = Registry("loss")
regularizers: Registry[Any] = Registry("regularizer")
metrics: Registry[Any] = Registry("metric")
schedules: Registry[Any] = Registry("schedule")
engines: Registry[Any] = Registry("engine")
links: Registry[Any] = Registry("kind of links")
compressors: Registry[Any] = Registry("compressor")
networks: Registry[Any] = Registry("network")

broken_plugins: dict[str, str] = {}
"""Plug-ins whose import failed, with the reason."""
_begun: list[bool] = []


def discover() -> None:
    """Import the modules of the suite, then the plug-ins, once. A call during these imports does nothing."""
    if _begun:
        return
    _begun.append(True)
    try:
        _import_all()
    except BaseException:
        _begun.clear()
        raise


def _import_all() -> None:
    for home in HOME:
        for child in pkgutil.iter_modules(getattr(_ours(home), "__path__", [])):
            importlib.import_module(f"{home}.{child.name}")
    if edited := imported.changed(modules_only=True):  # before or after its import: nobody knows which one computes
        raise UserError(f"{edited[0]} was edited while hearsay was being imported. Start hearsay again.")
    for name in modules_named()[1]:
        broken_plugins[name] = NO_MODULE
    for plugin in plugins():
        before, modules = {registry: set(registry._items) for registry in _registries}, set(sys.modules)
        try:
            plugin.load()
        except (Exception, SystemExit) as error:  # a plug-in may raise anything
            broken_plugins[plugin.name] = f"{type(error).__name__}: {error}{place(error, plugin.module)}"
            if isinstance(error, ModuleNotFoundError) and error.name == plugin.module.partition(".")[0]:
                broken_plugins[plugin.name] += "; add its folder to PYTHONPATH"
            if kept := sorted(name for registry, names in before.items() for name in set(registry._items) - names):
                broken_plugins[plugin.name] += f"; it had already registered {', '.join(kept)}"
        imported.digest_modules(set(sys.modules) - modules)


def _ours(home: str) -> ModuleType:
    """Import a package of the suite; raise ``UserError`` if Python finds another package of that name."""
    spec = importlib.util.find_spec(home)
    file = Path(spec.origin) if spec and spec.origin else None
    if file is None or not file.is_relative_to(ROOT) or ("." not in home and SIGNATURE not in file.read_text("utf-8")):
        raise UserError(
            f"Python finds another package called '{home}' ({file}) instead of hearsay's. Start hearsay by its "
            f"commands, as in python {ROOT / 'bench' / 'run.py'}, and do not install that package into {ROOT}. "
            "docs/machines.md explains how to use both."
        )
    return importlib.import_module(home)


def say_broken_plugins() -> None:
    """Print the plug-ins whose import failed, with the reason."""
    discover()
    for name, reason in broken_plugins.items():
        print(f"Skipping plug-in '{name}', which cannot be imported: {reason}", file=sys.stderr)


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with a similar name, or all names and how to add one's own."""
    discover()
    missing = ", ".join(f"'{plugin}'" for plugin in broken_plugins)
    hint = f" It may belong to a plug-in whose import failed: {missing}." if missing else ""
    return f"There is no {kind} called '{name}'.{hint}{closest_or_own(name, known, bool(missing) or kind in BUILT_IN)}"


def plugins() -> list[EntryPoint]:
    """Return the installed plug-ins, then the modules named in the environment."""
    return [*_installed(), *(EntryPoint(name, name, ENTRY_POINT_GROUP) for name in modules_named()[0])]


@cache  # it reads the metadata of all installed packages
def _installed() -> list[EntryPoint]:
    return announced(ENTRY_POINT_GROUP)


def announced(group: str) -> list[EntryPoint]:
    """Return the plug-ins of one entry-point group: of installed packages and of this checkout, by name.

    pyproject.toml names those of this checkout, which may have been installed before it had plug-ins.
    """
    found = list(entry_points(group=group))
    if (file := ROOT / "pyproject.toml").is_file():
        own = tomllib.loads(file.read_text("utf-8"))["project"].get("entry-points", {}).get(group, {})
        installed = {plugin.name for plugin in found}
        found += [EntryPoint(name, module, group) for name, module in own.items() if name not in installed]
    return sorted(found, key=lambda plugin: plugin.name)


NO_MODULE = (
    "that is no name of a module; type mine for mine.py, several names with commas between them, and add the folder "
    "of the module to PYTHONPATH"
)


def modules_named() -> tuple[list[str], list[str]]:
    """Return the modules named in the environment, and the entries that are not names of modules."""
    words = [word.strip() for word in os.environ.get(MODULES, "").split(",")]
    named = {word: all(map(str.isidentifier, word.split("."))) and not word.endswith(".py") for word in words if word}
    return [word for word, sound in named.items() if sound], [word for word, sound in named.items() if not sound]


def _importing() -> Path | None:
    """Return the file of the module that is being imported; None if a function registers later."""
    frame = inspect.currentframe()
    while frame and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") == "__main__":
        return None
    file = Path(frame.f_code.co_filename)
    return file if file.is_file() else None


def _cell() -> tuple[str, int] | None:
    """Return the file and line of the statement of a cell or of the running script that registers a name."""
    frame = inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == "bench":
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") != "__main__" or not frame.f_code.co_name.startswith("<"):
        return None
    return frame.f_code.co_filename, frame.f_lineno


def registries() -> list[Registry[Any]]:
    """Return all registries."""
    return _registries


def _origin(item: object) -> str:
    return f"{getattr(item, '__module__', '?')}.{getattr(item, '__qualname__', item)}"
