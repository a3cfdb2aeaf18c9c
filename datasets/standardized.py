"""Split and standardization of tables, with the same result on every machine."""

import math

import numpy as np

from bench.base.randomness import EVERYONE, generator
from bench.data.recipe import Parts


def moments(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation (1 if all are equal), from exact sums, which do not depend on the order of adding."""
    flat = values.astype(np.float64)
    if flat.min() == flat.max():
        return float(flat[0]), 1.0
    mean = math.fsum(flat.tolist()) / len(flat)
    return mean, math.sqrt(math.fsum(((flat - mean) ** 2).tolist()) / len(flat))


def standardize(columns: np.ndarray, train: int, missing: float | None = None) -> None:
    """Standardize columns of float64 in place, by the mean and standard deviation of the first ``train`` rows.

    The value ``missing`` is excluded from both and becomes 0, the mean.
    """
    for column in columns.T:
        known = np.full(len(column), True) if missing is None else column != missing
        mean, sd = moments(column[:train][known[:train]])
        column[:] = np.where(known, (column - mean) / sd, 0.0)


def divided(key: str, x: np.ndarray, y: np.ndarray, train: int, scaled: int, missing: float | None = None) -> Parts:
    """Split a table after ``train`` rows, and standardize its first ``scaled`` columns.

    Rows are sorted and then shuffled by a fixed key, since sources may differ in their order.
    """
    order = np.lexsort((y, *x.T[::-1]))[generator(0, EVERYONE, f"{key} split").permutation(len(x))]
    x, y = x[order].astype(np.float64), y[order].astype(np.uint8)
    standardize(x[:, :scaled], train, missing)
    x = x.astype(np.float32)
    return {"train_x": x[:train], "train_y": y[:train], "test_x": x[train:], "test_y": y[train:]}
