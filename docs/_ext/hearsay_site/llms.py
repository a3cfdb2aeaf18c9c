"""``llms.txt``: all pages of the site with one line each, for language models (https://llmstxt.org)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
CAPTION = re.compile(r"^:caption: (.+)$", re.MULTILINE)
ENTRY = re.compile(r"^(?:.*<)?/([\w/.-]+?)>?$", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
NO_TEXT = ("#", "|", "```", "- ", "* ", ":", "<", "![", "(", "$$", "{", "[All ")
"""Beginnings of blocks that are not paragraphs, or lead back to a list."""


def llms_txt(source: Path) -> str:
    """Return the list of all pages in ``source``: those of the table of contents by section, then the others."""
    index = (source / "index.md").read_text(encoding="utf-8")
    lines, listed = [f"# {_title(index)}", "", f"> {describe(index)}", ""], {"index"}
    for section, names in _sections(index):
        listed |= set(names)
        lines += [f"## {section}", "", *(_line(source, name) for name in names), ""]
    others = sorted({file.relative_to(source).with_suffix("").as_posix() for file in source.rglob("*.md")} - listed)
    lines += ["## Optional", "", *(_line(source, name) for name in others), ""] if others else []
    return "\n".join(lines)


def describe(page: str) -> str:
    """Return the first sentence of a page before its first section, or else the titles of its sections."""
    _, _, text = re.sub(r"\A---\n.*?^---\n", "", page, flags=re.MULTILINE | re.DOTALL).lstrip().partition("\n")
    top, *_ = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)
    paragraphs = (block.strip() for block in re.split(r"\n\s*\n", top))
    first = next((block for block in paragraphs if block and not block.startswith(NO_TEXT)), None)
    if first is None:
        return ", ".join(_plain(title) for title in re.findall(r"^## (.+)$", page, re.MULTILINE))
    return re.split(r"(?<=[.?])(?<!al\.) ", _plain(first), maxsplit=1)[0]


def _sections(index: str) -> Iterator[tuple[str, list[str]]]:
    for tree in TOCTREE.findall(index):
        (caption,) = CAPTION.findall(tree) or ["Pages"]
        yield caption, ENTRY.findall(tree)


def _line(source: Path, name: str) -> str:
    page = (source / f"{name}.md").read_text(encoding="utf-8")
    about = describe(page)
    return f"- [{_title(page)}]({name}.html)" + (f": {about}" if about else "")


def _title(page: str) -> str:
    return _plain(next(line for line in page.splitlines() if line.startswith("# ")).removeprefix("# "))


def _plain(text: str) -> str:
    """A text in one line, without links and emphasis."""
    return LINK.sub(r"\1", " ".join(text.split())).replace("**", "")
