"""Ways in which a disk may change a file."""

from __future__ import annotations

import random
from pathlib import Path


def flip(path: Path, chance: random.Random) -> None:
    """One bit."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def cut(path: Path, chance: random.Random) -> None:
    """The tail is gone."""
    path.write_bytes(path.read_bytes()[: chance.randrange(path.stat().st_size)])


def zero(path: Path, chance: random.Random) -> None:
    """A block of zeros, as after a power cut."""
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content))
    length = min(len(content) - start, chance.choice([16, 512, 4096]))
    content[start : start + length] = bytes(length)
    path.write_bytes(content)


def swap(path: Path, chance: random.Random) -> None:
    """Two pieces, or lines where there are some, change places."""
    content = path.read_bytes()
    pieces = content.splitlines(keepends=True)
    if len(pieces) < 3:
        size = max(1, len(content) // 8)
        pieces = [content[i : i + size] for i in range(0, len(content), size)]
    a, b = sorted(chance.sample(range(len(pieces)), 2))
    pieces[a], pieces[b] = pieces[b], pieces[a]
    path.write_bytes(b"".join(pieces))


WAYS = (flip, cut, zero, swap)
