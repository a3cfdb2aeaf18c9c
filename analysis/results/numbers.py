"""Options whose values are numbers of one method and texts of another, and labels as typed on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.columns import with_columns


def are_numbers(values: pd.Series) -> bool:
    """Whether some values are known, and these are numbers."""
    if values.dtype.kind in "if":
        return bool(values.notna().any())
    known = values.dropna()
    return len(known) > 0 and {*map(type, known)} <= {int, float}


def numbers_of(values: pd.Series) -> list[float]:
    """Return the known values if these are numbers, else none."""
    known = [value for value in values.tolist() if not missing(value)]
    return known if {*map(type, known)} <= {int, float} else []


def with_numbers(runs: pd.DataFrame, option: str) -> pd.DataFrame:
    """Return the runs without methods that have other values than numbers of an option, which others may be tuned over.

    If no method has a number, return all runs.
    """
    if runs[option].dtype.kind != "O":
        return runs
    texts = [algo for algo, mine in runs.groupby("algo")[option] if mine.notna().any() and not are_numbers(mine)]
    kept = runs[~runs["algo"].isin(texts)]
    if not texts or not are_numbers(kept[option]):
        return runs
    return with_columns(kept, {option: pd.Series(kept[option].tolist(), index=kept.index)})


def with_several_values(runs: pd.DataFrame, options: Iterable[str]) -> dict[str, list[str]]:
    """Return for each method these options of which it has two or more values, a missing one among them."""
    out: dict[str, list[str]] = {algo: [] for algo in runs["algo"].unique()}
    for name in options:
        values = runs[name].map(repr) if runs[name].dtype.kind == "O" else runs[name]  # 1 and True are two values
        counts = values.groupby(runs["algo"]).nunique(dropna=False)
        for algo in counts.index[counts > 1]:
            out[algo].append(name)
    return out


def fits_word(value: Any, word: str) -> bool:
    """Compare as on the command line: 0.10 equals 0.1, and null is a missing value."""
    if str(value).lower() == word.lower() or (word == "null" and missing(value)):
        return True
    try:
        return not isinstance(value, str | bool | None) and float(value) == float(word)
    except (TypeError, ValueError):
        return False


def missing(value: Any) -> bool:
    """Return whether a label has no value."""
    return value is None or (isinstance(value, float) and np.isnan(value))
