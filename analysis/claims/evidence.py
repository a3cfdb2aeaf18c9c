"""The statistics behind claims, which plug-ins register.

A statistic is a function from results to cases, each a number with its confidence interval. A claim in a yaml file
names the function and its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analysis.claims.cases import Case, Summary, case, difference, exact, per_seed, untested
from analysis.results.errors import NoData
from analysis.results.lacking import lacking_metrics_named
from analysis.results.plugins import load_plugins
from analysis.results.results import Results

__all__ = ["Case", "Summary", "case", "difference", "evidence", "exact", "gather", "known", "per_seed", "untested"]

Evidence = Callable[..., list[Case]]
EVIDENCE: dict[str, Evidence] = {}


def evidence(function: Evidence) -> Evidence:
    """Register a statistic under the name of its function. A decorator.

    The function maps ``Results`` and the parameters of the claim to a list of cases. Its docstring describes the
    statistic in reports.

    Example:
        >>> @evidence
        ... def distance(results: Results) -> list[Case]:
        ...     finals = results.finals.groupby("algo")
        ...     return [case(algo, per_seed(runs, "traveled"), len(runs)) for algo, runs in finals]
    """
    EVIDENCE[function.__name__] = function
    return function


def known() -> dict[str, Evidence]:
    """Return all statistics by name."""
    load_plugins()
    return EVIDENCE


def gather(name: str, results: Results, parameters: dict[str, Any]) -> list[Case]:
    """Return the cases of one claim, with simultaneous 95 % intervals; none if there are no runs or no such metrics.

    Raises:
        TypeError: The statistic does not return a list of cases.
    """
    try:
        with lacking_metrics_named(results):
            found = known()[name](results, **parameters)
    except NoData:
        return []
    if not (isinstance(found, list) and all(isinstance(one, Case) for one in found)):
        what = type(found).__name__ if not isinstance(found, list) else "a list with other elements"
        raise TypeError(f"{name} must return a list of cases, but returned {what}")
    family = sum(one.spread for one in found)
    return [one.among(family) for one in found]
