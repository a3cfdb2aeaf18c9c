"""Counts and lists as a sentence has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby


def many(count: int, word: str) -> str:
    """1 run, 2 runs"""
    return f"{count} {word}{'s' * (count != 1)}"


def listed(words: Iterable[str]) -> str:
    """a, b and c"""
    *before, last = [*words] or [""]
    return f"{', '.join(before)} and {last}" if before else last


def ranges(numbers: Iterable[int], least: int = 2) -> str:
    """0–4, 7: of ``least`` numbers or more that follow each other the first and the last."""
    ordered = sorted({int(number) for number in numbers})
    runs = [[number for _, number in some] for _, some in groupby(enumerate(ordered), lambda item: item[1] - item[0])]
    return ", ".join(_range(run, least) for run in runs) or "none"


def _range(run: Sequence[int], least: int) -> str:
    return f"{run[0]}–{run[-1]}" if len(run) >= least else ", ".join(map(str, run))
