"""Classification on finite data: a dataset, a partition and a model make a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.models import Model
from bench.problem import Evaluation, Problem, Setting
from bench.randomness import BLOCK, EVERYONE, Blocks, generator
from bench.registry import partitions

Init = Literal["shared", "independent"]
Partition = Callable[..., list[np.ndarray]]
CHUNK = 1 << 12
"""Replicas × samples evaluated at once."""
GATHER = 1 << 24
"""Bytes of inputs that are gathered a block at a time; larger ones are gathered step by step."""


def partition(name: str) -> Callable[[Partition], Partition]:
    """Register a partition: from labels, nodes and a generator to one index array per node."""
    return partitions.register(name)


@dataclass(frozen=True)
class Arrays:
    """A dataset as it lies in memory, in compact types; inputs become (raw − mean)/sd in the batch."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    classes: int
    mean: float = 0.0
    sd: float = 1.0


@dataclass(frozen=True)
class Batches:
    """The mini-batches of one block of samples."""

    rows: Tensor  # of the training set, (BLOCK, S, k, B)
    labels: Tensor
    inputs: Tensor | None  # ready for the model, where they are small enough to be kept


class Supervised(Problem):
    """f_i is the mean cross-entropy over node i's shard; mini-batches are drawn with replacement."""

    def __init__(
        self,
        setting: Setting,
        arrays: Arrays,
        shards: Sequence[Sequence[np.ndarray]],
        model: Model,
        init: Init,
    ) -> None:
        """``shards`` holds, for every distinct seed, the rows of each node."""
        super().__init__(setting)
        self.layout, self._model, self._init = model.layout, model, init
        self.autograd = type(model).gradient is Model.gradient
        self._arrays = arrays
        self.epoch_size = len(arrays.train_y)
        self._shards, rows, self._weights = self._hosted(shards)
        self._x, self._y = self._on_device(arrays.train_x, arrays.train_y, rows)
        tests, hosted, n = len(arrays.test_y), setting.hosted, setting.nodes
        mine = slice(tests * hosted.start // n, tests * hosted.stop // n)
        self._test_x, self._test_y = self._on_device(arrays.test_x, arrays.test_y, mine)
        self._blocks = Blocks(self._draw_block)

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
        return self._model.gradient(x.flatten(0, 1), inputs.flatten(0, 1), labels.flatten(0, 1)).view_as(x)

    def evaluate(self, mean: Tensor) -> Evaluation:
        point = mean.to(self.setting.dtype)
        replicas = len(point)
        loss = torch.zeros(replicas, dtype=torch.float64, device=point.device)
        total = torch.zeros(point.shape, dtype=torch.float64, device=point.device)
        chunk = max(1, CHUNK // replicas)
        for raw, y, weights in zip(
            self._x.split(chunk), self._y.split(chunk), self._weights.split(chunk, dim=1), strict=True
        ):
            share = self.setting.per_replica(weights)
            losses, gradient = self._losses(point, raw, y, share.to(point.dtype))
            loss += (losses.double() * share).sum(1)
            total += gradient.double()
        test_loss, correct = self._test(point, chunk)
        return Evaluation(loss, test_loss, correct, total)

    def _test(self, point: Tensor, chunk: int) -> tuple[Tensor, Tensor]:
        """Shares of test loss and of the fraction right, on this process's slice of the test set."""
        size = len(self._arrays.test_y)
        loss = torch.zeros(len(point), dtype=torch.float64, device=point.device)
        correct = torch.zeros_like(loss)
        for x, y in zip(self._test_x.split(chunk), self._test_y.split(chunk), strict=True):
            inputs = self._inputs(x).expand(len(point), *[-1] * x.dim())
            logits = self._model.forward(self._model.unpack(point), inputs)
            labels = y.expand(len(point), -1)
            loss += F.cross_entropy(logits.mT, labels, reduction="none").double().sum(1)
            correct += (logits.argmax(-1) == labels).double().sum(1)
            correct += 0 * logits.double().sum(dim=(1, 2))  # not finite where a logit is not
        return loss / size, correct / size

    def _losses(self, x: Tensor, raw: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropies (R, B) of samples at parameters (R, P), and the gradient of their weighted sums."""
        with torch.inference_mode(False), torch.enable_grad():
            leaf = x.clone().requires_grad_()  # clones made here are no inference tensors
            inputs = self._inputs(raw).expand(len(x), *[-1] * raw.dim())
            logits = self._model.forward(self._model.unpack(leaf), inputs)
            losses = F.cross_entropy(logits.mT, y.expand(len(x), -1), reduction="none")
            (gradient,) = torch.autograd.grad((losses * weights.clone()).sum(), leaf)
        return losses.detach(), gradient

    def _inputs(self, raw: Tensor) -> Tensor:
        x = raw.to(self.setting.dtype)
        if (self._arrays.mean, self._arrays.sd) == (0.0, 1.0):
            return x
        return (x - self._arrays.mean) / self._arrays.sd

    def _on_device(self, x: np.ndarray, y: np.ndarray, rows: np.ndarray | slice) -> tuple[Tensor, Tensor]:
        device = self.setting.device
        return torch.as_tensor(x[rows], device=device), torch.as_tensor(y[rows], dtype=torch.int64, device=device)

    def _draw_block(self, stream: int, block: int) -> Batches:
        s = self.setting
        shape = (BLOCK, s.batch_size)
        rows = [
            [
                shard[generator(seed, node, f"batch {stream}", block).integers(len(shard), size=shape)]
                for node, shard in zip(s.hosted, shards, strict=True)
            ]
            for seed, shards in zip(s.distinct_seeds, self._shards, strict=True)
        ]
        drawn = torch.as_tensor(np.moveaxis(np.array(rows), 2, 0).copy(), device=s.device)
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
        return local, slice(None) if len(rows) == total else rows, kept
