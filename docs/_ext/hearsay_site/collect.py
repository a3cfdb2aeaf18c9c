"""Collect the pages of the site in one folder: those of the repository, and those that are generated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hearsay_site.pages import generated
from hearsay_site.sources import ROOT
from hearsay_site.text import ORPHAN

PAGES = (
    "CHANGELOG.md", "CONTRIBUTING.md", "REPRODUCTION.md", "SECURITY.md", "reproduction/README.md", "board/v1/rules.md",
    "board/v1/results/board.md",
)  # fmt: skip
ANCHOR = re.compile(rb'^(#+ )<a id="([^"]+)"></a>', re.MULTILINE)
LISTED = re.compile(r"^(?:[^<\n]+<)?/([\w/-]+)>?$", re.MULTILINE)
"""Entries of a table of contents."""
REFERENCE = ":caption: Reference"
IMAGES = {".png", ".svg", ".gif", ".jpg"}


def collect(folder: Path) -> None:
    """Write the pages to ``folder``; files that did not change keep their times, so that Sphinx skips them."""
    wanted = dict(written())
    for path, content in wanted.items():
        file = folder / path
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    for file in folder.rglob("*"):
        if file.is_file() and file.relative_to(folder).as_posix() not in wanted:
            file.unlink()


def home() -> str:
    """Return the first page; pages of docs that its tables of contents do not list are added to the reference."""
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    known = {*LISTED.findall(text), "docs/index"}
    new = [f"/{name}\n" for page in pages_of_repository() if (name := page.removesuffix(".md")) not in known]
    return text.replace(f"{REFERENCE}\n:hidden:\n\n", f"{REFERENCE}\n:hidden:\n\n{''.join(new)}")


def listed_pages() -> set[str]:
    """Return the paths of the pages in the tables of contents."""
    return {f"{name}.md" for name in LISTED.findall(home())}


def prepared(path: str, page: bytes, listed: set[str]) -> bytes:
    """Return a page for MyST: with its anchors, and marked if it is in no table of contents."""
    anchored = ANCHOR.sub(rb"(\2)=\n\1", page)
    return anchored if path in listed else ORPHAN.encode() + anchored


def pages_of_repository() -> list[str]:
    """Return the paths of the pages that are not generated."""
    docs = [file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").glob("*.md")]
    return sorted([*docs, *PAGES])


def written() -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of every page and image."""
    docs = [file for file in (ROOT / "docs").rglob("*") if file.suffix in {".md", *IMAGES}]
    listed = listed_pages()
    verdicts = (ROOT / "reproduction/verdicts").glob("*.md")
    figures = (ROOT / "reproduction/archive/figures").glob("*.png")
    for file in [*docs, *(ROOT / page for page in PAGES), *verdicts, *figures]:
        path = file.relative_to(ROOT).as_posix()
        if not path.startswith(("docs/_", "docs/index.md")):
            content = file.read_bytes()
            yield path, prepared(path, content, listed) if file.suffix == ".md" else content
    for path, text in generated():
        yield path, text.encode()
    yield "index.md", home().encode()
