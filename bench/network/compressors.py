"""The compressors of the suite, and the bytes that each sends.

Floats are sent in the dtype of v, in the machine's byte order; integers as bits.py packs them. The code multiplies by
inverse constants and never divides by a constant, because a GPU rounds such a division differently.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.options import AtLeast, Count, Part
from bench.network.bits import fixed_sum, from_bytes, pack_bits, to_bytes, unpack_bits, width_for
from bench.network.compressor import Compressor, Draws, compressor

MOST_LEVELS = 2**31 - 1
"""More levels would need more bits than a float32."""


@compressor("none")
class Dense(Compressor):
    """C(v) = v. Payload: the P floats."""

    def delta(self, size: int) -> float | None:
        return 1.0

    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        return to_bytes(v)

    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        return from_bytes(payload, dtype)


class Sparse(Compressor):
    """Base class of compressors that send k of the P numbers: ``k`` if set, else ``fraction``·P, at least one."""

    k: Count | None = None
    fraction: Part = 0.1

    def count(self, size: int) -> int:
        return self.k or max(1, round(self.fraction * size))

    def check(self, size: int) -> None:
        if self.count(size) > size:
            raise UserError(
                f"compressor.k must be at most {size}, the length of the vectors; got {self.k}. Or set "
                "compressor.k=null and compressor.fraction."
            )

    def delta(self, size: int) -> float | None:
        return self.count(size) / size


@compressor("top_k")
class TopK(Sparse):
    """The k entries with the largest |v_i|; ties go to the first, and NaN counts as largest. δ = k/P.

    Payload: k floats by increasing index, then their k indices (from 0) in ⌈log₂ P⌉ bits each.
    """

    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        places = _largest(v, self.count(v.shape[1]))
        return torch.cat([to_bytes(v.gather(1, places)), pack_bits(places, width_for(v.shape[1]))], dim=1)

    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        k = self.count(size)
        values, places = payload.split([k * dtype.itemsize, payload.shape[1] - k * dtype.itemsize], dim=1)
        return _scatter(from_bytes(values, dtype), unpack_bits(places, k, width_for(size)), size)


@compressor("random_k")
class RandomK(Sparse):
    """k entries drawn without replacement, δ = k/P; with ``unbiased``, scaled by P/k, ω = P/k − 1.

    Payload: k floats by increasing index. The receiver draws the same indices from the shared seed.
    """

    shared_draws = True
    unbiased: bool = False

    def delta(self, size: int) -> float | None:
        return None if self.unbiased else super().delta(size)

    def omega(self, size: int) -> float | None:
        return size / self.count(size) - 1 if self.unbiased else None

    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        values = v.gather(1, self._places(v, v.shape[1], draws))
        return to_bytes(torch.where(v.isfinite().all(1, keepdim=True), values, math.nan))  # also if it is not drawn

    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        values = from_bytes(payload, dtype) * (size / self.count(size) if self.unbiased else 1.0)
        return _scatter(values, self._places(payload, size, draws), size)

    def _places(self, of: Tensor, size: int, draws: Draws) -> Tensor:
        k = self.count(size)
        drawn = [np.sort(draws(row).choice(size, k, replace=False, shuffle=False)) for row in range(len(of))]
        return torch.from_numpy(np.array(drawn, dtype=np.int64).reshape(len(of), k)).to(of.device)


@compressor("qsgd")
class QSGD(Compressor):
    """‖v‖ sign(v_i) l_i / s, where l_i is s|v_i|/‖v‖, rounded up or down at random without bias.

    With ``unbiased``, ω = min(P/s², √P/s). Otherwise divided by 1 + ω, so that δ = 1/(1 + ω).
    Payload: ‖v‖ as a float, then s ± l_i in ⌈log₂(2s + 1)⌉ bits each.
    """

    levels: Annotated[int, AtLeast(1, most=MOST_LEVELS)] = 15  # s
    unbiased: bool = False

    def delta(self, size: int) -> float | None:
        return None if self.unbiased else 1 / (1 + self._variance(size))

    def omega(self, size: int) -> float | None:
        return self._variance(size) if self.unbiased else None

    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        norm = fixed_sum(v.double().square()).sqrt().to(v.dtype)
        chance = torch.from_numpy(np.array([draws(row).random(v.shape[1]) for row in range(len(v))]).reshape(v.shape))
        exact = v.double().abs() / norm.double() * self.levels  # relative to the norm that is sent
        # 0/0 and non-finite values become level 0; the receiver recognizes them by the norm
        level = (exact + chance.to(v.device)).floor().clamp(max=self.levels).nan_to_num(nan=0.0).copysign(v.double())
        return torch.cat([to_bytes(norm), pack_bits(level.long() + self.levels, width_for(2 * self.levels + 1))], dim=1)

    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        norm, packed = payload.split([dtype.itemsize, payload.shape[1] - dtype.itemsize], dim=1)
        level = unpack_bits(packed, size, width_for(2 * self.levels + 1)) - self.levels
        unit = 1 / (self.levels if self.unbiased else self.levels * (1 + self._variance(size)))
        return (from_bytes(norm, dtype).double() * (level.double() * unit)).to(dtype)

    def _variance(self, size: int) -> float:
        return min(size / self.levels**2, math.sqrt(size) / self.levels)


@compressor("sign")
class Sign(Compressor):
    """(‖v‖₁/P) sign v, with sign 0 = 1. The error is ‖v‖² − ‖v‖₁²/P, hence δ = 1/P.

    Payload: ‖v‖₁/P as a float, then P bits, which are 1 if v_i < 0.
    """

    def delta(self, size: int) -> float | None:
        return 1 / size

    def pack(self, v: Tensor, draws: Draws) -> Tensor:
        scale = (fixed_sum(v.double().abs()) * (1 / v.shape[1])).to(v.dtype)
        return torch.cat([to_bytes(scale), pack_bits((v < 0).to(torch.uint8), 1)], dim=1)

    def unpack(self, payload: Tensor, size: int, dtype: torch.dtype, draws: Draws) -> Tensor:
        scale = from_bytes(payload[:, : dtype.itemsize], dtype)
        return torch.where(unpack_bits(payload[:, dtype.itemsize :], size, 1).bool(), -scale, scale)


def _largest(v: Tensor, k: int) -> Tensor:
    """Return the indices of the k largest |v_i| of every row, increasing; ties go to the first."""
    whole = torch.int32 if v.dtype == torch.float32 else torch.int64
    size = v.contiguous().view(whole) & torch.iinfo(whole).max  # nonnegative floats are ordered as their bits
    least = size.topk(k, dim=1).values[:, -1:]
    more, tied = size > least, size == least
    chosen = more | (tied & (tied.cumsum(1) <= k - more.sum(1, keepdim=True)))
    return chosen.nonzero()[:, 1].view(len(v), k)


def _scatter(values: Tensor, places: Tensor, size: int) -> Tensor:
    return values.new_zeros(len(values), size).scatter(1, places, values)
