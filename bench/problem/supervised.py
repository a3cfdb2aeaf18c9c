"""The problem of supervised learning: a dataset, a partition, a model and a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.randomness import Blocks
from bench.base.registry import partitions
from bench.models.model import Model
from bench.problem.arrays import Arrays
from bench.problem.augment import augmented, drawn
from bench.problem.losses import Loss, columns
from bench.problem.problem import Evaluation, Problem, Setting
from bench.problem.rows import (
    at_most,
    fixed,
    hosted_rows,
    measured,
    on_device,
    pieces,
    sliced,
    weights_in_f,
    with_replacement,
    without_replacement,
)

Init = Literal["shared", "independent"]
Sampling = Literal["replacement", "epochs"]
Partition = Callable[..., list[np.ndarray]]
GATHER = 1 << 24
"""Bytes up to which the inputs of a whole block of mini-batches are gathered at once."""


def partition(name: str) -> Callable[[Partition], Partition]:
    """Register a partition. A decorator for a function ``(labels, nodes, generator, **options) -> rows``.

    Args:
        name: The name on the command line, ``partition=NAME``. The function receives the label (or stratum) of each
            of N samples, (N,), the number of nodes and a random generator. It returns one array of row numbers for
            each node; every row belongs to exactly one node. Parameters with a default are options.

    Example:
        >>> @partition("striped")
        ... def striped(labels, nodes, g):
        ...     return [np.arange(i, len(labels), nodes) for i in range(nodes)]
    """
    return partitions.register(name)


class Batches(NamedTuple):
    """The mini-batches of one block of samples."""

    rows: Tensor  # of the training set, (BLOCK, S, k, B)
    shifts: Tensor | None  # flips and offsets of the images; None: no augmentation
    ready: tuple[Tensor, Tensor] | None  # inputs and targets; None: gathered in each step


class Tests(NamedTuple):
    """This process's slice of the evaluation samples, and the number of all samples."""

    x: Tensor
    y: Tensor
    of: int


