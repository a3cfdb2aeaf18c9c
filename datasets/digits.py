"""Handwritten digits, 8×8: a real task that needs no download."""

import numpy as np

from bench.problem import Arrays, dataset


@dataset("digits")
def digits() -> Arrays:
    """1797 images of UCI's Optical Recognition of Handwritten Digits, bundled with scikit-learn.

    Every fifth is for testing. Pixels are 0 … 16; mean and sd are those of the training part.
    """
    from sklearn.datasets import load_digits  # a second to import: only for those who use it

    bunch = load_digits()
    x, y = bunch.images.astype(np.uint8), bunch.target
    test = np.arange(len(y)) % 5 == 4
    return Arrays(x[~test], y[~test], x[test], y[test], classes=10, mean=4.893, sd=6.023)
