"""Binary features with a planted rule: the shape of a9a without the download."""

import numpy as np

from bench.options import Count, NonNegative
from bench.problem import dataset
from bench.randomness import EVERYONE, generator
from bench.supervised import Arrays


@dataset("planted")
def planted(
    samples: Count = 32561,
    tests: Count = 16281,
    features: Count = 123,
    classes: Count = 2,
    density: NonNegative = 0.11,
    noise: NonNegative = 1.0,
) -> Arrays:
    """y = argmax(x A + noise), A ~ N(0, 1), each feature 1 with probability ``density``, else 0."""
    g = generator(0, EVERYONE, "planted")
    rule = g.standard_normal((features, classes))
    x = np.empty((samples + tests, features), dtype=np.uint8)
    y = np.empty(len(x), dtype=np.int64)
    for start in range(0, len(x), 1024):  # piece by piece, to need little memory
        piece = x[start : start + 1024]
        piece[:] = g.random(piece.shape) < density
        y[start : start + 1024] = (piece @ rule + noise * g.standard_normal((len(piece), classes))).argmax(axis=1)
    return Arrays(x[:samples], y[:samples], x[samples:], y[samples:], classes)
