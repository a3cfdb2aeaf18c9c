"""Least squares with gradient noise of infinite variance, for methods with clipped or normalized steps."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from bench.base.options import AtLeast, Count, NonNegative
from bench.problem import Evaluation, Setting, dataset, hosted_share, vector_layout
from datasets.known import SUBOPTIMALITY, Noisy


@dataset("heavy_tail")
class HeavyTail(Noisy):
    """f_i(x) = ½ (x − θ_i)ᵀ Σ (x − θ_i), Σ diagonal, 1 … ``condition``, θ_i ~ N(θ, spread² I), θ ~ N(0, I), x⁰ = 0.

    Every entry of a gradient has independent symmetric stable noise: E exp(itZ) = exp(−|noise·t|^tail). Its moments are
    infinite from order ``tail`` on; with tail = 2 it is Gaussian with variance 2 noise². The mean of B draws has the
    law of one draw times B^(1/tail − 1). There are no samples: test_loss is f.
    """

    columns = SUBOPTIMALITY

    def __init__(
        self,
        setting: Setting,
        dimension: Count = 20,
        tail: Annotated[float, AtLeast(1, strict=True, most=2)] = 1.5,
        noise: NonNegative = 1.0,
        condition: Annotated[float, AtLeast(1)] = 10.0,
        spread: NonNegative = 1.0,
    ) -> None:
        scale = noise * setting.batch_size ** (1 / tail - 1)
        super().__init__(setting, (lambda g, shape: scale * stable(g, tail, shape)) if noise else None)
        self.layout = vector_layout(dimension)
        shared = setting.draw_shared("theta", lambda g: g.standard_normal(dimension))[:, None]
        everyone = range(setting.nodes)
        theta = shared + spread * setting.draw("centre", lambda g: g.standard_normal(dimension), nodes=everyone)
        self._sigma = torch.as_tensor(np.geomspace(1.0, condition, dimension), device=setting.device)
        each = setting.exact(theta)  # (R, n, d)
        self.minimizer = each.mean(1)
        self.least = self._half_squares(each - self.minimizer.unsqueeze(1)).mean(1)  # f*, (R,)
        self._theta = each[:, setting.hosted.start : setting.hosted.stop]

    def exact(self, x: Tensor) -> Tensor:
        return self._sigma * (x - self._theta)

    def evaluate(self, mean: Tensor) -> Evaluation:
        apart, part = mean.double() - self.minimizer, hosted_share(self.setting)
        suboptimality = part * self._half_squares(apart)  # without cancellation
        loss = suboptimality + part * self.least
        return Evaluation(loss, loss, None, part * self._sigma * apart, {"suboptimality": suboptimality})

    def node_losses(self, x: Tensor) -> Tensor:
        return self._half_squares(x - self.minimizer.unsqueeze(1)) + self.least.unsqueeze(1)

    def _half_squares(self, apart: Tensor) -> Tensor:
        return (self._sigma * apart.square()).sum(-1) / 2


def stable(g: np.random.Generator, tail: float, shape: tuple[int, ...]) -> np.ndarray:
    """Symmetric stable draws with E exp(itZ) = exp(−|t|^tail), by the method of Chambers, Mallows and Stuck (1976)."""
    angle = np.pi * (g.random(shape) - 0.5)
    waiting = g.standard_exponential(shape)
    turned = np.cos((1 - tail) * angle)
    return np.sin(tail * angle) / np.cos(angle) ** (1 / tail) * (waiting / turned) ** (1 - 1 / tail)
