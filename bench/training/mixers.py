"""One communication round inside one process: every tensor is multiplied by W across nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bench.base.step_index import StepIndex
from bench.network.faulty import OneWayNetwork
from bench.network.mixing import Mixing, Operator
from bench.network.sparse import Sparse
from bench.training.hosting import Mixer
from bench.training.running_sums import RunningSums, on_arcs, slots

SPARSE_FROM = 64
"""Nodes from which a sparse graph is mixed edge by edge."""


def make_mixer(mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> Mixer:
    """The fastest mixer for these networks, one per replica."""
    first = mixings[0]
    if first.one_way:
        return OneWayMixer(cast(Sequence[OneWayNetwork], mixings), dtype, device)
    if any(mixing.changing for mixing in mixings):
        return ChangingMixer(mixings, dtype, device)
    shared = all(mixing.certificate.hash == first.certificate.hash for mixing in mixings)
    rounds = [first.at(r).any for r in range(first.period or 1)]
    if shared and first.nodes >= SPARSE_FROM and sum(len(w.values) for w in rounds) < len(rounds) * first.nodes**2 / 8:
        return SparseMixer(first, len(mixings), dtype, device)
    return DenseMixer(mixings, dtype, device)


class DenseMixer(Mixer):
    """W @ X for all nodes at once; replicas may have graphs of their own."""

    def __init__(self, mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> None:
        """``mixings`` has one entry per replica, all of one period."""
        shared = len({mixing.certificate.hash for mixing in mixings}) == 1
        self._mixings = mixings[:1] if shared else mixings  # (n, n) broadcasts over replicas
        self._period, self._dtype, self._device = mixings[0].period or 1, dtype, device
        self._w: dict[Operator, list[Tensor]] = {}

    def __call__(
        self, r: int | StepIndex, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix"
    ) -> tuple[Tensor, ...]:
        if by not in self._w:
            self._w[by] = [self._round(turn, by) for turn in range(self._period)]
        turns = self._w[by]
        if isinstance(r, StepIndex) and self._period > 1:
            w = r.pick(torch.stack(turns), self._period)
        else:
            w = turns[r % self._period]
        return tuple(torch.matmul(w, tensor) for tensor in tensors)

    def _round(self, turn: int, by: Operator) -> Tensor:
        matrices = [of(mixing, turn, 0, by).dense() for mixing in self._mixings]
        stacked = matrices[0] if len(matrices) == 1 else np.stack(matrices)
        return torch.as_tensor(stacked, dtype=self._dtype, device=self._device)


class SparseMixer(Mixer):
    """Every node sums its neighbors' rows: O(edges) where W @ X would be O(n²). One graph for all replicas."""

    def __init__(self, mixing: Mixing, replicas: int, dtype: torch.dtype, device: torch.device) -> None:
        self._mixing, self._replicas, self._dtype, self._device = mixing, replicas, dtype, device
        self._rounds: dict[tuple[int, Operator], Bags] = {}

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        key = r % (self._mixing.period or 1), by
        if key not in self._rounds:
            self._rounds[key] = Bags(self._dtype, self._device)
            self._rounds[key].fill([of(self._mixing, key[0], 0, by)] * self._replicas)
        return tuple(self._rounds[key](x) for x in tensors)


class ChangingMixer(Mixer):
    """Networks with another matrix in every round; each replica may have its own."""

    def __init__(self, mixings: Sequence[Mixing], dtype: torch.dtype, device: torch.device) -> None:
        self._mixings = mixings
        self._bags: dict[Operator, Bags] = {by: Bags(dtype, device) for by in ("mix", "push", "pull")}

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "mix") -> tuple[Tensor, ...]:
        bags = self._bags[by]
        bags.fill([of(mixing, r, t, by) for mixing in self._mixings])
        return tuple(bags(x) for x in tensors)


class Bags:
    """Sums over neighbors, for all replicas at once: their rows lie below each other."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._dtype, self._device = dtype, device
        self._patterns: list[object] = []

    def fill(self, matrices: Sequence[Sparse]) -> None:
        patterns = [w.pattern for w in matrices]
        if len(patterns) != len(self._patterns) or any(
            a is not b for a, b in zip(patterns, self._patterns, strict=True)
        ):
            columns, starts = patterns[0].columns, patterns[0].starts
            if len(patterns) > 1:
                n, sizes = patterns[0].nodes, np.cumsum([0, *(len(p.columns) for p in patterns)])
                columns = np.concatenate([p.columns + n * i for i, p in enumerate(patterns)])
                starts = np.concatenate([p.starts + size for p, size in zip(patterns, sizes, strict=False)])
            self._columns = torch.as_tensor(columns, device=self._device)
            self._starts = torch.as_tensor(starts, device=self._device)
            self._patterns = list(patterns)
        values = matrices[0].values if len(matrices) == 1 else np.concatenate([w.values for w in matrices])
        self._weights = torch.as_tensor(values, dtype=self._dtype, device=self._device)

    def __call__(self, x: Tensor) -> Tensor:
        rows, weights = x.flatten(0, 1), self._weights
        return F.embedding_bag(self._columns, rows, self._starts, mode="sum", per_sample_weights=weights).view(x.shape)


class OneWayMixer(Mixer):
    """Messages that may be lost, by running sums; one graph for all replicas, and each its own losses."""

    def __init__(self, mixings: Sequence[OneWayNetwork], dtype: torch.dtype, device: torch.device) -> None:
        self._mixings, self._dtype, self._device = mixings, dtype, device
        heard = mixings[0].heard
        self._heard = heard
        self._source = torch.as_tensor(heard.columns[heard.off], device=device)
        self._target = torch.as_tensor(heard.rows[heard.off], device=device)
        self._sums = RunningSums(len(mixings), range(heard.nodes), slots(heard), dtype, device)

    def __call__(self, r: int, t: int, tensors: tuple[Tensor, ...], by: Operator = "push") -> tuple[Tensor, ...]:
        x, call, every = torch.cat(tensors, dim=-1), self._sums.call(t), np.arange(len(self._heard.off))
        weights, own = self._weights(r, t)
        arrives = np.stack([mixing.delivered(t) for mixing in self._mixings]) & (weights != 0)
        totals = self._sums.send(call, self._tensor(weights) * x[:, self._source], every)
        news = self._sums.receive(call, totals, torch.as_tensor(arrives, device=self._device), every)
        mixed = (self._tensor(own) * x).index_add(1, self._target, news)
        return mixed.split([tensor.shape[-1] for tensor in tensors], dim=-1)

    def _tensor(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, dtype=self._dtype, device=self._device)[..., None]

    def _weights(self, r: int, t: int) -> tuple[np.ndarray, np.ndarray]:
        made = [on_arcs(of(mixing, r, t, "push"), self._heard) for mixing in self._mixings]
        return np.stack([arcs for arcs, _ in made]), np.stack([own for _, own in made])

    def kept(self) -> dict[str, Tensor]:
        return self._sums.kept()

    def restore(self, kept: Mapping[str, Tensor]) -> None:
        self._sums.restore(kept)


def of(mixing: Mixing, r: int, t: int, by: Operator) -> Sparse:
    """A matrix of the network, which has one: a method that would ask for another was refused."""
    w = getattr(mixing.at(r, t), by)
    assert isinstance(w, Sparse), f"'{mixing.name}' has no matrix to {by} by"
    return w
