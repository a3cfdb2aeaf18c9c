"""The statistics behind the claims, a file per theme.

Each takes results and returns cases, a number with its interval each. A claim in claims.yaml names one of these
functions and gives its parameters. What has no runs gives no case.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.results.errors import NoData
from analysis.results.plugins import load_plugins
from analysis.results.results import Results
from analysis.study.statistics import Interval


@dataclass(frozen=True)
class Case:
    """One number: where, how much, from which runs. NaN: a run of it diverged. Without runs: not tested."""

    name: str
    found: Interval
    runs: int
    exact: bool = False  # a maximum or a count, which has no interval


Evidence = Callable[..., list[Case]]
EVIDENCE: dict[str, Evidence] = {}


def evidence(function: Evidence) -> Evidence:
    """Decorator that adds a statistic under the name of its function."""
    EVIDENCE[function.__name__] = function
    return function


def known() -> dict[str, Evidence]:
    """Every statistic there is, with those of plug-ins."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    load_plugins()
    return EVIDENCE


def exact(name: str, value: float, runs: int) -> Case:
    """A number without a spread: a maximum, a count."""
    return Case(name, Interval(value, np.nan, np.nan, runs), runs, exact=True)


def untested(name: str) -> Case:
    return Case(name, Interval(np.nan, np.nan, np.nan, 0), 0)


def gather(name: str, results: Results, parameters: dict[str, Any]) -> list[Case]:
    """The cases of one claim; none where there are no runs for it."""
    try:
        return known()[name](results, **parameters)
    except NoData:
        return []
