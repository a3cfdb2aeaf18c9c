"""Counts, lists and ranges in sentences, and sort keys of names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import groupby

DIGITS = re.compile(r"([0-9]{1,15})")
"""ASCII digits only, and few: int() rejects some Unicode digits and texts of 5000 digits."""


def many(count: int, word: str) -> str:
    """1 run, 2 runs"""
    return f"{count} {word}{'s' * (count != 1)}"


def listed(words: Iterable[str]) -> str:
    """a, b and c"""
    *before, last = [*words] or [""]
    return f"{', '.join(before)} and {last}" if before else last


def ranges(numbers: Iterable[int], least: int = 2) -> str:
    """0–4, 7; sequences of fewer than ``least`` numbers are listed one by one."""
    ordered = sorted({int(number) for number in numbers})
    runs = [[number for _, number in some] for _, some in groupby(enumerate(ordered), lambda item: item[1] - item[0])]
    parts = [f"{run[0]}–{run[-1]}" if len(run) >= least else ", ".join(map(str, run)) for run in runs]
    return ", ".join(parts) or "none"


def natural_order(text: str) -> list[tuple[float, str]]:
    """Return a sort key: s2 before s10, 1e-05 before 0.1, numbers before words."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    return by_count(text, math.inf) if math.isnan(number) else [(number, "")]


def by_count(text: str, word: float = 0) -> list[tuple[float, str]]:
    """Return a sort key: trial2 before trial10. ``word`` is the number of a part without digits."""
    return [(float(part), part) if DIGITS.fullmatch(part) else (word, part) for part in DIGITS.split(text)]
