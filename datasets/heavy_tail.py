"""Least squares with gradient noise of infinite variance: where clipped and normalised steps are said to be needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from bench.base.options import AtLeast, Count, NonNegative
from bench.base.randomness import BLOCK, EVERYONE, Blocks
from bench.problem import Evaluation, Problem, Setting, dataset, hosted_share, vector_layout
from datasets.known import EXCESS


@dataset("heavy_tail")
class HeavyTail(Problem):
    """f_i(x) = ½ (x − θ_i)ᵀ Σ (x − θ_i), Σ diagonal, 1 … ``condition``, θ_i ~ N(θ, spread² I), θ ~ N(0, I), x⁰ = 0.

    Every entry of a gradient has noise of its own, symmetric and stable: E exp(itZ) = exp(−|noise·t|^tail), so moments
    from ``tail`` on are infinite, and with tail = 2 it is Gaussian of variance 2 noise². The mean of B of them is such
    a draw times B^(1/tail − 1). There are no samples: test_loss is f as well.
    """

    autograd = False
    columns = EXCESS

    def __init__(
        self,
        setting: Setting,
        dimension: Count = 20,
        tail: Annotated[float, AtLeast(1, strict=True, most=2)] = 1.5,
        noise: NonNegative = 1.0,
        condition: Annotated[float, AtLeast(1)] = 10.0,
        spread: NonNegative = 1.0,
    ) -> None:
        super().__init__(setting)
        self.layout = vector_layout(dimension)
        self._tail, self._noise = tail, noise * setting.batch_size ** (1 / tail - 1)
        shared = setting.draw("theta", lambda g: g.standard_normal(dimension), nodes=range(EVERYONE, EVERYONE + 1))
        everyone = range(setting.nodes)
        theta = shared + spread * setting.draw("centre", lambda g: g.standard_normal(dimension), nodes=everyone)
        self._sigma = torch.as_tensor(np.geomspace(1.0, condition, dimension), device=setting.device)
        each = setting.per_replica(torch.as_tensor(theta, device=setting.device))  # (R, n, d)
        self.minimiser = each.mean(1)
        self.least = self._half_squares(each - self.minimiser.unsqueeze(1)).mean(1)  # f*, (R,)
        self._theta = each[:, setting.hosted.start : setting.hosted.stop]
        self._blocks = Blocks(self._draw_block)

    def start(self) -> Tensor:
        return torch.zeros_like(self._theta, dtype=self.setting.dtype)

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        exact = self.full(x)
        if not self._noise:
            return exact
        noise, at = self._blocks.at(s, stream)
        return exact + self.setting.per_replica(noise[at])

    def full(self, x: Tensor) -> Tensor:
        return (self._sigma * (x.double() - self._theta)).to(x.dtype)

    def evaluate(self, mean: Tensor) -> Evaluation:
        point = mean.double()
        excess = hosted_share(self.setting) * self._half_squares(point - self.minimiser)  # without any cancellation
        loss = excess + hosted_share(self.setting) * self.least
        gradient = hosted_share(self.setting) * self._sigma * (point - self.minimiser)
        return Evaluation(loss, loss, None, gradient, {"excess": excess})

    def node_gradients(self, mean: Tensor) -> Sequence[Tensor]:
        return (self._sigma * (mean.double().unsqueeze(1) - self._theta)).unbind(1)

    def _half_squares(self, apart: Tensor) -> Tensor:
        return (self._sigma * apart.square()).sum(-1) / 2

    def _draw_block(self, stream: int, block: int) -> Tensor:
        """Noise (BLOCK, S, k, d) of a mini-batch."""
        shape = (BLOCK, self.layout.size)
        draws = self.setting.draw(f"stream {stream}", lambda g: self._noise * stable(g, self._tail, shape), block)
        return self.setting.tensor(np.moveaxis(draws, 2, 0))


def stable(g: np.random.Generator, tail: float, shape: tuple[int, ...]) -> np.ndarray:
    """Symmetric stable draws with E exp(itZ) = exp(−|t|^tail), as Chambers, Mallows and Stuck (1976) make them."""
    angle = np.pi * (g.random(shape) - 0.5)
    waiting = g.standard_exponential(shape)
    turned = np.cos((1 - tail) * angle)
    return np.sin(tail * angle) / np.cos(angle) ** (1 / tail) * (waiting / turned) ** (1 - 1 / tail)
