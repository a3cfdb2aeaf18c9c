"""The pages of commands and of the Python interface, from their docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from hearsay_site.sources import ROOT

MODULES = (
    "bench.method", "bench.network", "bench.problem", "bench.models", "bench.contracts", "bench.clock", "analysis",
    "analysis.claims.evidence",
)  # fmt: skip
"""Modules whose ``__all__`` is the interface for authors of plug-ins and of scripts."""


def pages() -> Iterator[tuple[str, str]]:
    yield "catalog/commands.md", "\n\n".join(commands()) + "\n"
    yield "catalog/interface.md", "\n\n".join(interface()) + "\n"


def scripts() -> list[str]:
    """Return the paths of the files that are commands: they start as ``__main__`` and have a docstring."""
    files = [file for folder in ("bench", "analysis") for file in sorted((ROOT / folder).glob("*.py"))]
    return [file.relative_to(ROOT).as_posix() for file in files if "__main__" in file.read_text(encoding="utf-8")]


def commands() -> Iterator[str]:
    yield "# Commands"
    yield "Every command explains its options with `--help`. [Settings](../docs/settings.md) lists the settings of runs."
    for path in scripts():
        text = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
        yield f"## {path}"
        yield f"```text\n{text}\n```"
        yield f"Source: [{path}](../{path})"


def interface() -> Iterator[str]:
    yield "# Python interface"
    yield (
        "These are the names that a plug-in or a script imports. "
        "[Recipes](../CONTRIBUTING.md) use them in complete examples."
    )
    for module in MODULES:
        found = importlib.import_module(module)
        yield f"## {module}"
        for name in found.__all__:
            yield from entry(name, getattr(found, name))


def entry(name: str, item: Any) -> Iterator[str]:
    """Yield the heading, the signature and the docstring of one name."""
    yield f"### {name}"
    own = inspect.getdoc(item) if inspect.isclass(item) or inspect.isroutine(item) else None
    yield f"```python\n{signature(name, item)}\n```"
    if own:
        yield f"```text\n{own}\n```"


def signature(name: str, item: Any) -> str:
    """Return a call of a function or class with its parameters; only the name if it has none."""
    try:
        return f"{name}{inspect.signature(item)}"
    except (TypeError, ValueError):
        return name
