"""Docstrings in the style of Google as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Example|Examples):$", re.MULTILINE)
NAMED = re.compile(r"^(\*{0,2}\w[\w.]*): ", re.MULTILINE)


def docstring(text: str) -> Iterator[str]:
    """Yield the paragraphs and sections of a docstring."""
    first, *rest = SECTION.split(text)
    yield from filter(None, (plain(paragraph) for paragraph in first.split("\n\n")))
    for title, body in zip(rest[::2], rest[1::2], strict=True):
        section, after = unindented(body)
        yield f"**{title}**"
        yield from example(section) if title.startswith("Example") else described(section)
        if after.strip():
            yield plain(after)


def unindented(body: str) -> tuple[str, str]:
    """Divide a text into its first indented part, and the part behind it."""
    found = re.search(r"^\S", body, re.MULTILINE)
    end = found.start() if found else len(body)
    return textwrap.dedent(body[:end]).strip(), body[end:]


def described(section: str) -> Iterator[str]:
    """Yield the names of a section with their meanings as a list, or its text."""
    parts = NAMED.split(section)
    if len(parts) < 3:
        yield plain(section)
        return
    yield "\n".join(f"- `{name}`: {plain(meaning)}" for name, meaning in zip(parts[1::2], parts[2::2], strict=True))


def example(section: str) -> Iterator[str]:
    yield f":::{{container}} wrapped\n```pycon\n{section}\n```\n:::"


def plain(text: str) -> str:
    """Return a text in one line as Markdown: names in double backticks become code, other marks stay characters."""
    pieces = re.split(r"(``.*?``)", " ".join(text.split()))
    return "".join(
        f"`{piece[2:-2]}`" if piece.startswith("``") else re.sub(r"([*_<>$\[\]|])", r"\\\1", piece) for piece in pieces
    )
