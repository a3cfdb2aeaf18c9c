"""Lines of many points with the few of them that are visible."""

from itertools import pairwise

import numpy as np
import pandas as pd

DENSE, BINS = 5000, 2000
"""A line of more points is drawn with the ends and the extremes of this many pieces of it: Matplotlib takes minutes."""


def thinned(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return the rows that are visible in a line: of many, the ends, gaps and extremes of small pieces."""
    if len(rows) <= DENSE:
        return rows
    kept, count = {0, len(rows) - 1}, len(rows)
    linear, logarithmic = np.linspace(0, count, BINS + 1), np.geomspace(1, count, BINS // 4)  # as the axis may be
    ends = np.unique(np.append(linear, logarithmic).astype(int))
    for column in columns:
        values = rows[column].to_numpy(float)
        gaps = np.isnan(values)
        for sign in (1, -1):
            ranks = np.where(gaps, np.inf, sign * values)
            kept |= {begin + int(ranks[begin:end].argmin()) for begin, end in pairwise(ends.tolist())}
    return rows.iloc[sorted(kept)]
