"""Where linear methods stop that are biased by what the nodes differ in: the systems that their fixed points solve.

With gradients A X − c, each node its own A: a constant stepsize, and X⁺ = X.
"""

from __future__ import annotations

import numpy as np
import torch

from datasets.quadratics import Quadratics


class Bias:
    """Of some problems at once, (problems, n, P)."""

    def __init__(self, f: Quadratics) -> None:
        zero = f.start()
        problems, n, size = zero.shape
        at_zero = f.full(zero)
        columns = [f.full(zero + unit) - at_zero for unit in torch.eye(size, dtype=zero.dtype)]
        own = torch.stack(columns, dim=-1).numpy()  # (problems, n, P, P)
        self.A = np.einsum("snij,nm->snimj", own, np.eye(n)).reshape(problems, n * size, n * size)
        self.c = -at_zero.numpy().reshape(problems, n * size, 1)
        self.shape, self.I = (problems, n, size), np.eye(n * size)

    def large(self, w: np.ndarray) -> np.ndarray:
        """W for all coordinates."""
        return np.kron(w, np.eye(self.shape[2]))

    def _solved(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.linalg.solve(left, right).reshape(self.shape)

    def adapt_then_combine(self, w: np.ndarray, eta: float) -> np.ndarray:
        """X = W (X − η (A X − c))"""
        W = self.large(w)
        return self._solved(self.I - W + eta * W @ self.A, eta * W @ self.c)

    def combine_while_adapting(self, w: np.ndarray, eta: float) -> np.ndarray:
        """X = W X − η (A X − c)"""
        return self._solved(self.I - self.large(w) + eta * self.A, eta * self.c)

    def combine_then_adapt(self, w: np.ndarray, eta: float) -> np.ndarray:
        """X = W X − η (A W X − c)"""
        W = self.large(w)
        return self._solved(self.I - W + eta * self.A @ W, eta * self.c)

    def averaged(self, w: np.ndarray, eta: float, alpha: float) -> np.ndarray:
        """X = W (X − α η Z) with Z = W ((1−α) Z + α (A X − c))"""
        W = self.large(w)
        step = alpha * eta * W @ np.linalg.solve(self.I - (1 - alpha) * W, alpha * W)
        return self._solved(self.I - W + step @ self.A, step @ self.c)

    def pushed(self, p: np.ndarray, eta: float) -> np.ndarray:
        """w X = P (w X − η (A X − c)) with P w = w, whose sum is n"""
        values, vectors = np.linalg.eig(p)
        w = vectors[:, np.argmax(values.real)].real
        D, P = self.large(np.diag(w / w.mean())), self.large(p)
        return self._solved(D - P @ D + eta * P @ self.A, eta * P @ self.c)
