"""Read the frozen tables of a version: targets.csv and chosen.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.board.choose import OPTION, RULESETS
from analysis.board.targets import MINIMUM, POOLED
from analysis.results.errors import NoData
from bench.base.small_file import LARGEST, content_up_to
from bench.store.regular import content_of

WORDS = {"rule": (MINIMUM, POOLED), "ruleset": RULESETS}
"""The values of columns with words."""
WIDEST = 1000
"""The largest number of columns."""
KEYS = ("ruleset", "workload", "method")
"""The columns that identify a row."""


def read_frozen(path: Path, part: str, columns: Sequence[str], inside: bool = False) -> pd.DataFrame:
    """Return a table that make_board.py ``part`` wrote.

    ``inside``: the file is in a results folder or a submission, in which links are not followed.

    Raises:
        NoData: The file is missing, is no table, lacks a value of one of these columns, or has an invalid value or row.
    """
    remedy = f"write it with python analysis/make_board.py {part}"
    if not path.is_file():
        raise NoData(f"there is no {path}; {remedy}")
    try:
        text = (content_of(path, LARGEST) if inside else content_up_to(path)).decode()
        if max(map(len, csv.reader(io.StringIO(text, newline=""))), default=0) > WIDEST:
            raise ValueError(f"a row has more than {WIDEST} values")
        table = pd.read_csv(io.StringIO(text, newline=""))
    except (ValueError, OverflowError, csv.Error) as error:  # also of pandas, and of a text that is not UTF-8
        raise NoData(f"{path} is no table ({error}); {remedy}") from error
    if lacking := [name for name in columns if name not in table or table[name].isna().any()]:
        raise NoData(f"{path} has no column '{lacking[0]}', or no value in some row; {remedy}")
    numbers = [name for name in ("start", "reference") if name in columns]
    if wrong := [name for name in numbers if table[name].dtype.kind not in "iuf"]:
        raise NoData(f"{path} has a value of '{wrong[0]}' that is no number; {remedy}")
    if sentence := _fault(table, columns):
        raise NoData(f"{path} has {sentence}; {remedy}")
    return table


def _fault(table: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return the first value or row that make_board.py does not write, in words; empty if there is none."""
    for name, allowed in WORDS.items():
        if name in columns and (wrong := [value for value in table[name] if value not in allowed]):
            return f"the {name} '{wrong[0]}' instead of one of {', '.join(allowed)}"
    for name in table.columns:
        if name not in columns and not name.startswith(OPTION):
            continue
        numbers = pd.Series([_number(value) for value in table[name]], dtype=float)  # a column may have words, too
        if np.isinf(numbers).any():
            return f"the value {numbers[np.isinf(numbers)].iloc[0]} of '{name}', which must be finite"
    keys = [name for name in KEYS if name in columns]
    if (twice := table.duplicated(keys)).any():
        return f"several rows of {' '.join(map(str, table.loc[twice, keys].iloc[0]))}"
    if "reference" in columns and (above := ~(table["reference"] < table["start"])).any():
        workload, start, reference = table.loc[above, ["workload", "start", "reference"]].iloc[0]
        return f"the reference {reference:g} of {workload}, which must be less than its start {start:g}"
    return ""


def _number(value: object) -> float:
    """Return a value as a real number: infinite if it is too large, NaN if it is a word."""
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan
