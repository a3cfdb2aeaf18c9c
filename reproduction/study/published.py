"""Published results of the paper, aggregated from the authors' raw result files.

Their η axis differs from the formula of the paper: the code scaled losses and stepsizes differently, and the version
that produced the files is lost. The best accuracy over the grid, the shape of the curves and the line of D-NASA are
comparable.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd


@cache
def published() -> pd.DataFrame:
    return pd.read_csv(Path(__file__).with_suffix(".csv"), comment="#")


def rows_of_setting(dataset: str, topology: str, steps: int) -> pd.DataFrame:
    """The rows of one setting; empty if the paper has none."""
    table = published()
    return table[(table["dataset"] == dataset) & (table["topology"] == topology) & (table["steps"] == steps)]


def of_dnasa(table: pd.DataFrame) -> pd.DataFrame:
    """D-NASA with its default multiplier, 1."""
    return table[(table["algo"] == "dnasa") & (table["eta"] == 1.0)]
