"""The document of claims as a summary and one page per claim."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from analysis.claims.sets import ClaimSet
from analysis.claims.verdicts import Verdict
from analysis.report import claims as whole
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.tables import format as words

LINK = re.compile(r"\]\(#([\w-]+)\)")
"""A link to another part of the document, which is a page here."""


@dataclass(frozen=True)
class Places:
    """Where the summary, its pages and their figures are written, and the results as ``--results`` names them."""

    document: Path
    pages: Path
    figures: Path
    results: str


def claim_pages(claims: ClaimSet, verdicts: list[Verdict], results: Results, places: Places) -> dict[str, str]:
    """Draw the figures and return all pages by name: one for each claim, then one for each section and table."""
    drawn = whole.draw_figures(claims, verdicts, results, places.figures)
    home, figures = (Path(os.path.relpath(path, places.pages)) for path in (places.document, places.figures))
    back = f"[All verdicts]({home.as_posix()})"
    pages = {}
    for title, some in whole.by_kind(verdicts).items():
        for verdict in some:
            figure = verdict.claim.figure or ""
            picture = drawn.get(figure)
            lines = [f"# {verdict.claim.claim}", "", f"{back} · {title}", "", *_claim(verdict, claims, places.results)]
            lines += whole.figure_lines(figure, picture, results, figures) if picture else []
            if (name := page_name(verdict.claim.id)) in pages:
                raise NoData(f"two claims would share the page {name}.md, one of them {verdict.claim.id}. Rename it")
            pages[name] = lines
    further = [*claims.sections(verdicts, results)]
    further += [line for name in claims.tables for line in whole.table_lines(name, claims, results)]
    for title, lines in _sections(further):
        pages[page_name(title)] = [f"# {title}", "", back, *lines]
    return {name: _linked("\n".join(lines).rstrip() + "\n", pages) for name, lines in pages.items()}


def summary(
    claims: ClaimSet, verdicts: list[Verdict], results: Results, pages: Mapping[str, str], places: Places
) -> str:
    """Return the summary: all verdicts in one table, with links to the pages."""
    folder, kinds = Path(os.path.relpath(places.pages, places.document.parent)), whole.by_kind(verdicts)
    link = {name: (folder / f"{name}.md").as_posix() for name in pages}
    parts = [claims.head, "## Verdicts", ""]
    parts += [f"{number}. {title}: {whole.counts(some)}." for number, (title, some) in enumerate(kinds.items(), 1)]
    parts += ["", "| kind | claim | verdict |", "|---|---|---|"]
    for number, some in enumerate(kinds.values(), 1):
        for verdict in some:
            text = f"[{whole.in_cell(verdict.claim.claim)}]({link.pop(page_name(verdict.claim.id))})"
            parts.append(f"| {number} | {text} | **{words.in_cell(verdict.sentence)}** |")
    if link:
        titles = (pages[name].partition("\n")[0].removeprefix("# ") for name in link)
        parts += [
            "",
            "## Further pages",
            "",
            *(f"- [{title}]({link[name]})" for title, name in zip(titles, link, strict=True)),
        ]
    return "\n".join([*parts, "", whole.RULES, *whole.what_was_run(results)]).rstrip() + "\n"


def page_name(text: str) -> str:
    """Return the name of the page of a claim or section, which is also the anchor of its heading on GitHub."""
    return re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")


def _claim(verdict: Verdict, claims: ClaimSet, source: str) -> Iterator[str]:
    """The text of a claim, and the command that computes its verdict again from the same results."""
    yield from whole.claim_lines(verdict, claims.words)
    if not claims.words and not verdict.claim.untestable:  # else the last command names the results already
        command = ["python", "analysis/check_claims.py", "--results", source, "--claim", verdict.claim.id]
        yield from ("", "From the results of this page, without new runs:", "", "```bash", shlex.join(command), "```")


def _sections(lines: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Cut lines at their headings of the second level."""
    found: list[tuple[str, list[str]]] = []
    for line in (part for text in lines for part in text.split("\n")):
        if line.startswith("## "):
            found.append((line.removeprefix("## "), []))
        elif found:
            found[-1][1].append(line)
    return found


def _linked(text: str, pages: Iterable[str]) -> str:
    """Replace links to parts of the document by links to pages."""
    return LINK.sub(lambda found: f"]({found[1]}.md)" if found[1] in pages else found[0], text)
