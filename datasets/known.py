"""Base classes of problems with gradients in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from bench.base.randomness import BLOCK, Blocks
from bench.problem import Column, Problem, Setting
from bench.problem.rows import pieces

SUBOPTIMALITY: Mapping[str, Column] = MappingProxyType({"suboptimality": Column("f(x̄) − f*", False)})
"""Extra column of results; a regularizer removes it, since the minimum is then not known."""
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Draws gradient noise of a given shape."""


class Known(Problem):
    """A problem with the gradients of all nodes in closed form.

    All nodes start at ``_x0``, one vector (P,) for each distinct seed, or at zero.
    """

    autograd = False
    _x0: np.ndarray | None = None

    @abstractmethod
    def exact(self, x: Tensor) -> Tensor:
        """∇f_i of the hosted nodes at x, (R, k, P), float64."""

    def start(self) -> Tensor:
        s = self.setting
        if self._x0 is None:
            return torch.zeros(len(s.seeds), len(s.hosted), self.layout.size, dtype=s.dtype, device=s.device)
        return s.exact(self._x0).to(s.dtype).unsqueeze(1).repeat(1, len(s.hosted), 1)

    def full(self, x: Tensor) -> Tensor:
        return self.exact(x.double()).to(x.dtype)

    def node_gradients(self, mean: Tensor) -> Sequence[Tensor]:
        return self._at_mean(mean).unbind(1)

    def mean_gradient(self, mean: Tensor) -> Tensor:
        """The share of this process in ∇f at x̄, (R, P)."""
        return self._at_mean(mean).sum(1) / self.setting.nodes

    def _in_pieces(self, x: Tensor, numbers: int, losses: Callable[[Tensor], Tensor]) -> Tensor:
        """``losses`` of some nodes at a time, (R, k), if it keeps so many numbers per point."""
        size = pieces(x.device, numbers * len(x))
        return torch.cat([losses(part) for part in x.split(size, dim=1)], dim=1)

    def _at_mean(self, mean: Tensor) -> Tensor:
        return self.exact(mean.double().unsqueeze(1).expand(-1, len(self.setting.hosted), -1))


class Noisy(Known):
    """A problem without samples: a mini-batch gradient is the exact gradient plus optional noise."""

    def __init__(self, setting: Setting, noise: Noise | None) -> None:
        super().__init__(setting)
        self._blocks = Blocks(lambda stream, block: self._draw_block(noise, stream, block)) if noise else None

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        if self._blocks is None:
            return self.full(x)
        noise, at = self._blocks.at(s, stream)
        return self.full(x) + self.setting.per_replica(noise[at])

    def _draw_block(self, noise: Noise, stream: int, block: int) -> Tensor:
        """Noise (BLOCK, S, k, P), averaged over the mini-batch."""
        shape = (BLOCK, self.layout.size)
        draws = self.setting.draw(f"stream {stream}", lambda g: noise(g, shape), block)
        return self.setting.tensor(np.moveaxis(draws, 2, 0))
