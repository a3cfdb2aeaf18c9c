"""Sets of claims: those that plug-ins register, or a yaml file of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from analysis.claims.verdicts import Verdict
from analysis.results.plugins import load_plugins
from analysis.results.results import Results
from analysis.study.ask import USUAL, Ask

HEAD = """# Claims, checked

The claims of {file}, one by one. This page is written by `python analysis/check_claims.py`: no number and no verdict
in it was typed.
"""


@dataclass(frozen=True)
class ClaimSet:
    """Claims that are checked together, and the document that they are written into.

    Attributes:
        file: The yaml file with the claims.
        document: The name of the document, such as ``REPRODUCTION.md``.
        head: The Markdown that the document begins with.
        ask: What its figures and tables are asked for.
        tables: The tables at its end.
        sections: Lines of Markdown behind the list of all verdicts.
        runs_of: The runs that a figure shows, by the figure's name; all by default.
        words: What a command line needs to find these claims.
    """

    file: Path
    document: str
    head: str
    ask: Ask = USUAL
    tables: tuple[str, ...] = ("robustness", "final")
    sections: Callable[[list[Verdict], Results], Iterable[str]] = lambda verdicts, results: ()
    runs_of: Callable[[str, Results], Results] = lambda figure, results: results
    words: tuple[str, ...] = ()


SETS: list[ClaimSet] = []


def register(claims: ClaimSet) -> None:
    """Let ``check_claims.py`` check these claims where no file of claims is given."""
    SETS.append(claims)


def claim_sets(file: Path | None, source: str) -> list[ClaimSet]:
    """The claims of a file, or without one all that are registered; ``source`` is where the results are read from."""
    load_plugins()
    if file is None:
        return SETS
    known = [one for one in SETS if one.file.resolve() == file.resolve()]
    own = ClaimSet(
        file,
        file.with_suffix(".md").name,
        HEAD.format(file=file.name),
        words=("--results", source, "--claims", str(file)),
    )
    return known or [own]
