"""Communication rounds inside one process: every tensor is multiplied by W across nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.randomness import EVERYONE, generator
from bench.base.step_index import StepIndex
from bench.network.faulty import OneWayNetwork
from bench.network.mixing import Mixing, Operator
from bench.network.sparse import Pattern, Sparse
from bench.training.hosting import Mixer
from bench.training.running_sums import RunningSums, on_arcs, slots

SPARSE_FROM = 64
"""The number of nodes from which a sparse graph is mixed edge by edge."""


def make_mixer(mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> Mixer:
    """Return the fastest mixer for these networks, one per replica."""
    first = mixings[0]
    if first.one_way:
        return OneWayMixer(cast(Sequence[OneWayNetwork], mixings), dtype, device)
    if any(mixing.changing for mixing in mixings):
        return SparseMixer(mixings, dtype, device)
    shared = all(mixing.certificate.hash == first.certificate.hash for mixing in mixings)
    rounds = [first.at(r).any for r in range(first.period or 1)]
    if shared and first.nodes >= SPARSE_FROM and sum(len(w.values) for w in rounds) < len(rounds) * first.nodes**2 / 8:
        return SparseMixer([first] * len(mixings), dtype, device)
    return DenseMixer(mixings, dtype, device)


class DenseMixer(Mixer):
    """W @ X for all nodes at once. Replicas may have different graphs of one period."""

    def __init__(self, mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> None:
        shared = len({mixing.certificate.hash for mixing in mixings}) == 1
        self._mixings = mixings[:1] if shared else mixings  # (n, n) broadcasts over replicas
        self._period, self._dtype, self._device = mixings[0].period or 1, dtype, device
        self._w: dict[tuple[int, Operator], Tensor] = {}

    def __call__(
        self, r: int | StepIndex, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix"
    ) -> tuple[Tensor, ...]:
        if isinstance(r, StepIndex) and self._period > 1:
            w = r.pick(torch.stack([self._round(turn, by) for turn in range(self._period)]), self._period)
        else:
            w = self._round(r % self._period, by)
        return tuple(torch.matmul(w, tensor) for tensor in tensors)

    def _round(self, turn: int, by: Operator) -> Tensor:
        if (turn, by) not in self._w:
            matrices = np.stack([of(mixing, turn, 0, by).dense() for mixing in self._mixings])
            stacked = matrices[0] if len(matrices) == 1 else matrices
            self._w[turn, by] = torch.as_tensor(stacked, dtype=self._dtype, device=self._device)
        return self._w[turn, by]


class SparseMixer(Mixer):
    """Sums over neighbors, O(edges) where W @ X would be O(n²).

    Replicas may have different graphs, and graphs may change in every round. The rows of all replicas lie below each
    other.
    """

    def __init__(self, mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> None:
        self._mixings, self._dtype, self._device = mixings, dtype, device
        self._changing, self._period = any(mixing.changing for mixing in mixings), mixings[0].period or 1
        self._rounds: dict[tuple[int, Operator], NeighborSums] = {}

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        key = 0 if self._changing else r % self._period, by
        if self._changing or key not in self._rounds:
            sums = self._rounds.setdefault(key, NeighborSums(self._dtype, self._device))
            sums.fill([of(mixing, r, t, by) for mixing in self._mixings])
        return tuple(self._rounds[key](x) for x in tensors)


class NeighborSums:
    """The matrices of one round, one per replica, as a sum over neighbors."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype, self._device = dtype, device
        self._patterns: list[Pattern] = []

    def fill(self, matrices: Sequence[Sparse]) -> None:
        """Take the matrices of a round; positions are copied only if they have changed."""
        patterns = [w.pattern for w in matrices]
        if patterns != self._patterns:
            n, sizes = patterns[0].nodes, np.cumsum([0, *(len(p.columns) for p in patterns)])
            columns = np.concatenate([p.columns + n * i for i, p in enumerate(patterns)])
            starts = np.concatenate([p.starts + size for p, size in zip(patterns, sizes, strict=False)])
            self._columns = torch.as_tensor(columns, device=self._device)
            self._starts = torch.as_tensor(starts, device=self._device)
            self._patterns = patterns
        values = np.concatenate([w.values for w in matrices])
        self._weights = torch.as_tensor(values, dtype=self._dtype, device=self._device)

    def __call__(self, x: Tensor) -> Tensor:
        rows, weights = x.flatten(0, 1), self._weights
        return F.embedding_bag(self._columns, rows, self._starts, mode="sum", per_sample_weights=weights).view(x.shape)


class OneWayMixer(Mixer):
    """Packet loss on one-way links, by running sums. All replicas share a graph; each has its own losses."""

    def __init__(self, mixings: Sequence[OneWayNetwork], dtype: torch.dtype, device: torch.device) -> None:
        self._mixings, self._dtype, self._device = mixings, dtype, device
        self._heard = mixings[0].heard
        self._slots = slots(self._heard)
        self._source, self._target = (torch.as_tensor(ends, device=device) for ends in self._slots[:2])
        self._sums = RunningSums(len(mixings), range(self._heard.nodes), self._slots, dtype, device)

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "push") -> tuple[Tensor, ...]:
        x, call, every = torch.cat(tensors, dim=-1), self._sums.call(t), np.arange(len(self._slots.source))
        made = [on_arcs(of(mixing, r, t, "push"), self._heard) for mixing in self._mixings]
        weights, own = (np.stack(part) for part in zip(*made, strict=True))
        arrives = np.stack([mixing.delivered(t) for mixing in self._mixings]) & (weights != 0)
        totals = self._sums.send(call, self._tensor(weights) * x[:, self._source], every)
        news = self._sums.receive(call, totals, torch.as_tensor(arrives, device=self._device), every)
        mixed = (self._tensor(own) * x).index_add(1, self._target, news)
        return mixed.split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, dtype=self._dtype, device=self._device)[..., None]

    def kept(self) -> dict[str, Tensor]:
        return self._sums.kept()

    def restore(self, kept: Mapping[str, Tensor]) -> None:
        self._sums.restore(kept)


def of(mixing: Mixing, r: int, t: int, by: Operator) -> Sparse:
    """Return a matrix of the network. Earlier checks reject methods that need a matrix which does not exist."""
    w = getattr(mixing.at(r, t), by)
    assert isinstance(w, Sparse), f"'{mixing.name}' has no matrix for {by}"
    return w


ROUNDS = 1000


def change_of_average(networks: Sequence[Mixing], by: Operator = "mix", rounds: int = ROUNDS) -> float:
    """Return how far rounds alone move the average: the root mean square over the networks, one per seed.

    The nodes start with numbers of mean 1 and standard deviation 1. Of pushed numbers, this is the error of the
    push-sum estimate u/w at the worst node.
    """
    mixer = make_mixer(networks, torch.float64, torch.device("cpu"))
    x = start(networks[0].nodes).expand(len(networks), -1, 1)
    w = torch.ones_like(x)
    for t in range(rounds):
        if by == "push":
            x, w = mixer(t, t, (x, w), "push")
        else:
            (x,) = mixer(t, t, (x,), by)
    off = (x / w - 1).abs().amax(dim=1) if by == "push" else x.mean(dim=1) - 1
    return float(off.square().mean().sqrt())


def start(nodes: int) -> Tensor:
    """Return numbers of mean 1 and standard deviation 1, (n, 1)."""
    x = generator(0, EVERYONE, "averages", 0).standard_normal((nodes, 1))
    return torch.as_tensor(1 + (x - x.mean()) / max(x.std(), 1e-300))
