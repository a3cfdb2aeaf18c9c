"""Columns of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd


def with_columns(table: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    """Return a table with these columns. Their names may be any labels of runs, such as ``self``."""
    out = table.copy(deep=False)
    for name, values in columns.items():
        out[name] = values
    return out
