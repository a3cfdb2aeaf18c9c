"""Two Gaussian clouds."""

import numpy as np

from bench.base.options import Count
from bench.problem import Arrays, dataset


@dataset("blobs")
def blobs(samples: Count = 400, distance: float = 3.0) -> Arrays:
    g = np.random.default_rng(0)
    y = np.arange(samples) % 2
    x = (g.standard_normal((samples, 2)) + distance * y[:, None]).astype(np.float32)
    half = samples // 2
    return Arrays(x[:half], y[:half], x[half:], y[half:], classes=2)