class Supervised(Problem):
    """A problem whose f_i is the mean loss over the shard of node i.

    Mini-batches are drawn with replacement, or from a new random order of the shard in every epoch.
    """

    autograd = False  # models that use autograd enable it themselves

    def __init__(
        self,
        setting: Setting,
        arrays: Arrays,
        shards: Sequence[Sequence[np.ndarray]],
        model: Model,
        loss: Loss,
        init: Init,
        sampling: Sampling,
        eval_samples: int | None = None,
        held_out: np.ndarray | None = None,
    ) -> None:
        """Create the problem.

        ``shards`` has the rows of each node for every distinct seed. With ``eval_samples``, f and its gradients are
        evaluated on at most so many rows per node. ``held_out`` are the validation rows, which are in no shard.
        """
        super().__init__(setting)
        self.layout, self._model, self._init, self._sampling = model.layout, model, init, sampling
        self._arrays, self._loss = arrays, loss
        self._scores, self.columns = loss.scores(), columns(loss, held_out is not None)
        self.epoch_size = len(arrays.train_y) - (0 if held_out is None else len(held_out))
        self._shards, rows, weights = hosted_rows(setting, shards, len(arrays.train_y))
        self._x, self._y = self._on_device(arrays.train_x, arrays.train_y, rows)
        self._parts = self._shards
        if eval_samples is not None:
            self._parts = at_most(setting, self._shards, eval_samples)
            weights = weights_in_f(setting.nodes, self._parts, len(self._y))
        self._measured = measured(setting, weights)
        self._tests = self._share(arrays.test_x, arrays.test_y, np.arange(len(arrays.test_y)))
        self._held_out = None if held_out is None else self._share(arrays.train_x, arrays.train_y, held_out)
        rows = fixed(np.arange(len(arrays.train_y)) if held_out is None else held_out)
        self._fixed = Tests(*self._on_device(arrays.train_x, arrays.train_y, rows), len(rows))
        self._blocks = Blocks(self._draw_block)

    @property
    def work(self) -> int:
        return self.setting.batch_size * (self._model.floats + 2 * self._x[0].numel())

    def start(self) -> Tensor:
        s, initial = self.setting, self._model.initial
        x = s.draw("init", initial) if self._init == "independent" else s.draw_shared("init", initial)[:, None]
        return s.per_replica(s.tensor(x)).expand(-1, len(s.hosted), -1).contiguous()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        block, at = self._blocks.at(s, stream)
        if block.ready is None:
            by_seed = self._gather(block.rows[at], None if block.shifts is None else block.shifts[at])
        else:
            by_seed = block.ready[0][at], block.ready[1][at]
        inputs, targets = (self.setting.per_replica(part).flatten(0, 1) for part in by_seed)  # (R·k, B, …)
        out, pull = self._model.linearize(x.flatten(0, 1), inputs)
        return pull(self._loss.delta(out, targets, 1 / self.setting.batch_size)).view_as(x)

    def full(self, x: Tensor) -> Tensor:
        shards = [self._shards[self.setting.distinct_seeds.index(seed)] for seed in self.setting.seeds]
        rows = [
            torch.stack([self._node_gradient(point[None], shard) for point, shard in zip(points, mine, strict=True)])
            for points, mine in zip(x, shards, strict=True)
        ]
        return torch.stack(rows).to(x.dtype)

    def evaluate(self, mean: Tensor) -> Evaluation:
        point = mean.to(self.setting.dtype)
        loss = torch.zeros(len(point), dtype=torch.float64, device=point.device)
        total = torch.zeros(point.shape, dtype=torch.float64, device=point.device)
        for part in self._measured:
            x = point[part.replicas]
            for rows, weights in part.pieces(self._piece(len(x))):
                share = self.setting.per_replica(weights) if part.rows is None else weights.expand(len(x), -1)
                raw = self._x[rows]
                losses, gradient = self._weighted(x, raw.expand(len(x), *raw.shape), self._y[rows], share.to(x.dtype))
                loss[part.replicas] += (losses.double() * share).sum(1)
                total[part.replicas] += gradient.double()
        tested = self._test(point, self._tests, "test")
        if self._held_out is not None:
            tested |= self._test(point, self._held_out, "val")
        return Evaluation(loss, tested.pop("test_loss"), tested.pop("test_accuracy", None), total, tested)

    def node_gradients(self, mean: Tensor) -> Iterator[Tensor]:
        point = mean.to(self.setting.dtype)
        keys = [(seed, x.cpu().numpy().tobytes()) for seed, x in zip(self.setting.seeds, point, strict=True)]
        first = {key: keys.index(key) for key in keys}  # replicas of one seed start at one point
        for node in range(len(self.setting.hosted)):
            known = {}
            for (seed, x), r in first.items():
                shard = self._parts[self.setting.distinct_seeds.index(seed)][node]
                known[seed, x] = self._node_gradient(point[r : r + 1], shard)
            yield torch.stack([known[key] for key in keys])

    def node_losses(self, x: Tensor) -> Tensor:
        return self._test(x.to(self.setting.dtype).flatten(0, 1), self._fixed, "node")["node_loss"].view(x.shape[:2])

    def _node_gradient(self, point: Tensor, shard: np.ndarray) -> Tensor:
        """Return ∇f_i at one point, (1, P), from the rows of one shard, in float64."""
        total = torch.zeros(point.shape[1], dtype=torch.float64, device=point.device)
        for piece in np.array_split(shard, -(-len(shard) // self._piece(1))):
            rows = torch.as_tensor(piece, device=point.device)
            weights = point.new_full((1, len(piece)), 1 / len(shard))
            total += self._weighted(point, self._x.index_select(0, rows)[None], self._y[rows], weights)[1][0].double()
        return total

    def _share(self, x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Tests:
        """Return this process's slice of these rows, on which no node trains."""
        hosted, n = self.setting.hosted, self.setting.nodes
        mine = rows[len(rows) * hosted.start // n : len(rows) * hosted.stop // n]
        return Tests(*self._on_device(x, y, sliced(mine)), len(rows))

    def _test(self, point: Tensor, tests: Tests, part: str) -> dict[str, Tensor]:
        """Return the shares of the mean loss and scores on this process's slice."""
        size = self._piece(len(point))
        metrics = {"loss": self._loss.each, **{name: score.each for name, score in self._scores.items()}}
        total = {name: torch.zeros(len(point), dtype=torch.float64, device=point.device) for name in metrics}
        for x, y in zip(tests.x.split(size), tests.y.split(size), strict=True):
            inputs = self._inputs(x).expand(len(point), *[-1] * x.dim())
            out = self._model.forward(self._model.unpack(point), inputs)
            targets = y.expand(len(point), *[-1] * y.dim())
            lost = ~torch.isfinite(out).flatten(1).all(1)
            for name, each in metrics.items():
                total[name] += each(out, targets).double().sum(1)
                if name != "loss":
                    total[name].masked_fill_(lost, torch.nan)  # argmax of NaN is class 0
        return {f"{part}_{name}": value / tests.of for name, value in total.items()}

    def _piece(self, replicas: int) -> int:
        """Return the number of samples to evaluate at once."""
        return max(1, pieces(self.setting.device, self._model.floats * replicas))

    def _weighted(self, x: Tensor, raw: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the losses (R, B) of samples at parameters (R, P), and the gradient of their weighted sums."""
        inputs = self._inputs(raw[0]).expand(raw.shape) if raw.stride(0) == 0 else self._inputs(raw)
        out, pull = self._model.linearize(x, inputs)
        targets = y.expand(len(x), *[-1] * y.dim())
        return self._loss.each(out, targets), pull(self._loss.delta(out, targets, weights))

    def _gather(self, rows: Tensor, shifts: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the inputs of the model and the targets for these rows."""
        # x[rows] takes 6 times as long
        raw = self._x.index_select(0, rows.flatten()).view(*rows.shape, *self._x.shape[1:])
        if shifts is not None and self._arrays.crops is not None:
            raw = augmented(raw, shifts, self._arrays.crops)
        return self._inputs(raw), self._y[rows]

    def _inputs(self, raw: Tensor) -> Tensor:
        if self._arrays.tokens:
            return raw.long()
        x = raw.to(self.setting.dtype)
        return x if (self._arrays.mean, self._arrays.sd) == (0.0, 1.0) else (x - self._arrays.mean) / self._arrays.sd

    def _on_device(self, x: np.ndarray, y: np.ndarray, rows: np.ndarray | slice) -> tuple[Tensor, Tensor]:
        s, tokens, numbers = self.setting, self._arrays.tokens, self._arrays.classes is None
        inputs = on_device(x[rows], s.device, torch.int64 if tokens else s.dtype)
        return inputs, torch.tensor(y[rows], dtype=s.dtype if numbers else torch.int64, device=s.device)

    def _draw_block(self, stream: int, block: int) -> Batches:
        s, pick = self.setting, with_replacement if self._sampling == "replacement" else without_replacement
        rows = [
            [
                shard[pick(seed, node, stream, block, len(shard), s.batch_size)]
                for node, shard in zip(s.hosted, shards, strict=True)
            ]
            for seed, shards in zip(s.distinct_seeds, self._shards, strict=True)
        ]
        picked = s.move(np.moveaxis(np.array(rows), 2, 0))
        shifts = None
        if pixels := self._arrays.crops:
            how = (stream, block, s.batch_size, pixels)
            draws = [[drawn(seed, node, *how) for node in s.hosted] for seed in s.distinct_seeds]
            shifts = s.move(np.moveaxis(np.array(draws), 2, 0))
        size = picked.numel() * (self._x[0].numel() + self._y[0].numel()) * s.dtype.itemsize
        return Batches(picked, shifts, self._gather(picked, shifts) if size <= GATHER else None)
