"""Binary features with a planted rule: the shape of a9a without a download."""

import math

import numpy as np

from bench.base.errors import UserError
from bench.base.options import Count, NonNegative
from bench.base.randomness import EVERYONE, generator
from bench.problem import Arrays, dataset


@dataset("planted")
def planted(
    samples: Count = 32561,
    tests: Count = 16281,
    features: Count = 123,
    classes: Count = 2,
    density: NonNegative = 0.11,
    noise: NonNegative = 1.0,
    square: bool = False,
) -> Arrays:
    """y = argmax(x A + noise), A ~ N(0, 1), each feature 1 with probability ``density``, else 0.

    ``square`` reshapes the features to square images, for models of images.
    """
    g = generator(0, EVERYONE, "planted")
    rule = g.standard_normal((features, classes))
    x: np.ndarray = np.empty((samples + tests, features), dtype=np.uint8)
    y = np.empty(len(x), dtype=np.int64)
    for start in range(0, len(x), 1024):  # in pieces, to save memory
        piece = x[start : start + 1024]
        piece[:] = g.random(piece.shape) < density
        y[start : start + 1024] = (piece @ rule + noise * g.standard_normal((len(piece), classes))).argmax(axis=1)
    if square:
        side = math.isqrt(features)
        if side**2 != features:
            raise UserError(f"dataset.square=true needs a square number of features, got {features}.")
        x = x.reshape(-1, side, side)
    return Arrays(x[:samples], y[:samples], x[samples:], y[samples:], classes)
