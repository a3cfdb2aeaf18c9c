"""What tables share: rows divided by a fixed key, and columns of mean 0 and variance 1, the same on every machine."""

import math

import numpy as np

from bench.base.randomness import EVERYONE, generator
from bench.data.recipe import Parts


def moments(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation of a list of numbers, 1 where they are all the same.

    Sums are exact, so that they do not depend on the order in which a machine adds.
    """
    flat = values.astype(np.float64)
    if flat.min() == flat.max():
        return float(flat[0]), 1.0
    mean = math.fsum(flat.tolist()) / len(flat)
    return mean, math.sqrt(math.fsum(((flat - mean) ** 2).tolist()) / len(flat))


def standardize(columns: np.ndarray, train: int, missing: float | None = None) -> None:
    """Each column of float64 minus its mean, divided by its deviation: those of the first ``train`` rows; in place.

    What is ``missing`` counts in neither, and becomes the mean, 0.
    """
    for column in columns.T:
        known = np.full(len(column), True) if missing is None else column != missing
        mean, sd = moments(column[:train][known[:train]])
        column[:] = np.where(known, (column - mean) / sd, 0.0)


def divided(key: str, x: np.ndarray, y: np.ndarray, train: int, scaled: int, missing: float | None = None) -> Parts:
    """The first ``train`` rows for training, the first ``scaled`` columns standardized, all as float32.

    Rows are sorted and then shuffled by a fixed key, because sources need not have one order.
    """
    order = np.lexsort((y, *x.T[::-1]))[generator(0, EVERYONE, f"{key} split").permutation(len(x))]
    x, y = x[order].astype(np.float64), y[order].astype(np.uint8)
    standardize(x[:, :scaled], train, missing)
    x = x.astype(np.float32)
    return {"train_x": x[:train], "train_y": y[:train], "test_x": x[train:], "test_y": y[train:]}
