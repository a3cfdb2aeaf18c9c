"""Each compressor's rule for one vector, as plainly as NumPy can say it."""

import math

import numpy as np


def none(v, g):
    return v


def _kept(v, places):
    return np.array([v[i] if i in places else 0.0 for i in range(len(v))])


def _count(v, k, fraction):
    return k if k is not None else max(1, round(fraction * len(v)))


def top_k(v, g, k=None, fraction=0.1):
    order = sorted(range(len(v)), key=lambda i: (-abs(v[i]), i))
    return _kept(v, order[: _count(v, k, fraction)])


def random_k(v, g, k=None, fraction=0.1, unbiased=False):
    k = _count(v, k, fraction)
    kept = _kept(v, g.choice(len(v), k, replace=False, shuffle=False))
    return kept * len(v) / k if unbiased else kept


def qsgd(v, g, levels=15, unbiased=False):
    s, size, norm = levels, len(v), math.sqrt(math.fsum(v**2))
    if norm == 0:
        return 0 * v
    u = g.random(size)
    rounded = np.zeros(size)
    for i in range(size):
        share = s * abs(v[i]) / norm
        low = math.floor(share)
        up = u[i] >= 1 - (share - low)  # with probability share − low
        rounded[i] = norm * math.copysign(1, v[i]) * (low + up) / s
    omega = min(size / s**2, math.sqrt(size) / s)
    return rounded if unbiased else rounded / (1 + omega)


def sign(v, g):
    return np.abs(v).sum() / len(v) * np.where(v < 0, -1, 1)
