"""Rounding to significant digits, and the significantly best numbers of a setting."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from analysis.study.statistics import Interval, significantly_better
from analysis.tables import Table
from analysis.tables.format import SETTING, Number, plain_cell

PLAIN = (1e-3, 1e5)
"""The range of numbers that are written without a power of ten."""
MOST_DIGITS = 5
Cell = tuple[int, str]
"""The position of a row, and a column."""


def best(shown: pd.DataFrame) -> set[Cell]:
    """Return the cells with the best mean of a metric in a setting, and those that are equal to it.

    Only if they are significantly better than all other cells of the setting, and the direction of the metric is known.
    """
    out = set()
    places: dict[tuple[str, ...], list[int]] = {}
    for place, group in enumerate(groups(shown)):
        places.setdefault(group, []).append(place)
    columns = {column: shown[column].tolist() for column in shown}
    for column, some in product(columns, places.values()):
        cells = [(place, columns[column][place]) for place in some]
        known = {p: c for p, c in cells if isinstance(c, Number) and np.isfinite(c.found.value)}
        known = {p: c for p, c in known.items() if c.more_is_better is not None}
        if not known:
            continue
        more, family = any(c.more_is_better for c in known.values()), len(known) - 1
        extreme = max if more else min
        top = extreme(known.values(), key=lambda cell: cell.found.value)
        first = {p: c for p, c in known.items() if equal(top, c)}
        pairs = list(product(first.values(), (c for p, c in known.items() if p not in first)))
        if pairs and all(significantly_better(one.values, other.values, more, family) for one, other in pairs):
            out |= {(place, column) for place in first}
    return out


def equal(a: Number, b: Number) -> bool:
    """Return whether two numbers differ only by rounding, or in no digit that a table shows."""
    x, y = a.found.value, b.found.value
    size = max(abs(x), abs(y))
    if size <= max(a.noise, b.noise) or abs(x - y) <= max(a.precision, b.precision) * size:
        return True
    return rounded(a.found, MOST_DIGITS - 1)[::2] == rounded(b.found, MOST_DIGITS - 1)[::2]


def more_digits(shown: pd.DataFrame, bold: set[Cell]) -> dict[Cell, int]:
    """Return the extra digits of cells that make a bold number differ visibly from the others."""
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
    """Return the value, its error (may be empty) and their common power of ten, with ``more`` extra digits.

    The error has one digit, or two if the first is 1; the value has as many decimals.
    """
    value, half = found.value, found.high - found.value
    size = max(abs(value), half) if np.isfinite(half) else abs(value)
    power = 0 if size == 0 or PLAIN[0] <= size < PLAIN[1] else int(np.floor(np.log10(size)))
    parts = _digits(_over(value, power), _over(half, power), more)
    if power and max(abs(float(part)) for part in parts if part) >= 10:  # 9.96 has become 10
        power += 1
        parts = _digits(_over(value, power), _over(half, power), more)
    return *parts, power


def _over(value: float, power: int) -> float:
    """Return the value without a power of ten, which may be too small for a number of its own."""
    return value / 10.0**power if power > -300 else value * 1e300 / 10.0 ** (power + 300)


def _digits(value: float, half: float, more: int) -> tuple[str, str]:
    if not (np.isfinite(half) and half > 0):
        text = f"{value:.{4 + more}g}"
        return f"{value:.0f}" if "e" in text else text, ""  # 96000 is below the limit for powers of ten
    first = int(np.floor(np.log10(half)))
    places = max(0, -first + (_over(half, first) < 1.95) + more)
    return f"{value:.{places}f}", f"{half:.{places}f}"


def in_digits(table: Table) -> Table:
    """Return the table with its numbers as text, rounded as in LaTeX."""
    shown = table.shown.reset_index(drop=True)
    more = more_digits(shown, best(shown))
    cells = {c: [text(cell, more.get((place, c), 0)) for place, cell in enumerate(shown[c])] for c in shown}
    return replace(table, shown=pd.DataFrame(cells, dtype=object))


def text(cell: object, more: int = 0) -> object:
    """Return a cell rounded to its significant digits."""
    if not isinstance(cell, Number):
        return plain_cell(cell)
    if not np.isfinite(cell.found.value):
        return str(cell)
    value, half, power = rounded(cell.found, more)
    return " ± ".join(f"{part}e{power:+03d}" if power else part for part in (value, half) if part)


def groups(shown: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the setting of every row."""
    by = [c for c in (*SETTING, "data") if c in shown]
    return [*zip(*(map(str, shown[c]) for c in by), strict=True)] or [()] * len(shown)
