"""The base class of compressors: the bytes that replace a vector, and a bound on the error.

A compressor packs every row v of a (rows, P) tensor into bytes, and unpacks C(v) from them; nothing else is sent.
Contractive compressors declare δ with E‖C(v) − v‖² ≤ (1 − δ)‖v‖². Unbiased compressors declare ω with E C(v) = v and
E‖C(v) − v‖² ≤ ω‖v‖². Rows are independent of each other, C(0) = 0, and C(v) is not finite if v is not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bench.base.options import attribute_options, coerce
from bench.base.randomness import generator
from bench.base.registry import compressors

Draws = Callable[[int], np.random.Generator]
"""From the number of a row to a new random generator, which is the same in every call and process."""


def message_draws(seeds: Sequence[int], nodes: Sequence[int], message: int, r: int) -> Draws:
    """Return the draws for a message of round r. Its rows are the given nodes of each replica, one seed a replica."""

    def draws(row: int) -> np.random.Generator:
        replica, place = divmod(row, len(nodes))
        return generator(seeds[replica], nodes[place], f"compressor {message}", r)

    return draws


compressor = compressors.register
"""``@compressor("NAME")`` registers a subclass of ``Compressor`` for ``compressor=NAME`` on the command line.

Raises ``UserError`` if the name is already registered."""


class Compressor(ABC):
    """Base class of compressors. Define ``pack``, ``unpack`` and ``delta`` or ``omega``.

    Annotated class attributes with a value are options, ``compressor.NAME``. ``python bench/contract.py NAME`` checks
    the declared bounds.

    Attributes:
        shared_draws: True if ``unpack`` uses ``draws``, because the receiver repeats the draws of the sender.

    Example:
        >>> @compressor("whole")
        ... class Whole(Compressor):
        ...     def delta(self, size):
        ...         return 1.0
        ...     def pack(self, v, draws):
        ...         return to_bytes(v)
        ...     def unpack(self, payload, size, dtype, draws):
        ...         return from_bytes(payload, dtype)
    """

    shared_draws: ClassVar[bool] = False

    def __init__(self, **options: Any) -> None:
        cls = type(self)
        for name, value in coerce(attribute_options(cls), options, "compressor.", cls.__name__).items():
            setattr(self, name, value)

    def check(self, size: int) -> None:  # noqa: B027
        """Raise ``UserError`` if the options do not suit vectors of P = ``size`` numbers."""

    def delta(self, size: int) -> float | None:
        """Return δ in (0, 1] for vectors of ``size`` numbers, or None if the compressor is not contractive."""
        return None

    def omega(self, size: int) -> float | None:
        """Return ω ≥ 0 for vectors of ``size`` numbers, or None if the compressor is not unbiased."""
        return None

    @abstractmethod
    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        """Return exactly the bytes to send, uint8, (rows, B), for vectors v, (rows, P), and generators by row.

        B must depend on P and the dtype only.
        """

    @abstractmethod
    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        """Return C(v), (rows, size), in the dtype of v, from the bytes of ``pack``, uint8, (rows, B).

        ``size`` is P. With ``shared_draws``, ``draws`` returns the same generators as in ``pack``.
        """
