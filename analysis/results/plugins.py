"""Figures, tables and evidence: functions that register themselves when their modules are imported."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib.metadata import EntryPoint
from typing import TypeVar

from bench.base.errors import place
from bench.base.registry import NO_MODULE, announced, modules_named

T = TypeVar("T")
GROUP = "hearsay.analysis"
"""A group of its own: a run imports no matplotlib, and the analysis no torch."""

broken: dict[str, str] = {}
"""Skipped plug-ins, which could not be imported, with the reason."""


@cache
def load_plugins() -> None:
    """Import the plug-ins of installed packages, then the modules named in the environment."""
    named, wrong = modules_named()
    broken.update(dict.fromkeys(wrong, NO_MODULE))
    for plugin in [*announced(GROUP), *(EntryPoint(name, name, GROUP) for name in named)]:
        try:
            plugin.load()
        except Exception as error:  # a plug-in may raise anything
            broken[plugin.name] = f"{type(error).__name__}: {error}{place(error, plugin.module)}"


def add(registry: dict[str, T], kind: str, name: str, one: T) -> None:
    if name in registry:
        raise ValueError(f"a {kind} named {name!r} is already registered")
    registry[name] = one


def everything(registry: dict[str, T], package: str, order: Sequence[str]) -> dict[str, T]:
    """Return the entries of the modules of a package, first those in ``order``, then those of plug-ins."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    ours = sorted(registry, key=lambda name: (order.index(name) if name in order else len(order), name))
    load_plugins()
    return {name: registry[name] for name in dict.fromkeys([*ours, *registry])}
