"""Running sums: a lost message is recovered by the next one that arrives.

For every arc j → i the sender keeps and sends σ, the total of its shares for i. The receiver keeps the last total that
arrived and adds the difference. The sum over the nodes and over the messages in flight is conserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import Misfit
from bench.network.sparse import Pattern, Sparse

CHANNEL = "network."
SENT, SEEN = f"{CHANNEL}sent.", f"{CHANNEL}seen."  # no field of a state has a dot in its name


class Slots(NamedTuple):
    """The arcs, each with its number among the arcs of its sender and among those of its receiver."""

    source: np.ndarray
    target: np.ndarray
    out: np.ndarray  # number among the arcs of the source
    into: np.ndarray  # number among the arcs of the target


def slots(heard: Pattern) -> Slots:
    source, target = heard.columns[heard.off], heard.rows[heard.off]
    return Slots(source, target, _among(source), _among(target))


def _among(ends: np.ndarray) -> np.ndarray:
    """Return for every entry how many earlier entries are equal."""
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], ends[order])
    number = np.empty(len(ends), dtype=np.int64)
    number[order] = np.arange(len(ends)) - first
    return number


def on_arcs(w: Sparse, heard: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Return the weight of every arc of ``heard`` (0 if absent in this round), and every node's own weight."""
    own = w.values[w.pattern.diagonal]
    if w.pattern is heard:
        return w.values[heard.off], own
    n, weights = heard.nodes, np.zeros(len(heard.columns))
    codes = heard.rows * n + heard.columns
    weights[np.searchsorted(codes, w.pattern.rows * n + w.pattern.columns)] = w.values
    return weights[heard.off], own


class RunningSums:
    """The totals of the hosted nodes, separate for each call within a step."""

    def __init__(self, replicas: int, hosted: range, of: Slots, dtype: torch.dtype, device: torch.device) -> None:
        self._shape, self._first, self._of = (replicas, len(hosted)), hosted.start, of
        self._dtype, self._device = dtype, device
        self._widths = {side: int(numbers.max(initial=0)) + 1 for side, numbers in ((SENT, of.out), (SEEN, of.into))}
        self._totals: dict[str, Tensor] = {}  # (R, k · arcs of a node, q)
        self._at = -1, 0

    def call(self, t: int) -> int:
        """Return the number of this call among those of step t."""
        self._at = t, self._at[1] + 1 if self._at[0] == t else 0
        return self._at[1]

    def send(self, call: int, share: Tensor, arcs: np.ndarray) -> Tensor:
        """Add a share to the total of each arc; return the totals to send, (R, E, q)."""
        kept, place = self._kept(SENT, call, share), self._place(SENT, arcs)
        self._totals[f"{SENT}{call}"] = kept = kept.index_add(1, place, share)
        return kept[:, place]

    def receive(self, call: int, totals: Tensor, arrives: Tensor, arcs: np.ndarray) -> Tensor:
        """Return the increase of the totals that arrived, (R, E, q); 0 for lost messages."""
        kept, place = self._kept(SEEN, call, totals), self._place(SEEN, arcs)
        before = kept[:, place]
        after = torch.where(arrives[..., None], totals, before)
        self._totals[f"{SEEN}{call}"] = kept.index_copy(1, place, after)
        return after - before

    def kept(self) -> dict[str, Tensor]:
        """Return the totals by name, (R, k, arcs of a node, q)."""
        return {name: totals.unflatten(1, (self._shape[1], -1)) for name, totals in self._totals.items()}

    def restore(self, kept: Mapping[str, Tensor]) -> None:
        if any(totals.ndim != 4 for totals in kept.values()):
            raise Misfit("The checkpoint lacks the totals of the arcs.")
        self._totals = {name: totals.flatten(1, 2) for name, totals in kept.items()}

    def _kept(self, side: str, call: int, like: Tensor) -> Tensor:
        name, (replicas, nodes) = f"{side}{call}", self._shape
        shape = replicas, nodes * self._widths[side], like.shape[-1]
        if name not in self._totals:
            self._totals[name] = torch.zeros(shape, dtype=self._dtype, device=self._device)
        if self._totals[name].shape != shape:
            found = tuple(self._totals[name].shape)
            raise Misfit(f"The checkpoint belongs to another network: its totals have shape {found}, expected {shape}.")
        return self._totals[name]

    def _place(self, side: str, arcs: np.ndarray) -> Tensor:
        ends, number = (self._of.source, self._of.out) if side == SENT else (self._of.target, self._of.into)
        return torch.as_tensor((ends[arcs] - self._first) * self._widths[side] + number[arcs], device=self._device)
