"""Low-rank matrix completion, with saddle points and a known optimum."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.options import Count, NonNegative, Part, Positive
from bench.base.randomness import BLOCK, Blocks
from bench.problem import Evaluation, Setting, dataset, hosted_share
from datasets.known import SUBOPTIMALITY, Known


@dataset("factorisation")
class Factorization(Known):
    """f_i(U, V) = mean over the entries that node i observes of ½ ((UVᵀ)_jl − Y_jl)², Y = M + noise·ε, M = U*V*ᵀ.

    M has entries of variance 1, and U and V have rank(M) columns. The nodes together observe a fraction ``observed`` of
    the entries, each node the same number: consecutive entries, row by row, or random ones. Without noise f* = 0; with
    noise, f(U*, V*) replaces f*. U⁰ and V⁰ are normal with standard deviation ``start``, equal for all nodes. test_loss
    is the mean over all entries of M.
    """

    columns = SUBOPTIMALITY

    def __init__(
        self,
        setting: Setting,
        rows: Count = 40,
        columns: Count = 30,
        rank: Count = 3,
        observed: Part = 0.5,
        noise: NonNegative = 0.0,
        start: Positive = 0.1,
        divided: Literal["rows", "entries"] = "rows",
    ) -> None:
        super().__init__(setting)
        self.layout = Layout({"U": (rows, rank), "V": (columns, rank)})
        self._shape, self._rank, self._divided = (rows, columns), rank, divided
        self._count = int(observed * rows * columns) // setting.nodes  # entries of a node
        if self._count < 1:
            raise UserError(
                f"dataset.observed={observed:g} of {rows}×{columns} entries is less than one entry for each of "
                f"{setting.nodes} nodes."
            )
        planted = setting.draw_shared("theta", lambda g: rank**-0.25 * g.standard_normal(self.layout.size))
        self._x0 = setting.draw_shared("init", lambda g: start * g.standard_normal(self.layout.size))
        self.minimizer = setting.exact(planted)  # one of many
        self._matrix = self._product(self.minimizer)  # M, (R, m, l)
        errors = setting.draw_shared("errors", lambda g: g.standard_normal(self._shape))
        self._values = self._matrix + noise * setting.exact(errors)  # Y
        places = setting.draw_shared("observed", self._divide)  # (S, n, N)
        self._everywhere = self._weights(setting.exact(places.reshape(len(places), 1, -1)), torch.float64)
        self._places = places[:, list(setting.hosted)]  # (S, k, N)
        self._held = self._weights(setting.exact(self._places), torch.float64)
        self._fast = self._values.to(setting.dtype)
        self._blocks = Blocks(self._draw_block)
        self._least = self._loss(self.minimizer)

    @property
    def work(self) -> int:
        return 4 * self._shape[0] * self._shape[1]

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        places, at = self._blocks.at(s, stream)
        return self._gradient(x, self._weights(self.setting.per_replica(places[at]), x.dtype), self._fast)

    def exact(self, x: Tensor) -> Tensor:
        return self._gradient(x, self._held, self._values)

    def evaluate(self, mean: Tensor) -> Evaluation:
        point = mean.double()
        loss, part = self._loss(point), hosted_share(self.setting)
        test = part * (self._product(point) - self._matrix).square().mean((1, 2)) / 2
        return Evaluation(loss, test, None, self.mean_gradient(mean), {"suboptimality": loss - self._least})

    def node_losses(self, x: Tensor) -> Tensor:
        values = self._values.unsqueeze(1)

        def losses(some: Tensor) -> Tensor:
            return (self._everywhere * (self._product(some) - values).square()).sum((2, 3)) / 2

        return self._in_pieces(x, self._shape[0] * self._shape[1], losses)

    def _loss(self, point: Tensor) -> Tensor:
        """The share of this process in f at (R, P), (R,)."""
        squares = (self._product(point) - self._values).square().unsqueeze(1)
        return (self._held * squares).sum((1, 2, 3)) / (2 * self.setting.nodes)

    def _gradient(self, x: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """Gradient of ½ Σ weights (UVᵀ − values)² at x (R, k, P), with weights (R, k, m, l)."""
        u, v = self._factors(x)
        residual = weights * (torch.matmul(u, v.mT) - values.unsqueeze(1))
        return torch.cat([torch.matmul(residual, v).flatten(2), torch.matmul(residual.mT, u).flatten(2)], dim=-1)

    def _factors(self, x: Tensor) -> list[Tensor]:
        return [part.unflatten(-1, (-1, self._rank)) for part in x.split(self.layout.sizes, dim=-1)]

    def _product(self, point: Tensor) -> Tensor:
        u, v = self._factors(point)
        return torch.matmul(u, v.mT)

    def _weights(self, places: Tensor, dtype: torch.dtype) -> Tensor:
        """Frequency of each entry among these places (R, k, B), divided by B: (R, k, m, l)."""
        one = torch.full((), 1 / places.shape[-1], dtype=dtype, device=places.device)
        none = one.new_zeros(*places.shape[:2], self._shape[0] * self._shape[1])
        return none.scatter_add_(2, places, one.expand(places.shape)).unflatten(2, self._shape)

    def _divide(self, g: np.random.Generator) -> np.ndarray:
        """The entries of each node, (n, N), as indices into the flattened matrix."""
        some = g.permutation(self._shape[0] * self._shape[1])[: self._count * self.setting.nodes]
        return (np.sort(some) if self._divided == "rows" else some).reshape(self.setting.nodes, -1)

    def _draw_block(self, stream: int, block: int) -> Tensor:
        """Entries (BLOCK, S, k, B) of mini-batches, drawn with replacement from the entries of the node."""
        shape = (BLOCK, self.setting.batch_size)
        draws = self.setting.draw(f"batch {stream}", lambda g: g.integers(self._count, size=shape), block)
        taken = np.take_along_axis(self._places[:, :, None], draws, axis=-1)
        return self.setting.move(np.moveaxis(taken, 2, 0))
