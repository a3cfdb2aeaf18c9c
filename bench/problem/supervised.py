"""Classification on finite data: a dataset, a partition and a model make a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.randomness import EVERYONE, Blocks, generator
from bench.base.registry import partitions
from bench.models.model import Model
from bench.problem.arrays import Arrays
from bench.problem.problem import Evaluation, Problem, Setting
from bench.problem.sampling import with_replacement, without_replacement

__all__ = ["Arrays", "Init", "Partition", "Sampling", "Supervised", "partition"]

Init = Literal["shared", "independent"]
Sampling = Literal["replacement", "epochs"]
Partition = Callable[..., list[np.ndarray]]
GATHER = 1 << 24
"""Bytes of inputs that are gathered a block at a time; larger ones are gathered step by step."""


def partition(name: str) -> Callable[[Partition], Partition]:
    """Register a partition: from labels, nodes and a generator to one index array per node."""
    return partitions.register(name)


@dataclass(frozen=True)
class Batches:
    """The mini-batches of one block of samples."""

    rows: Tensor  # of the training set, (BLOCK, S, k, B)
    labels: Tensor
    inputs: Tensor | None  # ready for the model, where they are small enough to be kept


class Tests(NamedTuple):
    """This process's slice of samples to test on, of so many in all."""

    x: Tensor
    y: Tensor
    of: int


