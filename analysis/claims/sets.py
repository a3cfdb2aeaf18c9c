"""Sets of claims: those that plug-ins register, or a yaml file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from analysis.claims.verdicts import Verdict
from analysis.results.plugins import load_plugins
from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions

HEAD = """# Claims, checked

The verdicts on the claims of {file}. `python analysis/check_claims.py` computed all numbers and verdicts of this page.
"""


@dataclass(frozen=True)
class ClaimSet:
    """Claims that are checked together, and the document that they are written into.

    Attributes:
        file: The yaml file with the claims.
        document: The name of the document, such as ``REPRODUCTION.md``.
        head: The Markdown that the document begins with.
        request: The options of its figures and tables.
        tables: The names of the tables at its end.
        sections: From the verdicts and the results to lines of Markdown behind the list of verdicts.
        runs_of: From the name of a figure and the results to the runs that it shows. Default: all.
        words: The arguments of ``check_claims.py`` that select these claims, for messages.

    Example:
        >>> ClaimSet(Path("my_claims.yaml"), "MY_CLAIMS.md", "# My claims")
    """

    file: Path
    document: str
    head: str
    request: FigureOptions = USUAL
    tables: tuple[str, ...] = ("robustness", "final")
    sections: Callable[[list[Verdict], Results], Iterable[str]] = lambda verdicts, results: ()
    runs_of: Callable[[str, Results], Results] = lambda figure, results: results
    words: tuple[str, ...] = ()


SETS: list[ClaimSet] = []


def register(claims: ClaimSet) -> None:
    """Register a set of claims, which ``check_claims.py`` checks if no file is given.

    Example:
        >>> register(ClaimSet(Path(__file__).with_suffix(".yaml"), "MY_CLAIMS.md", "# My claims"))
    """
    SETS.append(claims)


def claim_sets(file: Path | None, source: str) -> list[ClaimSet]:
    """Return the set of claims of a file, or all registered sets; ``source`` is the path of the results."""
    load_plugins()
    if file is None:
        return SETS
    known = [one for one in SETS if one.file.resolve() == file.resolve()]
    document, words = file.with_suffix(".md").name, ("--results", source, "--claims", str(file))
    return known or [ClaimSet(file, document, HEAD.format(file=file.name), words=words)]
