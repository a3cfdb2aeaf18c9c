"""The statistics behind claims, which plug-ins register.

Each takes results and returns cases, a number with its interval each. A claim in a yaml file names one of these
functions and gives its parameters. What has no runs gives no case.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.claims.cases import Case, Summary, case, difference, exact, untested
from analysis.results.errors import NoData
from analysis.results.plugins import load_plugins
from analysis.results.results import Results

__all__ = ["Case", "Summary", "case", "difference", "evidence", "exact", "gather", "known", "untested"]

Evidence = Callable[..., list[Case]]
EVIDENCE: dict[str, Evidence] = {}


def evidence(function: Evidence) -> Evidence:
    """Decorator that adds a statistic under the name of its function."""
    EVIDENCE[function.__name__] = function
    return function


def known() -> dict[str, Evidence]:
    """Every statistic there is."""
    load_plugins()
    return EVIDENCE


def defined(function: Evidence) -> str:
    """(my_evidence.py, line 8): where a function begins."""
    code = inspect.unwrap(function).__code__
    return f" ({Path(code.co_filename).name}, line {code.co_firstlineno})"


def gather(name: str, results: Results, parameters: dict[str, Any]) -> list[Case]:
    """The cases of one claim, their intervals together at 95 %; none where there are no runs for it."""
    function = known()[name]
    try:
        found = function(results, **parameters)
    except NoData:
        return []
    if not (isinstance(found, list) and all(isinstance(one, Case) for one in found)):
        what = type(found).__name__ if not isinstance(found, list) else "a list with something else in it"
        raise TypeError(f"{name} must return a list of cases, and returned {what}{defined(function)}")
    family = sum(one.spread for one in found)
    return [one.among(family) for one in found]