class Supervised(Problem):
    """f_i is the mean cross-entropy over node i's shard.

    Mini-batches are drawn with replacement, or run through the shard in a new order every epoch.
    """

    def __init__(
        self,
        setting: Setting,
        arrays: Arrays,
        shards: Sequence[Sequence[np.ndarray]],
        model: Model,
        init: Init,
        sampling: Sampling,
        eval_samples: int | None = None,
        held_out: np.ndarray | None = None,
    ) -> None:
        """``shards`` holds, for every distinct seed, the rows of each node.

        With ``eval_samples``, f and its gradients are measured on at most so many rows of a node, always the same.
        ``held_out`` are rows of no shard, which settings are chosen by.
        """
        super().__init__(setting)
        self.layout, self._model, self._init, self._sampling = model.layout, model, init, sampling
        self.autograd = type(model).linearise is Model.linearise
        self._one_hot = torch.eye(arrays.classes, dtype=setting.dtype, device=setting.device)
        self._arrays = arrays
        self.epoch_size = len(arrays.train_y) - (0 if held_out is None else len(held_out))
        self._shards, rows, self._weights = self._hosted(shards)
        self._x, self._y = self._on_device(arrays.train_x, arrays.train_y, rows)
        self._parts, self._measured = self._shards, (self._x, self._y, self._weights)
        if eval_samples is not None:
            self._parts = self._some(eval_samples)
            self._measured = self._gathered(self._parts)
        self._tests = self._share(arrays.test_x, arrays.test_y, np.arange(len(arrays.test_y)))
        self._held_out = None if held_out is None else self._share(arrays.train_x, arrays.train_y, held_out)
        self._blocks = Blocks(self._draw_block)

    @property
    def work(self) -> int:
        return self.setting.batch_size * (self._model.floats + 2 * self._x[0].numel())

    def start(self) -> Tensor:
        s = self.setting
        if self._init == "independent":
            x = s.draw("init", self._model.initial)
        else:
            x = s.draw("init", self._model.initial, nodes=range(EVERYONE, EVERYONE + 1))
        return s.per_replica(s.tensor(x)).expand(-1, len(s.hosted), -1).contiguous()

    def grad(self, x: Tensor, s: int, stream: int = 0) -> Tensor:
        block, at = self._blocks.at(s, stream)
        by_seed = self._inputs(self._x[block.rows[at]]) if block.inputs is None else block.inputs[at]
        inputs = self.setting.per_replica(by_seed)  # (R, k, B, …)
        labels = self.setting.per_replica(block.labels[at])
        logits, pull = self._model.linearise(x.flatten(0, 1), inputs.flatten(0, 1))
        return pull(self._delta(logits, labels.flatten(0, 1), 1 / labels.shape[-1])).view_as(x)

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
        size = self._piece(len(point))
        x, labels, shares = self._measured
        for raw, y, weights in zip(x.split(size), labels.split(size), shares.split(size, dim=1), strict=True):
            share = self.setting.per_replica(weights)
            losses, gradient = self._weighted(point, raw.expand(len(point), *raw.shape), y, share.to(point.dtype))
            loss += (losses.double() * share).sum(1)
            total += gradient.double()
        test_loss, correct = self._test(point, self._tests)
        return Evaluation(loss, test_loss, correct, total)

    def also(self, mean: Tensor) -> dict[str, Tensor]:
        """The loss and accuracy on what was held out."""
        if self._held_out is None:
            return {}
        loss, correct = self._test(mean.to(self.setting.dtype), self._held_out)
        return {"val_loss": loss, "val_accuracy": 100 * correct}

    def node_gradients(self, mean: Tensor) -> Iterator[Tensor]:
        point = mean.to(self.setting.dtype)
        keys = [(seed, x.cpu().numpy().tobytes()) for seed, x in zip(self.setting.seeds, point, strict=True)]
        first = {key: keys.index(key) for key in keys}  # at the start, replicas of one seed are at one point
        for node in range(len(self.setting.hosted)):
            known = {}
            for (seed, x), r in first.items():
                shard = self._parts[self.setting.distinct_seeds.index(seed)][node]
                known[seed, x] = self._node_gradient(point[r : r + 1], shard)
            yield torch.stack([known[key] for key in keys])

    def _some(self, most: int) -> list[list[np.ndarray]]:
        """At most so many rows of every hosted node's shard, for each seed."""
        s = self.setting
        return [
            [
                shard[generator(seed, node, "evaluation").permutation(len(shard))[:most]]
                for node, shard in zip(s.hosted, shards, strict=True)
            ]
            for seed, shards in zip(s.distinct_seeds, self._shards, strict=True)
        ]

    def _gathered(self, parts: Sequence[Sequence[np.ndarray]]) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs and labels of the rows of these parts, and their weights in f for each seed."""
        weights = np.zeros((len(parts), len(self._y)))
        for row, of_seed in zip(weights, parts, strict=True):
            for part in of_seed:
                row[part] = 1 / (self.setting.nodes * len(part))
        rows = np.flatnonzero(weights.any(axis=0))
        places, device = torch.as_tensor(rows, device=self.setting.device), self.setting.device
        return self._x[places], self._y[places], torch.as_tensor(weights[:, rows], device=device)

    def _node_gradient(self, point: Tensor, shard: np.ndarray) -> Tensor:
        """∇f_i at one point (1, P), from the rows of one shard; float64."""
        total = torch.zeros(point.shape[1], dtype=torch.float64, device=point.device)
        for piece in np.array_split(shard, -(-len(shard) // self._piece(1))):
            rows = torch.as_tensor(piece, device=point.device)
            weights = point.new_full((1, len(piece)), 1 / len(shard))
            total += self._weighted(point, self._x[rows][None], self._y[rows], weights)[1][0].double()
        return total

    def _share(self, x: np.ndarray, y: np.ndarray, rows: np.ndarray) -> Tests:
        """This process's slice of samples that no node trains on."""
        hosted, n = self.setting.hosted, self.setting.nodes
        mine = rows[len(rows) * hosted.start // n : len(rows) * hosted.stop // n]
        whole = len(mine) > 0 and len(mine) == mine[-1] - mine[0] + 1
        return Tests(*self._on_device(x, y, slice(int(mine[0]), int(mine[-1]) + 1) if whole else mine), len(rows))

    def _test(self, point: Tensor, tests: Tests) -> tuple[Tensor, Tensor]:
        """Shares of the mean loss and of the fraction right, on this process's slice of these samples."""
        count, size = tests.of, self._piece(len(point))
        loss = torch.zeros(len(point), dtype=torch.float64, device=point.device)
        correct = torch.zeros_like(loss)
        for x, y in zip(tests.x.split(size), tests.y.split(size), strict=True):
            inputs = self._inputs(x).expand(len(point), *[-1] * x.dim())
            logits = self._model.forward(self._model.unpack(point), inputs)
            labels = y.expand(len(point), -1)
            loss += F.cross_entropy(logits.mT, labels, reduction="none").double().sum(1)
            correct += (logits.argmax(-1) == labels).double().sum(1)
            correct.masked_fill_(~torch.isfinite(logits).flatten(1).all(1), torch.nan)  # argmax of NaN is class 0
        return loss / count, correct / count

    def _piece(self, replicas: int) -> int:
        """Samples to evaluate at once."""
        return max(1, pieces(self.setting.device, self._model.floats * replicas))

    def _weighted(self, x: Tensor, raw: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropies (R, B) of samples at parameters (R, P), and the gradient of their weighted sums."""
        inputs = self._inputs(raw[0]).expand(raw.shape) if raw.stride(0) == 0 else self._inputs(raw)
        logits, pull = self._model.linearise(x, inputs)
        labels = y.expand(len(x), -1)
        losses = F.cross_entropy(logits.mT, labels, reduction="none")
        return losses, pull(self._delta(logits, labels, weights.unsqueeze(-1)))

    def _delta(self, logits: Tensor, labels: Tensor, weight: Tensor | float) -> Tensor:
        """The gradient of weighted cross-entropies in the logits."""
        return torch.softmax(logits, dim=-1).sub_(self._one_hot[labels]).mul_(weight)

    def _inputs(self, raw: Tensor) -> Tensor:
        x = raw.to(self.setting.dtype)
        if (self._arrays.mean, self._arrays.sd) == (0.0, 1.0):
            return x
        return (x - self._arrays.mean) / self._arrays.sd

    def _on_device(self, x: np.ndarray, y: np.ndarray, rows: np.ndarray | slice) -> tuple[Tensor, Tensor]:
        device = self.setting.device
        return torch.as_tensor(x[rows], device=device), torch.as_tensor(y[rows], dtype=torch.int64, device=device)

    def _draw_block(self, stream: int, block: int) -> Batches:
        s, pick = self.setting, with_replacement if self._sampling == "replacement" else without_replacement
        rows = [
            [
                shard[pick(seed, node, stream, block, len(shard), s.batch_size)]
                for node, shard in zip(s.hosted, shards, strict=True)
            ]
            for seed, shards in zip(s.distinct_seeds, self._shards, strict=True)
        ]
        drawn = s.move(np.moveaxis(np.array(rows), 2, 0))
        size = drawn.numel() * self._x[0].numel() * s.dtype.itemsize
        return Batches(drawn, self._y[drawn], self._inputs(self._x[drawn]) if size <= GATHER else None)

    def _hosted(
        self, shards: Sequence[Sequence[np.ndarray]]
    ) -> tuple[list[list[np.ndarray]], np.ndarray | slice, Tensor]:
        """The hosted nodes' shards as places among the rows kept here, these rows, and their weights in f.

        A row of node i weighs 1/(n·|shard i|), separately for every distinct seed.
        """
        s, total = self.setting, len(self._arrays.train_y)
        weights = np.zeros((len(shards), total))
        for row, of_seed in zip(weights, shards, strict=True):
            for i in s.hosted:
                row[of_seed[i]] = 1 / (s.nodes * len(of_seed[i]))
        rows = np.flatnonzero(weights.any(axis=0))
        place = np.zeros(total, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        local = [[place[of_seed[i]] for i in s.hosted] for of_seed in shards]
        kept = torch.as_tensor(weights[:, rows], device=s.device)
        contiguous = len(rows) == rows[-1] - rows[0] + 1  # then no copy is made of what may be mapped from a file
        return local, slice(int(rows[0]), int(rows[-1]) + 1) if contiguous else rows, kept


def pieces(device: torch.device, floats: int) -> int:
    """How many samples to evaluate at once, of a model that keeps so many numbers for each.

    A CPU is fastest while a piece stays in its caches, a GPU while it has enough to do.
    """
    if device.type == "cuda":
        return max(1, (1 << 29) // floats)
    return max(1, min(1 << 12, (1 << 24) // floats))
