"""Random numbers with a key (seed, node, purpose, block), independent of time and place.

So all engines, rank counts and groups of replicas draw the same samples, and so do resumed runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from bench.base.keyed import EVERYONE, generator

if TYPE_CHECKING:
    from bench.base.node_samples import NodeSamples
    from bench.base.step_index import StepIndex

__all__ = ["BLOCK", "EVERYONE", "Blocks", "generator"]

T = TypeVar("T")

BLOCK = 64
"""Samples per block. It is part of the key: changing it changes the results of every run."""


class Blocks(Generic[T]):
    """Samples in blocks, which ``draw(stream, block)`` draws when they are first needed.

    Two blocks per stream stay in memory, since methods use the current and the previous sample.
    """

    def __init__(self, draw: Callable[[int, int], T]) -> None:
        self._draw = draw
        self._kept: dict[int, dict[int, T]] = {}

    @overload
    def at(self, s: int, stream: int = 0) -> tuple[T, int]: ...

    @overload
    def at(self, s: StepIndex, stream: int = 0) -> tuple[Any, StepIndex]: ...

    @overload
    def at(self, s: NodeSamples, stream: int = 0) -> tuple[Any, NodeSamples]: ...

    def at(self, s: int | StepIndex | NodeSamples, stream: int = 0) -> tuple[Any, Any]:
        """The block that holds sample ``s`` of ``stream``, and the place of ``s`` in it."""
        if not isinstance(s, (int, np.integer)):
            return self._other(s, stream), s
        number, offset = divmod(s, BLOCK)
        kept = self._kept.setdefault(stream, {})
        if number not in kept:
            if len(kept) == 2:
                del kept[min(kept)]
            kept[number] = self._draw(stream, number)
        return kept[number], offset

    def _other(self, s: StepIndex | NodeSamples, stream: int) -> Any:
        """The samples of a stream as a captured step reads them, or those of nodes with numbers of their own."""
        from bench.base.node_samples import NodeSamples, picked  # imports torch, which the analysis does without
        from bench.base.step_index import Ring

        if isinstance(s, NodeSamples):
            return picked(self._kept.setdefault(stream, {}), s, BLOCK, partial(self._draw, stream))
        key = id(self), stream
        ring = s.capture.buffer(key, lambda: Ring(BLOCK, partial(self._draw, stream), s.now // BLOCK))
        s.before_replay(key, lambda value: ring.load(s.key, value))
        return ring.samples
