"""Variants of methods: the values of options that are not tuned."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pandas as pd
import yaml

from analysis.results.labels import methods
from analysis.results.numbers import are_numbers, fits_word, missing
from analysis.results.results import Results
from analysis.results.wording import natural_order
from analysis.study.settings import NAMED, in_labels
from analysis.study.tuning import AS_WRITTEN, tuned_over
from bench.base.home import ROOT

UNKNOWN = object()
"""The default of an option that no configuration of the suite has, such as one of a plug-in."""


def default_of(algo: str, option: str) -> Any:
    """Return the default of an option in conf/algo; ``UNKNOWN`` if there is none."""
    return _defaults(algo).get(option.removeprefix("algo."), UNKNOWN)


@cache
def _defaults(algo: str) -> dict[str, Any]:
    path = ROOT / "conf" / "algo" / f"{algo}.yaml"
    known = re.fullmatch(r"\w{1,60}", algo) and path.is_file()  # a name from a stranger may be the path of another file
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8")) if known else {}
    section: dict[str, Any] = found.get("algo", found)
    return section  # a file that also sets the engine has the options in a section


def most_frequent(runs: pd.DataFrame, algo: str, option: str) -> pd.Series:
    """Return which runs of one method have the most frequent value of an option.

    A missing value is the value null. Ties go to the default, then to null, then to the smallest value.
    """
    words = runs[option].map(_word)
    counts, default = words.value_counts(), default_of(algo, option)

    def place(word: str) -> tuple[Any, ...]:
        value = runs.loc[words == word, option].iloc[0]
        return not _equal(value, default), word != "null", natural_order(word)

    return words == min(counts.index[counts == counts.max()], key=place)


def shown_values(results: Results, runs: pd.DataFrame) -> list[str]:
    """Return a note for every method that these runs of one problem show with other values than its defaults.

    Words, switches and values of variants are named whenever they are not the default. Missing values, numbers that are
    not tuned, and options without a known default are named if the method also has runs with other values.
    """
    notes = []
    for algo, name in methods(runs["algo"].unique(), results).items():
        mine = runs[runs["algo"] == algo]
        fixed = {option: mine[option].iloc[0] for option in _fixed(results, mine)}
        words = {option: text for option, value in fixed.items() if (text := _unusual(results, algo, option, value))}
        if words:
            here = {label: mine[label].iloc[0] for label in NAMED if mine[label].nunique() == 1}
            where = {label: value for label, value in here.items() if results.runs[label].nunique() > 1}
            notes.append(f"shown for {name}{f' ({in_labels(where)})' if where else ''}: {in_labels(words)}")
    return notes


def _fixed(results: Results, runs: pd.DataFrame) -> list[str]:
    """Return the options of one method that have one value and are not tuned."""
    others = {"schedule", *tuned_over(results, runs)}
    several = {*results.several_in(runs)}
    known = [option for option in results.options if option in runs and option not in others]
    return [option for option in known if option not in several or runs[option].nunique(dropna=False) == 1]


def _unusual(results: Results, algo: str, option: str, value: Any) -> str | None:
    """Return a value and its default; None if it need not be named."""
    default = default_of(algo, option)
    if _equal(value, default) or (missing(value) and option in AS_WRITTEN):
        return None
    several = option in results.several.get(algo, ())
    if not several and (default is UNKNOWN or missing(value)):
        return None
    own = results.runs.loc[results.runs["algo"] == algo, option]
    usual = default is UNKNOWN or missing(value) or (option not in AS_WRITTEN and are_numbers(own))
    if usual and (not several or own.map(_word).nunique() < 2):
        return None
    return _word(value) + ("" if default is UNKNOWN else f" (default {_word(default)})")


def _equal(value: Any, default: Any) -> bool:
    return default is not UNKNOWN and fits_word(value, _word(default))


def _word(value: Any) -> str:
    """Return a value as typed on the command line."""
    if missing(value):
        return "null"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
