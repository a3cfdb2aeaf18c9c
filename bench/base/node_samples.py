"""Sample numbers that differ between the nodes, for gradients of nodes that do not wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import torch


class NotPerNode(Exception):
    """A problem uses the sample number in another way than to pick a sample."""


def _reject(self: NodeSamples, *_: Any) -> NoReturn:
    raise NotPerNode


class NodeSamples:
    """One sample number per node, (n,). ``Blocks.at`` picks the sample of every node with it.

    A problem that uses the number itself raises ``NotPerNode``; its gradients are then computed one number at a time.
    """

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def needed(self, block: int) -> set[int]:
        """Return the blocks of so many samples that hold the samples."""
        return set((self.numbers // block).tolist())

    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _reject
    __index__ = __int__ = __float__ = __str__ = __repr__ = __format__ = _reject
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __divmod__ = __floordiv__ = _reject


class NodePicks:
    """Blocks of samples, of which ``picks[s]`` takes the sample of every node; see ``Blocks.at``."""

    def __init__(self, blocks: dict[int, Any], size: int) -> None:
        self._blocks, self._size = blocks, size

    def __getattr__(self, name: str) -> Any:
        """Return a field of the blocks, if they are named tuples."""
        if name.startswith("_"):
            raise AttributeError(name)
        parts = {number: getattr(block, name) for number, block in self._blocks.items()}
        return None if any(part is None for part in parts.values()) else NodePicks(parts, self._size)

    def __getitem__(self, s: Any) -> Any:
        """Return the samples (S, n, …) of the nodes, from blocks (samples, S, n, …); or a part of tuples."""
        if not isinstance(s, NodeSamples):
            return NodePicks({number: block[s] for number, block in self._blocks.items()}, self._size)
        number, offset = np.divmod(s.numbers, self._size)
        first = self._blocks[int(number[0])]
        nodes = torch.arange(len(number), device=first.device)
        if len(set(number.tolist())) == 1:
            return first[torch.as_tensor(offset, device=first.device), :, nodes].transpose(0, 1)
        picked = [
            self._blocks[b][o, :, i] for i, (b, o) in enumerate(zip(number.tolist(), offset.tolist(), strict=True))
        ]
        return torch.stack(picked, dim=1)


def picked(kept: dict[int, Any], s: NodeSamples, size: int, draw: Callable[[int], Any]) -> NodePicks:
    """Return the blocks that hold the samples, drawn if they are new; forget those that no node needs any more."""
    needed = s.needed(size)
    for number in set(kept) - needed:
        if number < min(needed):
            del kept[number]
    for number in needed - set(kept):
        kept[number] = draw(number)
    return NodePicks(kept, size)
