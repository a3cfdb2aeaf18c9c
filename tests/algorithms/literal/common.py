"""What the literal rules share: letters, stepsizes, and the few operators that papers name."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from bench.base.layout import Layout

Gradients = Callable[..., np.ndarray]
"""G(X, s, stream=0): row i is node i's gradient at X[i] on its sample number s."""
Rule = Callable[[np.ndarray, np.ndarray, Gradients, str, int, dict], list[np.ndarray]]
"""From X⁰, W, G, the kind of schedule, T and the options: X after 0, 1, …, T steps."""

LAYOUT = Layout({"weight": (2, 2), "bias": (1,)})
"""Five parameters in two tensors, of which one is a matrix."""
PARTS = [slice(0, 4), slice(4, 5)]


def root(kind: str, n: int, t: int, T: int) -> float:
    """√(n/t), √(n/T) or 1; 0 at t = 0 of a diminishing schedule."""
    if kind == "diminishing":
        return math.sqrt(n / t) if t > 0 else 0.0
    return math.sqrt(n / T) if kind == "fixed" else 1.0


def norm(z: np.ndarray) -> float:
    """Of one node's vector."""
    return math.sqrt(z @ z)


def unit(z: np.ndarray) -> np.ndarray:
    """z/‖z‖ of one node; 0 at 0."""
    length = norm(z)
    return z / length if length > 0 else z


def units(Z: np.ndarray) -> np.ndarray:
    """Of every node by itself."""
    return np.stack([unit(z) for z in Z])


def lazy(W: np.ndarray) -> np.ndarray:
    return (np.eye(len(W)) + W) / 2


def eigenvalues(W: np.ndarray) -> np.ndarray:
    """Of a symmetric W, the smallest first, without the 1 that belongs to agreement."""
    return np.linalg.eigvalsh(W)[:-1]


def omega(rho: float) -> float:
    gap = math.sqrt(1 - rho**2)
    return (1 - gap) / (1 + gap)


def fast_gossip(W: np.ndarray, R: int) -> Callable[[np.ndarray], np.ndarray]:
    """A₋₁ = A₀ = A, A_{r+1} = (1+ω) W A_r − ω A_{r−1}: from A to A_R; ω of ρ = max(|λ₂|, |λ_n|)."""
    w = omega(max(abs(eigenvalues(W)), default=0.0))

    def FG(A: np.ndarray) -> np.ndarray:
        before = A
        for _ in range(R):
            A, before = (1 + w) * (W @ A) - w * before, A
        return A

    return FG


def momentum_of_theory(W: np.ndarray) -> tuple[float, float]:
    """ω̃ = (1+ω)/2 with ω of λ₂((I+W)/2), and β = 1 − n^(−1/3) (1 − √ω̃)."""
    second = (1 + max(eigenvalues(W), default=0.0)) / 2
    w = (1 + omega(second)) / 2
    return w, 1 - len(W) ** (-1 / 3) * (1 - math.sqrt(w))


def mean_gradient(G: Gradients, X: np.ndarray, samples: range) -> np.ndarray:
    return sum(G(X, s) for s in samples) / len(samples)


def first_estimate(G: Gradients, X: np.ndarray, b0: int) -> np.ndarray:
    """The mean of b₀ gradients: sample 0 of the samples, and b₀ − 1 of the second sequence."""
    return (G(X, 0) + sum(G(X, s, 1) for s in range(b0 - 1))) / b0
