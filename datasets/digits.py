"""Handwritten digits, 8×8 pixels, without a download."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bench.problem import Arrays, dataset


@dataset("digits")
def digits() -> Arrays:
    """1797 images of UCI's Optical Recognition of Handwritten Digits, bundled with scikit-learn.

    Every fifth image is in the test set. Pixels are 0 … 16; mean and sd are those of the training set.
    """
    package = find_spec("sklearn")  # read its file only: importing sklearn takes seconds
    assert package is not None
    table = np.loadtxt(Path(str(package.origin)).parent / "datasets/data/digits.csv.gz", delimiter=",")
    x, y = table[:, :-1].reshape(-1, 8, 8).astype(np.uint8), table[:, -1].astype(np.int64)
    test = np.arange(len(y)) % 5 == 4
    return Arrays(x[~test], y[~test], x[test], y[test], classes=10, mean=4.893, sd=6.023)
