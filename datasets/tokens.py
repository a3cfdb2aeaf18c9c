"""Robust regression on binary tokens with gradient noise of infinite variance, the test problem of GT-NSGDm."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.options import AtLeast, NonNegative
from bench.problem import Column, Evaluation, Setting, dataset, vector_layout
from datasets.known import Noisy

SAMPLES, C = 1000, 4.6851
"""Number of samples, and the residual beyond which Tukey's biweight is constant."""
FREQUENCIES = ((0.9, 2), (0.5, 2), (0.1, 16))
"""Probability of a token, and how many tokens have it."""
SKEW = 0.5
"""β of the stable noise."""


@dataset("tokens")
class Tokens(Noisy):
    """f_i(x) = mean over node i's samples of ℓ(aᵀx − aᵀw), ℓ(r) = c²/6 (1 − (1 − r²/c²)³) up to |r| = c, then constant.

    The tokens a and the minimizer w, with f* = 0, are the same for all seeds, those of the paper. Nodes hold contiguous
    samples in equal numbers (50 on the 20 nodes of the paper). A gradient is that of all samples of the node plus
    independent noise in every entry: Student's t with ``tail`` degrees of freedom, or stable with index ``tail`` and
    skewness 0.5. Its moments are infinite from order ``tail`` on. x⁰ = 0; test_loss is f.
    """

    columns: Mapping[str, Column] = MappingProxyType({"distance": Column("‖x̄ − w‖", False, finish=np.sqrt)})

    def __init__(
        self,
        setting: Setting,
        noise: Literal["student", "stable"] = "student",
        tail: Annotated[float, AtLeast(1, strict=True, most=2)] = 1.5,
        size: NonNegative = 1.0,
    ) -> None:
        if SAMPLES % setting.nodes:
            raise UserError(
                f"dataset=tokens needs a number of nodes that divides {SAMPLES}; got nodes={setting.nodes}."
            )
        draws = {
            "student": lambda g, shape: g.standard_t(tail, shape),
            "stable": lambda g, shape: skewed(g, tail, shape),
        }

        def mean_noise(g: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
            return size * draws[noise](g, (setting.batch_size, *shape)).mean(axis=0)

        super().__init__(setting, mean_noise if size else None)
        tokens, w = drawn()
        self.layout = vector_layout(len(w))
        self.minimizer = torch.as_tensor(w, device=setting.device).expand(len(setting.seeds), -1)
        each = SAMPLES // setting.nodes
        rows = tokens[setting.hosted.start * each : setting.hosted.stop * each].reshape(-1, each, len(w))
        self._a = torch.as_tensor(rows, device=setting.device)  # (k, N, d)
        self._y = self._a @ self.minimizer[0]
        self._all = torch.as_tensor(tokens, device=setting.device)

    def exact(self, x: Tensor) -> Tensor:
        r = self._residuals(x)
        inside = (1 - (r / C).square()).clamp_min(0)
        return torch.einsum("rkn,knd->rkd", r * inside.square(), self._a) / self._a.shape[1]

    def evaluate(self, mean: Tensor) -> Evaluation:
        point = mean.double()
        loss = _biweight(self._residuals(point.unsqueeze(1))).sum((1, 2)) / SAMPLES
        part = len(self.setting.hosted) / self.setting.nodes
        distance = part * (point - self.minimizer).square().sum(-1)
        return Evaluation(loss, loss, None, self.mean_gradient(mean), {"distance": distance})

    def node_losses(self, x: Tensor) -> Tensor:
        apart = x - self.minimizer.unsqueeze(1)
        return self._in_pieces(apart, SAMPLES, lambda part: _biweight(part @ self._all.T).mean(-1))

    def _residuals(self, x: Tensor) -> Tensor:
        """aᵀx − y of the hosted samples at points (R, k or 1, d), (R, k, N)."""
        return torch.matmul(self._a, x.unsqueeze(-1)).squeeze(-1) - self._y


def _biweight(r: Tensor) -> Tensor:
    """ℓ(r), Tukey's biweight."""
    inside = (1 - (r / C).square()).clamp_min(0)
    return C**2 / 6 * (1 - inside**3)


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens (1000, 20) and w (20,) of the paper's code, from numpy's legacy generator with seed 42."""
    g = np.random.RandomState(42)
    tokens = np.hstack([g.binomial(1, p, (SAMPLES, count)) for p, count in FREQUENCIES])
    return tokens.astype(np.float64), g.normal(0, 1, (tokens.shape[1],))


def skewed(g: np.random.Generator, tail: float, shape: tuple[int, ...]) -> np.ndarray:
    """Stable draws with mean 0, scale 1 and skewness SKEW, by the method of Chambers, Mallows and Stuck (1976)."""
    slope = SKEW * np.tan(np.pi * tail / 2)
    angle, waiting = np.pi * (g.random(shape) - 0.5), g.standard_exponential(shape)
    turned = tail * (angle + np.arctan(slope) / tail)
    size = (1 + slope**2) ** (1 / (2 * tail))
    return size * np.sin(turned) / np.cos(angle) ** (1 / tail) * (np.cos(angle - turned) / waiting) ** (1 / tail - 1)
