"""Least squares on a stream of Gaussian samples, with population loss and gradient in closed form."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bench.base.randomness import BLOCK, Blocks
from bench.problem import Evaluation, Setting, hosted_share, vector_layout
from datasets.known import Known


class LeastSquares(Known):
    """F(θ) = (Y − Xᵀθ)²,  Y = Xᵀθ* + ε,  X ~ N(0, diag(sd²)),  θ* ~ N(0, I),  x⁰ = 0.

    A stream has no training set: train_loss and gradient norm are those of the population,
    f(θ) = (θ−θ*)ᵀ Σ (θ−θ*) + noise². test_loss is the mean over evaluation samples.
    ``exact``: methods get the population gradient, without noise.
    """

    def __init__(self, setting: Setting, sd: np.ndarray, noise: float, evaluation: int, exact: bool = False) -> None:
        super().__init__(setting)
        self.layout = vector_layout(len(sd))
        self._sd, self._noise = sd, noise
        self._theta = setting.draw_shared("theta", lambda g: g.standard_normal(len(sd)))  # (S, d)
        self._blocks = Blocks(self._draw_block)
        self._target = setting.exact(self._theta)
        self._variance = torch.as_tensor(sd**2, device=setting.device)
        self._evaluation, self._exact = evaluation, exact

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        if self._exact:
            return self.full(x)
        (features, labels), at = self._blocks.at(s, stream)
        a = self.setting.per_replica(features[at])  # (R, k, B, d)
        y = self.setting.per_replica(labels[at])  # (R, k, B, 1)
        residual = torch.matmul(a, x.unsqueeze(-1)) - y
        return torch.matmul(residual.mT, a).squeeze(-2) * (2.0 / self.setting.batch_size)

    def exact(self, x: Tensor) -> Tensor:
        """The population gradient, which is the full gradient of every node."""
        return 2 * self._variance * (x - self._target.unsqueeze(1))

    def evaluate(self, mean: Tensor) -> Evaluation:
        error = mean.double() - self._target
        gradient = 2 * self._variance * error
        loss = (error * gradient).sum(-1) / 2 + self._noise**2
        quadratic, linear, constant = self._test_moments
        along = torch.matmul(quadratic, error.unsqueeze(-1)).squeeze(-1)
        test_loss = ((along - 2 * linear) * error).sum(-1) + constant
        part = hosted_share(self.setting)
        return Evaluation(part * loss, test_loss, None, part * gradient)

    def node_losses(self, x: Tensor) -> Tensor:
        return (self._variance * (x - self._target.unsqueeze(1)).square()).sum(-1) + self._noise**2

    def _draw_block(self, stream: int, block: int) -> tuple[Tensor, Tensor]:
        """Features (BLOCK, S, k, B, d) and labels (BLOCK, S, k, B, 1) of one block."""
        shape = (BLOCK, self.setting.batch_size, len(self._sd) + 1)
        draws = self.setting.draw(f"stream {stream}", lambda g: g.standard_normal(shape), block)
        features, labels = self._samples(draws)
        return (
            self.setting.tensor(np.moveaxis(features, 2, 0)),
            self.setting.tensor(np.moveaxis(labels, 2, 0)[..., None]),
        )

    def _samples(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X and Y from standard normals of shape (S, …, d + 1)."""
        features = draws[..., :-1] * self._sd
        theta = self._theta.reshape(len(self._theta), *[1] * (draws.ndim - 3), -1, 1)
        return features, (features @ theta)[..., 0] + self._noise * draws[..., -1]

    @cached_property
    def _test_moments(self) -> list[Tensor]:
        """A, b and c of the test loss eᵀAe − 2bᵀe + c, e = θ − θ*, over the evaluation samples of the hosted nodes."""

        def moments(g: np.random.Generator) -> np.ndarray:
            draws = g.standard_normal((self._evaluation, len(self._sd) + 1))
            draws *= np.append(self._sd, self._noise)
            return draws.T @ draws / (self._evaluation * self.setting.nodes)

        total = self.setting.exact(self.setting.draw("evaluation", moments).sum(axis=1))
        return [total[:, :-1, :-1], total[:, :-1, -1], total[:, -1, -1]]
