"""Payloads of compressors as bytes, and sums in a fixed order.

Integers of ``width`` bits are packed without gaps: bit b of number i is bit i·width + b of the row, and bit m of the
row is bit m mod 8, counted from the least significant, of byte ⌊m/8⌋. The last byte is filled with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad


def width_for(values: int) -> int:
    """Return ⌈log₂ values⌉, the bits that distinguish so many values."""
    return (values - 1).bit_length()


def packed_bytes(count: int, width: int) -> int:
    """Return the bytes for ``count`` integers of ``width`` bits."""
    return -(-count * width // 8)


def pack_bits(numbers: Tensor, width: int) -> Tensor:
    """Pack integers 0 … 2^width − 1, (rows, count), into bytes, (rows, packed_bytes)."""
    rows, count = numbers.shape
    groups = pad(numbers, (0, -count % 8)).view(rows, -1, 8)  # 8 numbers are ``width`` bytes
    packed = torch.zeros(rows, groups.shape[1], width, dtype=torch.uint8, device=numbers.device)
    for i, byte, shift in _pieces(width):
        piece = groups[..., i] >> shift if shift >= 0 else groups[..., i] << -shift
        packed[..., byte] |= (piece & 0xFF).to(torch.uint8)
    return packed.flatten(1)[:, : packed_bytes(count, width)]


def unpack_bits(packed: Tensor, count: int, width: int) -> Tensor:
    """Return the integers of ``pack_bits`` as int64, (rows, count)."""
    rows, eights = len(packed), -(-count // 8)
    groups = pad(packed, (0, eights * width - packed.shape[1])).view(rows, eights, width).long()
    numbers = torch.zeros(rows, eights, 8, dtype=torch.int64, device=packed.device)
    for i, byte, shift in _pieces(width):
        numbers[..., i] |= groups[..., byte] << shift if shift >= 0 else groups[..., byte] >> -shift
    return (numbers & ((1 << width) - 1)).flatten(1)[:, :count]


def _pieces(width: int) -> Iterator[tuple[int, int, int]]:
    """Yield (number, byte, first bit in the number) for each byte that 8 numbers in ``width`` bytes share."""
    for i in range(8):
        for byte in range(i * width // 8, packed_bytes(i + 1, width)):
            yield i, byte, 8 * byte - i * width


def to_bytes(values: Tensor) -> Tensor:
    """Return floats (rows, count) as bytes, (rows, bytes), in the byte order of the machine."""
    return values.contiguous().view(torch.uint8)


def from_bytes(packed: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a copy of the floats of ``to_bytes``. A slice of a message may not be aligned, hence the copy."""
    return packed.clone(memory_format=torch.contiguous_format).view(dtype)


def fixed_sum(values: Tensor) -> Tensor:
    """Return sums over the last axis in float64, (rows, 1), in one order for every device, batch and thread count."""
    values = values.double()
    while values.shape[-1] > 1:
        half = (values.shape[-1] + 1) // 2
        values = values[..., :half] + pad(values[..., half:], (0, values.shape[-1] % 2))
    return values
