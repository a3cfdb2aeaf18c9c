"""The digits that an error leaves a number, and which number of a setting is the best beyond chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.study.statistics import Interval, significantly_different
from analysis.tables import Table
from analysis.tables.format import SETTING, Number, plain_cell

PLAIN = (1e-3, 1e5)
"""Between these, numbers are written without a power of ten."""
MOST_DIGITS = 5
Cell = tuple[int, str]
"""The place of a row, and a column."""


def best(shown: pd.DataFrame) -> set[Cell]:
    """Of every metric in every setting the cell with the best mean, and those that are equal to it, where seeds tell
    them apart from each other one; none where there is no other, or nobody said which way is better."""
    out = set()
    among = groups(shown)
    for column in shown:
        for group in set(among):
            cells = [(place, cell) for place, cell in enumerate(shown[column]) if among[place] == group]
            known = [(p, c) for p, c in cells if isinstance(c, Number) and np.isfinite(c.found.value)]
            known = [(p, c) for p, c in known if c.more_is_better is not None]
            if len(known) > 1:
                sign = -1 if known[0][1].more_is_better else 1
                _, top = min(known, key=lambda item: sign * item[1].found.value)
                first = {place: cell for place, cell in known if equal(top, cell)}
                rest = [cell for place, cell in known if place not in first]
                family = len(known) - 1
                if rest and all(
                    significantly_different(one.values, c.values, family) for one in first.values() for c in rest
                ):
                    out |= {(place, column) for place in first}
    return out


def equal(a: Number, b: Number) -> bool:
    """Whether two numbers differ by rounding alone, or not in any digit that a table would show."""
    x, y = a.found.value, b.found.value
    size = max(abs(x), abs(y))
    if size <= max(a.noise, b.noise) or abs(x - y) <= max(a.precision, b.precision) * size:
        return True
    return rounded(a.found, MOST_DIGITS - 1)[::2] == rounded(b.found, MOST_DIGITS - 1)[::2]


def more_digits(shown: pd.DataFrame, bold: set[Cell]) -> dict[Cell, int]:
    """By cell: the digits beyond those of its error without which what is bold would read like another one."""
    out: dict[Cell, int] = {}
    among = groups(shown)
    for place, column in bold:
        others = [p for p in range(len(shown)) if among[p] == among[place] and isinstance(shown[column][p], Number)]
        found = {p: shown[column][p].found for p in others if np.isfinite(shown[column][p].found.value)}
        for more in range(MOST_DIGITS):
            read = {p: rounded(one, more)[::2] for p, one in found.items()}
            if read[place] not in [text for p, text in read.items() if (p, column) not in bold]:
                break
        out |= {(p, column): more for p in found}
    return out


def rounded(found: Interval, more: int = 0) -> tuple[str, str, int]:
    """The value to the digits that its error leaves it, and so many ``more``: one digit of the error, two where the
    first is a 1. The value, the error where there is one, and the power of ten that both are times."""
    value, half = found.value, found.high - found.value
    size = max(abs(value), half) if np.isfinite(half) else abs(value)
    power = 0 if size == 0 or PLAIN[0] <= size < PLAIN[1] else int(np.floor(np.log10(size)))
    parts = _digits(value / 10.0**power, half / 10.0**power, more)
    if power and max(abs(float(part)) for part in parts if part) >= 10:  # 9.96 has become 10
        power += 1
        parts = _digits(value / 10.0**power, half / 10.0**power, more)
    return *parts, power


def _digits(value: float, half: float, more: int) -> tuple[str, str]:
    if not (np.isfinite(half) and half > 0):
        text = f"{value:.{4 + more}g}"
        return f"{value:.0f}" if "e" in text else text, ""  # 96000, which is below what has a power of ten
    first = int(np.floor(np.log10(half)))
    places = max(0, -first + (half / 10.0**first < 1.95) + more)
    return f"{value:.{places}f}", f"{half:.{places}f}"


def in_digits(table: Table) -> Table:
    """The same table with its numbers in the digits of the LaTeX one, as text."""
    shown = table.shown.reset_index(drop=True)
    more = more_digits(shown, best(shown))
    cells = {c: [text(cell, more.get((place, c), 0)) for place, cell in enumerate(shown[c])] for c in shown}
    return replace(table, shown=pd.DataFrame(cells, dtype=object))


def text(cell: object, more: int = 0) -> object:
    """A cell in the digits that its error leaves it."""
    if not isinstance(cell, Number) or not np.isfinite(cell.found.value):
        return plain_cell(cell)
    value, half, power = rounded(cell.found, more)
    return " ± ".join(f"{part}e{power:+03d}" if power else part for part in (value, half) if part)


def groups(shown: pd.DataFrame) -> list[tuple[str, ...]]:
    """The setting of every row."""
    by = [c for c in (*SETTING, "data") if c in shown]
    return [tuple(str(row[c]) for c in by) for _, row in shown.iterrows()]
