"""The pages of commands and of the Python interface, from their docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from hearsay_site.docstrings import docstring, plain
from hearsay_site.sources import ROOT
from hearsay_site.text import table

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
    yield "Every command explains its options with `--help`. [Settings](../docs/settings.md) lists settings of runs."
    for path in scripts():
        text = ast.get_docstring(ast.parse((ROOT / path).read_text(encoding="utf-8"))) or ""
        yield f"## {path}"
        yield f"```text\n{text}\n```"
        yield f"Source: [{path}](../{path})"


def interface() -> Iterator[str]:
    yield "# Names for plug-ins and scripts"
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
    """Yield the heading, the signature and the docstring of one name, and the methods of a class."""
    yield f"### {name}"
    yield f":::{{container}} wrapped\n```python\n{signature(name, item)}\n```\n:::"
    if inspect.isclass(item) or inspect.isroutine(item):
        yield from docstring(inspect.getdoc(item) or "")
    if inspect.isclass(item):
        public = {
            key: value for key, value in vars(item).items() if not key.startswith("_") and inspect.isroutine(value)
        }
        rows = [(f"`{key}`", plain((inspect.getdoc(value) or "").partition("\n")[0])) for key, value in public.items()]
        if rows := [row for row in rows if row[1]]:
            yield table(("method", "meaning"), rows)


def signature(name: str, item: Any) -> str:
    """Return a call of a function or class with its parameters; only the name if it has none."""
    called = vars(item).get("__call__") if getattr(item, "_is_protocol", False) else item
    try:
        text = str(inspect.signature(called)).replace("(self, ", "(")
        return name + re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)  # annotations that are strings
    except (TypeError, ValueError):
        return name
