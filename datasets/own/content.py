"""What a file of the user's holds, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.base.errors import UserError


@dataclass(frozen=True)
class Column:
    """Values of float64 with NaN where one is missing, or words with None.

    ``declared``: they are words even if they look like numbers.
    """

    name: str
    values: np.ndarray
    declared: bool = False

    @property
    def numbers(self) -> bool:
        return self.values.dtype.kind == "f"


@dataclass(frozen=True)
class Content:
    """What a file holds. Inputs are columns, or one array of a row per sample; targets one column, or several numbers
    per row. ``tests`` are inputs and targets that the file sets apart for testing."""

    target: Column
    columns: list[Column]
    array: np.ndarray | None = None
    tests: tuple[np.ndarray, Column] | None = None


def sentence(error: Exception) -> str:
    """The first line of what a library says, for the end of ours."""
    return str(error).splitlines()[0].rstrip(".")[:200] + "." if str(error) else f"{type(error).__name__}."


def first_row(wrong: np.ndarray) -> int:
    """The number of the first row in which something is wrong; the first row of a file is 1."""
    return int(np.argwhere(wrong)[0][0]) + 1


def refuse_large(where: str, values: np.ndarray) -> None:
    """A UserError where a number is infinite, or larger than a float32 can be."""
    wrong = np.abs(values) > np.finfo(np.float32).max
    if wrong.any():
        raise UserError(f"{where} has {values[wrong][0]:g} in row {first_row(wrong)}; numbers must be at most 3e38.")


def some(words: list[str], most: int = 12) -> str:
    """The first few, for a line."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
