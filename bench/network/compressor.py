"""What a compressor is: bytes that travel in the place of a vector, and a bound on what they lose.

A compressor packs every row v of a (rows, P) tensor into bytes, and unpacks C(v) from them; nothing else is sent.
Contractive forms declare δ with E‖C(v) − v‖² ≤ (1 − δ)‖v‖². Unbiased forms declare ω with E C(v) = v and
E‖C(v) − v‖² ≤ ω‖v‖². Rows never feel each other, 0 stays 0, and a row that is not finite does not become finite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bench.base.options import attribute_options, coerce
from bench.base.registry import compressors

Draws = Callable[[int], np.random.Generator]
"""From the number of a row to a fresh generator of its own: the same whenever and wherever asked."""
compressor = compressors.register
"""Decorator that names a compressor."""


class Compressor(ABC):
    """Base of all compressors. Annotated class attributes with a value are options."""

    shared_draws: ClassVar[bool] = False  # whether the receiver draws again what the sender drew, and unpack uses draws

    def __init__(self, **options: Any) -> None:
        cls = type(self)
        for name, value in coerce(attribute_options(cls), options, "compressor.", cls.__name__).items():
            setattr(self, name, value)

    def check(self, size: int) -> None:  # noqa: B027
        """A sentence where vectors of P = ``size`` numbers cannot be compressed so."""

    def delta(self, size: int) -> float | None:
        """δ in (0, 1] for vectors of ``size`` numbers; None: not contractive."""
        return None

    def omega(self, size: int) -> float | None:
        """ω ≥ 0 for vectors of ``size`` numbers; None: not unbiased."""
        return None

    @abstractmethod
    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        """Exactly the bytes that travel: uint8 (rows, B) of v (rows, P); B depends on P and the dtype alone."""

    @abstractmethod
    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        """C(v), (rows, size) of that dtype."""
