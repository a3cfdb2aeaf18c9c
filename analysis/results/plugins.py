"""Figures, tables and evidence from outside: modules that register them when they are imported."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint

from bench.base.errors import place
from bench.base.registry import NO_MODULE, announced, modules_named

GROUP = "hearsay.analysis"
"""Apart from the plug-ins of the runner, so that what draws is not imported where runs are made, nor torch here."""

broken: dict[str, str] = {}
"""Plug-ins that could not be imported, with the reason; everything else goes on without them."""


@cache
def load_plugins() -> None:
    """Import what installed packages announce, then the modules named in the environment."""
    named, wrong = modules_named()
    broken.update(dict.fromkeys(wrong, NO_MODULE))
    for plugin in [*announced(GROUP), *(EntryPoint(name, name, GROUP) for name in named)]:
        try:
            plugin.load()
        except Exception as error:  # a stranger's module may raise anything
            broken[plugin.name] = f"{type(error).__name__}: {error}{place(error, plugin.module)}"
