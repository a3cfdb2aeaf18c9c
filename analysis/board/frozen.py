"""Read the frozen tables of a version: targets.csv and chosen.csv."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from analysis.results.errors import NoData
from bench.store.regular import content_of


def read_frozen(path: Path, part: str, columns: Sequence[str], size: str = "full") -> pd.DataFrame:
    """Return a table that make_board.py ``part`` wrote; in the quick size it lies in a results folder.

    Raises:
        NoData: The file is missing, is no table, or lacks a value of one of these columns.
    """
    remedy = f"write it with python analysis/make_board.py {part}"
    if not path.is_file():
        raise NoData(f"there is no {path}; {remedy}")
    try:
        table = pd.read_csv(io.BytesIO(content_of(path) if size == "quick" else path.read_bytes()))
    except ValueError as error:  # also of pandas, and of a text that is not UTF-8
        raise NoData(f"{path} is no table ({error}); {remedy}") from error
    if lacking := [name for name in columns if name not in table or table[name].isna().any()]:
        raise NoData(f"{path} has no column '{lacking[0]}', or no value in some row; {remedy}")
    numbers = [name for name in ("start", "reference") if name in columns]
    if wrong := [name for name in numbers if not pd.api.types.is_numeric_dtype(table[name])]:
        raise NoData(f"{path} has a value of '{wrong[0]}' that is no number; {remedy}")
    return table
