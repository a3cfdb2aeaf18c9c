"""Phase retrieval: recover a vector from squares of its projections. f is not L-smooth."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Count, NonNegative
from bench.base.randomness import BLOCK, Blocks
from bench.problem import Evaluation, Setting, dataset, hosted_share, vector_layout
from datasets.known import SUBOPTIMALITY, Known


@dataset("phase_retrieval")
class PhaseRetrieval(Known):
    """f_i(x) = mean over node i's samples of ((aᵀx)² − y)²/4, y = (aᵀx*)² + noise·ε, a ~ N(0, I), ε ~ N(0, 1).

    f is (L₀, L₁)-smooth and not convex: 0 is a stationary point, x* and −x* are the minimizers. Without noise f* = 0;
    with noise, f(x*) replaces f*, and only a fit to the noise is lower. x* and x⁰ have length 1 and are equal for all
    nodes. test_loss is the mean over new samples of every node.
    """

    columns = SUBOPTIMALITY

    def __init__(
        self,
        setting: Setting,
        dimension: Count = 20,
        samples: Count = 200,
        noise: NonNegative = 0.0,
        evaluation: Count = 1000,
    ) -> None:
        super().__init__(setting)
        self.layout = vector_layout(dimension)
        self._noise, self._samples = noise, samples
        self._planted = setting.draw_shared("theta", lambda g: _unit(g, dimension))
        self._x0 = setting.draw_shared("init", lambda g: _unit(g, dimension))
        self.minimizer = setting.exact(self._planted)
        self._data = self._drawn("samples", samples)
        self._tests = self._drawn("evaluation", evaluation)
        self._blocks = Blocks(self._draw_block)
        self._least = self._mean(self.minimizer, self._data)

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        (a, y), at = self._blocks.at(s, stream)
        return _gradient(x, self.setting.per_replica(a[at]), self.setting.per_replica(y[at]))

    def exact(self, x: Tensor) -> Tensor:
        return _gradient(x, *map(self.setting.exact, self._data))

    def evaluate(self, mean: Tensor) -> Evaluation:
        loss = self._mean(mean.double(), self._data)
        test = self._mean(mean.double(), self._tests)
        return Evaluation(loss, test, None, self.mean_gradient(mean), {"suboptimality": loss - self._least})

    def node_losses(self, x: Tensor) -> Tensor:
        a, y = (self.setting.exact(part).flatten(1, 2) for part in self._everywhere)  # (R, n·N, …)

        def losses(some: Tensor) -> Tensor:
            seen = torch.matmul(some, a.mT)
            return (seen.square() - y.unsqueeze(1)).square().mean(-1) / 4

        return self._in_pieces(x, y.shape[1], losses)

    @cached_property
    def _everywhere(self) -> tuple[np.ndarray, np.ndarray]:
        """The samples of all nodes."""
        s = self.setting
        return self._data if len(s.hosted) == s.nodes else self._drawn("samples", self._samples, range(s.nodes))

    def _mean(self, point: Tensor, data: tuple[np.ndarray, np.ndarray]) -> Tensor:
        """The share of this process in the mean loss at (R, P), (R,)."""
        a, y = map(self.setting.exact, data)
        seen = torch.matmul(a, point[:, None, :, None]).squeeze(-1)
        return (seen.square() - y).square().mean((1, 2)) / 4 * hosted_share(self.setting)

    def _drawn(self, purpose: str, count: int, nodes: range | None = None) -> tuple[np.ndarray, np.ndarray]:
        """a (S, k, N, d) and y (S, k, N) of these nodes, by default the hosted ones."""
        d = self.layout.size
        draws = self.setting.draw(purpose, lambda g: g.standard_normal((count, d + 1)), nodes=nodes)
        seen = np.einsum("sknd,sd->skn", draws[..., :d], self._planted)
        return draws[..., :d], seen**2 + self._noise * draws[..., d]

    def _draw_block(self, stream: int, block: int) -> tuple[Tensor, Tensor]:
        """Samples (BLOCK, S, k, B, …), drawn with replacement from the samples of the node."""
        shape = (BLOCK, self.setting.batch_size)
        draws = self.setting.draw(f"batch {stream}", lambda g: g.integers(self._samples, size=shape), block)
        seeds, nodes = np.ogrid[: draws.shape[0], : draws.shape[1]]
        a, y = (part[seeds[..., None, None], nodes[..., None, None], draws] for part in self._data)
        return self.setting.tensor(np.moveaxis(a, 2, 0)), self.setting.tensor(np.moveaxis(y, 2, 0))


def _gradient(x: Tensor, a: Tensor, y: Tensor) -> Tensor:
    """Mean of ((aᵀx)² − y) aᵀx a over the samples, at x (R, k, d)."""
    seen = torch.matmul(a, x.unsqueeze(-1)).squeeze(-1)
    weights = (seen.square() - y) * seen / y.shape[-1]
    return torch.matmul(weights.unsqueeze(-2), a).squeeze(-2)


def _unit(g: np.random.Generator, dimension: int) -> np.ndarray:
    direction = g.standard_normal(dimension)
    return direction / np.linalg.norm(direction)
