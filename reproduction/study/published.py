"""The paper's published results, aggregated from the authors' raw result files.

Their η axis is not the formula of the paper: their code scaled losses and stepsizes differently, and the
version that made the files is not recoverable. What can be compared is the best accuracy over the grid,
the shape of the curves, and the line of D-NASA.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd


@cache
def published() -> pd.DataFrame:
    return pd.read_csv(Path(__file__).with_suffix(".csv"), comment="#")


def rows_of_setting(dataset: str, topology: str, steps: int) -> pd.DataFrame:
    """The rows of one setting; empty where the paper has none."""
    table = published()
    return table[(table["dataset"] == dataset) & (table["topology"] == topology) & (table["steps"] == steps)]


def of_dnasa(table: pd.DataFrame) -> pd.DataFrame:
    """D-NASA as it is meant: the multiplier 1."""
    return table[(table["algo"] == "dnasa") & (table["eta"] == 1.0)]
