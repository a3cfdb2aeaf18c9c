"""Pieces of Markdown that several generated pages use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bench.config.names import CONF
from bench.config.reference import described, meaning

ORPHAN = "---\norphan: true\n---\n"
"""The page is in no table of contents; the table of its kind leads to it."""


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(map(cell, row)) + " |" for row in rows)])


def catalog(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table that the reader can sort and filter."""
    return f":::{{container}} catalog\n{table(head, rows)}\n:::"


def html(text: str) -> str:
    """Return HTML as a block of MyST."""
    return f"```{{raw}} html\n{text}\n```"


def facts(pairs: dict[str, object]) -> str:
    """Return a table of two columns, without the facts that are empty."""
    return table(("property", "value"), [(name, value) for name, value in pairs.items() if value not in ("", None)])


def options(group: str, name: str) -> Iterator[str]:
    """Yield the section of the options of a member of a group, from the comments in its file of conf."""
    file = CONF / group / f"{name}.yaml"
    found = described(file) if file.is_file() else {}
    shown = {key: each for key, each in found.items() if key not in ("name", "defaults", group) and each.value}
    if shown:
        yield "## Options"
        rows = [(f"`{group}.{key}`", f"`{value}`", comment) for key, (value, comment) in shown.items()]
        yield table(("option", "default", "meaning"), rows)


def purpose(group: str, name: str) -> str:
    """Return the first comment of a file of conf."""
    file = CONF / group / f"{name}.yaml"
    return meaning(file) if file.is_file() else ""
