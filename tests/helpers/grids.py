"""The final values of one method, setting by setting: small tables to be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

Values = Sequence[float | None]


def runs(rows: list[tuple], metric: str = "test_accuracy") -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["eta", "seed", "state", metric])


def grid(by_eta: dict[float, Values], metric: str = "test_accuracy") -> pd.DataFrame:
    """By η the values of seeds 0, 1, …; None: that seed diverged."""
    return runs(
        [
            (eta, seed, "done" if value is not None else "nonfinite", np.nan if value is None else value)
            for eta, values in by_eta.items()
            for seed, value in enumerate(values)
        ],
        metric,
    )


def square(by_both: dict[tuple[float, float], Values]) -> pd.DataFrame:
    """By (η, β)."""
    parts = [grid({eta: values}).assign(beta=beta) for (eta, beta), values in by_both.items()]
    return pd.concat(parts, ignore_index=True)


BOTH = ["eta", "beta"]
SQUARE: dict[tuple[float, float], Values] = {
    (0.1, 0.0): [70, 72], (1.0, 0.0): [90.6, 90.6], (10.0, 0.0): [60, 60],
    (0.1, 0.5): [90, 92], (1.0, 0.5): [90, 90], (10.0, 0.5): [90.8, 90.8],
    (0.1, 0.9): [85, 85], (1.0, 0.9): [99, None], (10.0, 0.9): [None, None],
}  # fmt: skip
