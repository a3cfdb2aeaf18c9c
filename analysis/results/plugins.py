"""Figures, tables and evidence from outside: modules that register them when they are imported."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from bench.base.errors import place
from bench.base.registry import MODULES

GROUP = "hearsay.analysis"
"""Apart from the plug-ins of the runner, so that what draws is not imported where runs are made, nor torch here."""

broken: dict[str, str] = {}
"""Plug-ins that could not be imported, with the reason; everything else goes on without them."""


@cache
def load_plugins() -> None:
    """Import what installed packages announce, then the modules named in the environment."""
    installed = sorted(entry_points(group=GROUP), key=lambda plugin: plugin.name)
    named = filter(None, os.environ.get(MODULES, "").split(","))
    for plugin in [*installed, *(EntryPoint(name, name, GROUP) for name in named)]:
        try:
            plugin.load()
        except Exception as error:  # a stranger's module may raise anything
            broken[plugin.name] = f"{type(error).__name__}: {error}{place(error, plugin.module)}"
