"""Heterogeneous quadratics with a known minimizer, which show the bias of a method."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from bench.base.options import AtLeast, Count, NonNegative
from bench.problem import Column, Evaluation, Setting, dataset, hosted_share, vector_layout
from datasets.known import SUBOPTIMALITY, Noisy

DISTANCES: Mapping[str, Column] = MappingProxyType(
    {
        "minimizer_distance": Column("‖x̄ − x*‖, x* minimizes Σ f_i", False, finish=np.sqrt),
        "weighted_minimizer_distance": Column("‖x̄ − x_r‖, x_r minimizes Σ r_i f_i", None, finish=np.sqrt),
    }
)
"""Extra columns of runs on a network."""


@dataset("quadratics")
class Quadratics(Noisy):
    """f_i(x) = ½ (x − b_i)ᵀ A_i (x − b_i) with eigenvalues of A_i in [1, condition], b_i ~ N(0, spread² I).

    Gradients are exact unless ``noise`` (standard deviation per coordinate) is set; x⁰ = 0.
    There are no samples: test_loss is f.
    On a network, the distances from the minimizers of Σ f_i and Σ r_i f_i are recorded, r_i: gradients per second.
    """

    columns = SUBOPTIMALITY
    network_columns = DISTANCES

    def __init__(
        self,
        setting: Setting,
        dimension: Count = 10,
        condition: Annotated[float, AtLeast(1)] = 10.0,
        spread: float = 1.0,
        noise: NonNegative = 0.0,
    ) -> None:
        scale = noise / np.sqrt(setting.batch_size)
        super().__init__(setting, (lambda g, shape: scale * g.standard_normal(shape)) if noise else None)
        self.layout = vector_layout(dimension)
        everyone = range(setting.nodes)
        a = setting.draw("curvature", lambda g: _curvature(g, dimension, condition), nodes=everyone)
        b = setting.draw("centre", lambda g: spread * g.standard_normal(dimension), nodes=everyone)
        total = a.sum(axis=1), np.einsum("snij,snj->si", a, b)
        minimizer = np.linalg.solve(total[0], total[1][..., None])[..., 0]
        self.minimizer = setting.exact(minimizer)
        if setting.rates is not None:
            self.columns = {**SUBOPTIMALITY, **DISTANCES}
            self.weighted_minimizer = setting.exact(_weighted(a, b, np.array(setting.rates)))
        apart = minimizer[:, None] - b
        self._least = setting.exact(np.einsum("sni,snij,snj->s", apart, a, apart) / (2 * setting.nodes))  # f*
        self._mean64 = setting.exact(total[0] / setting.nodes)
        hosted = slice(setting.hosted.start, setting.hosted.stop)
        self._a64, self._b64 = setting.exact(a[:, hosted]), setting.exact(b[:, hosted])
        self._a, self._b = self._a64.to(setting.dtype), self._b64.to(setting.dtype)

    def exact(self, x: Tensor) -> Tensor:
        return _times(self._a64, x - self._b64)

    def full(self, x: Tensor) -> Tensor:
        """Gradient in the precision of the run."""
        return _times(self._a, x - self._b)

    def evaluate(self, mean: Tensor) -> Evaluation:
        apart = mean.double().unsqueeze(1) - self._b64
        gradients = _times(self._a64, apart)
        loss = (apart * gradients).sum(dim=(1, 2)) / (2 * self.setting.nodes)
        excess = (mean.double() - self.minimizer).unsqueeze(1)
        suboptimality = (excess * _times(self._a64, excess)).sum(dim=(1, 2)) / (2 * self.setting.nodes)
        also = {"suboptimality": suboptimality}  # without cancellation: the gradient of f at the minimizer is zero
        if self.setting.rates is not None:
            part = hosted_share(self.setting)
            for name, point in zip(DISTANCES, (self.minimizer, self.weighted_minimizer), strict=True):
                also[name] = part * (mean.double() - point).square().sum(-1)
        return Evaluation(loss, loss, None, gradients.sum(1) / self.setting.nodes, also)

    def node_losses(self, x: Tensor) -> Tensor:
        apart = x - self.minimizer.unsqueeze(1)
        return (apart * torch.matmul(apart, self._mean64)).sum(-1) / 2 + self._least.unsqueeze(1)


def _weighted(a: np.ndarray, b: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the minimizer of Σ r_i f_i for every seed, (S, P)."""
    weights = rates / rates.max()
    right = np.einsum("n,snij,snj->si", weights, a, b)
    return np.linalg.solve(np.einsum("n,snij->sij", weights, a), right[..., None])[..., 0]


def _curvature(g: np.random.Generator, dimension: int, condition: float) -> np.ndarray:
    q, _ = np.linalg.qr(g.standard_normal((dimension, dimension)))
    return (q * g.uniform(1.0, condition, dimension)) @ q.T


def _times(a: Tensor, x: Tensor) -> Tensor:
    return torch.matmul(a, x.unsqueeze(-1)).squeeze(-1)
