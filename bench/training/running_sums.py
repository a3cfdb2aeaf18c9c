"""Messages that may be lost without their sender knowing, made good by the next that arrives.

For every arc j → i the sender keeps σ, the total of all that it ever sent there, and sends that; the receiver keeps the
last total it saw and adds the difference. What is conserved is the sum over the nodes and over what is under way,
σ minus what was seen.
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
SENT, SEEN = f"{CHANNEL}sent.", f"{CHANNEL}seen."
"""Names that no state of a method can have."""


class Slots(NamedTuple):
    """Where the totals of every arc are kept: by its sender and by its receiver, each of whom numbers its own."""

    source: np.ndarray
    target: np.ndarray
    out: np.ndarray  # the number of an arc among those of its source
    into: np.ndarray  # and among those of its target


def slots(heard: Pattern) -> Slots:
    source, target = heard.columns[heard.off], heard.rows[heard.off]
    return Slots(source, target, _among(source), _among(target))


def _among(ends: np.ndarray) -> np.ndarray:
    """For every entry, how many before it are the same."""
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], ends[order])
    number = np.empty(len(ends), dtype=np.int64)
    number[order] = np.arange(len(ends)) - first
    return number


def on_arcs(w: Sparse, heard: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """The weight of every arc that there may be, 0 where it is not there now, and what every node keeps."""
    own = w.values[w.pattern.diagonal]
    if w.pattern is heard:
        return w.values[heard.off], own
    n, weights = heard.nodes, np.zeros(len(heard.columns))
    codes = heard.rows * n + heard.columns
    weights[np.searchsorted(codes, w.pattern.rows * n + w.pattern.columns)] = w.values
    return weights[heard.off], own


class RunningSums:
    """The totals of the hosted nodes, for each call of a step its own."""

    def __init__(self, replicas: int, hosted: range, of: Slots, dtype: torch.dtype, device: torch.device) -> None:
        self._shape, self._first, self._of = (replicas, len(hosted)), hosted.start, of
        self._dtype, self._device = dtype, device
        self._widths = {SENT: _most(of.out), SEEN: _most(of.into)}
        self._totals: dict[str, Tensor] = {}  # (R, k · arcs of a node, q)
        self._at = -1, 0

    def call(self, t: int) -> int:
        """The number of this call among those of step t."""
        self._at = t, self._at[1] + 1 if self._at[0] == t else 0
        return self._at[1]

    def send(self, call: int, share: Tensor, arcs: np.ndarray) -> Tensor:
        """The totals to send along these arcs, (R, E, q), once a share was added to each."""
        kept, place = self._kept(SENT, call, share), self._place(SENT, arcs)
        self._totals[f"{SENT}{call}"] = kept = kept.index_add(1, place, share)
        return kept[:, place]

    def receive(self, call: int, totals: Tensor, arrives: Tensor, arcs: np.ndarray) -> Tensor:
        """What is new in the totals that arrived, (R, E, q); 0 where none did."""
        kept, place = self._kept(SEEN, call, totals), self._place(SEEN, arcs)
        before = kept[:, place]
        after = torch.where(arrives[..., None], totals, before)
        self._totals[f"{SEEN}{call}"] = kept.index_copy(1, place, after)
        return after - before

    def kept(self) -> dict[str, Tensor]:
        """(R, k, arcs of a node, q), by name."""
        return {name: totals.unflatten(1, (self._shape[1], -1)) for name, totals in self._totals.items()}

    def restore(self, kept: Mapping[str, Tensor]) -> None:
        if any(totals.ndim != 4 for totals in kept.values()):
            raise Misfit("The checkpoint has no totals for every arc.")
        self._totals = {name: totals.flatten(1, 2) for name, totals in kept.items()}

    def _kept(self, side: str, call: int, like: Tensor) -> Tensor:
        name, (replicas, nodes) = f"{side}{call}", self._shape
        shape = replicas, nodes * self._widths[side], like.shape[-1]
        if name not in self._totals:
            self._totals[name] = torch.zeros(shape, dtype=self._dtype, device=self._device)
        if self._totals[name].shape != shape:
            raise Misfit(
                f"The checkpoint has totals of another network: {tuple(self._totals[name].shape)}, not {shape}."
            )
        return self._totals[name]

    def _place(self, side: str, arcs: np.ndarray) -> Tensor:
        ends, number = (self._of.source, self._of.out) if side == SENT else (self._of.target, self._of.into)
        return torch.as_tensor((ends[arcs] - self._first) * self._widths[side] + number[arcs], device=self._device)


def _most(numbers: np.ndarray) -> int:
    return int(numbers.max(initial=0)) + 1
