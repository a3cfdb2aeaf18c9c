"""Columns of tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd


def in_cells(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Return labels for a row of a table. Lists and mappings become texts, since tables compare labels."""
    return {name: json.dumps(value) if type(value) in (list, dict) else value for name, value in labels.items()}


def with_columns(table: pd.DataFrame, columns: Mapping[Any, Any]) -> pd.DataFrame:
    """Return a table with these columns. Their names may be any labels of runs, such as ``self``."""
    if columns.keys().isdisjoint(table.columns):  # one call, since each further column takes as long as all of them
        return pd.concat([table, pd.DataFrame(columns, index=table.index)], axis=1)
    out = table.copy(deep=False)
    for name, values in columns.items():
        out[name] = values
    return out
