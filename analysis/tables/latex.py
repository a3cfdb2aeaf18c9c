"""Tables for a paper: booktabs, digits that match the error, in bold what is the best beyond chance."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from analysis.drawing.symbols import LETTERS
from analysis.study.statistics import Interval, told_apart
from analysis.tables import Table
from analysis.tables.format import SETTING, Number, plain_cell

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
SYMBOLS = {
    **{letter: rf"$\{name.rstrip('_')}$" for name, letter in LETTERS.items()},
    "±": r"$\pm$",
    "—": "---",
    "≤": r"$\le$",
    "²": r"\textsuperscript{2}",
    "−": r"$-$",
    "‖": r"$\|$",
    "∇": r"$\nabla$",
    "∞": r"$\infty$",
}
NUMBER = re.compile(r"(?<![\w.$])([+-]?\d+(?:\.\d+)?)(?:e([+-]?\d+))?(?![\w.])")
PLAIN = (1e-3, 1e5)
"""Between these, numbers are written without a power of ten."""
WIDE, LONG = 85, 40
"""Characters of a row from which it is set small, to fit a page, and of a text that is broken into lines."""


def latex(table: Table, title: str) -> str:
    """A table that compiles with nothing but booktabs; columns that say the same in every row, or nothing, stand in the
    comment above it, unless they were asked for."""
    shown = table.shown.reset_index(drop=True)
    same = [c for c in shown if c not in table.asked and len(shown) > 1 and _says_nothing(shown, c)]
    head = [f"% {title}", *(f"% in every row: {c} = {shown[c].iloc[0]}" for c in same)]
    bold, groups = best(shown), _groups(shown)
    digits = _more_digits(shown, bold)
    shown = shown[list(table.asked)] if table.asked else shown.drop(columns=same)
    small = sum(_width(shown, c) for c in shown) > WIDE
    lines = [
        *([r"{\footnotesize\setlength{\tabcolsep}{4pt}%"] if small else []),
        r"\begin{tabular}{" + "".join(_kind(shown, c) for c in shown) + "}",
        r"\toprule",
        " & ".join(_tex(str(c)) for c in shown) + r" \\",
        r"\midrule",
    ]
    for place in range(len(shown)):
        if place and groups[place] != groups[place - 1]:
            lines.append(r"\addlinespace")
        cells = [_cell(shown[c][place], (place, c) in bold, digits.get((place, c), 0)) for c in shown]
        lines.append(" & ".join(cells) + r" \\")
    end = r"\end{tabular}}" if small else r"\end{tabular}"
    return "\n".join([*head, *lines, r"\bottomrule", end, *(f"% {note}" for note in table.notes), ""])


def best(shown: pd.DataFrame) -> set[tuple[int, str]]:
    """Of every metric in every setting the cell with the best mean, where its seeds tell it apart from each other one;
    none where nobody said which way is better."""
    out = set()
    groups = _groups(shown)
    for column in shown:
        for group in set(groups):
            cells = [(place, cell) for place, cell in enumerate(shown[column]) if groups[place] == group]
            known = [(p, c) for p, c in cells if isinstance(c, Number) and np.isfinite(c.found.value)]
            known = [(p, c) for p, c in known if c.more_is_better is not None]
            if len(known) > 1:
                sign = -1 if known[0][1].more_is_better else 1
                place, top = min(known, key=lambda item: sign * item[1].found.value)
                if all(told_apart(top.values, c.values, len(known) - 1) for p, c in known if p != place):
                    out.add((place, column))
    return out


def _more_digits(shown: pd.DataFrame, bold: set[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """By cell: the digits beyond those of its error without which what is bold would read like another one."""
    out: dict[tuple[int, str], int] = {}
    groups = _groups(shown)
    for place, column in bold:
        others = [p for p in range(len(shown)) if groups[p] == groups[place] and isinstance(shown[column][p], Number)]
        found = {p: shown[column][p].found for p in others if np.isfinite(shown[column][p].found.value)}
        for more in range(MOST_DIGITS):
            read = {p: rounded(one, more).split(" ")[0] for p, one in found.items()}
            if list(read.values()).count(read[place]) == 1:
                break
        out |= {(p, column): more for p in found}
    return out


MOST_DIGITS = 5


def rounded(found: Interval, more: int = 0) -> str:
    """The value to the digits that its error leaves it, and so many ``more``: one digit of the error, two where the
    first is a 1."""
    value, half = found.value, found.high - found.value
    size = max(abs(value), half) if np.isfinite(half) else abs(value)
    power = 0 if size == 0 or PLAIN[0] <= size < PLAIN[1] else int(np.floor(np.log10(size)))
    text = _digits(value / 10.0**power, half / 10.0**power, more)
    if power and max(abs(float(part)) for part in text.split(PM)) >= 10:  # 9.96 has become 10
        power += 1
        text = _digits(value / 10.0**power, half / 10.0**power, more)
    if power:
        text = rf"({text}) \times 10^{{{power}}}" if PM in text else rf"{text} \times 10^{{{power}}}"
    return text


PM = r" \pm "


def _digits(value: float, half: float, more: int) -> str:
    if not (np.isfinite(half) and half > 0):
        return f"{value:.{4 + more}g}"
    first = int(np.floor(np.log10(half)))
    places = max(0, -first + (half / 10.0**first < 1.95) + more)
    return f"{value:.{places}f}{PM}{half:.{places}f}"


def _cell(cell: object, bold: bool, more: int) -> str:
    if isinstance(cell, Number) and np.isfinite(cell.found.value):
        text = rounded(cell.found, more)
        return rf"$\mathbf{{{text}}}$" if bold else f"${text}$"
    if isinstance(cell, float) and np.isfinite(cell):
        return f"${rounded(Interval(cell, np.nan, np.nan, 1))}$"
    return _tex(str(plain_cell(cell)))


def _says_nothing(shown: pd.DataFrame, column: str) -> bool:
    """A setting that is the same everywhere, or a column that is empty; what stands behind the method is a result."""
    if shown[column].astype(str).nunique() > 1:
        return False
    columns = list(shown)
    setting = "method" in columns and columns.index(column) < columns.index("method")
    return setting or str(shown[column].iloc[0]) in ("—", "")


def _width(shown: pd.DataFrame, column: str) -> int:
    """Characters, about."""
    return min(LONG, max(len(str(text)) for text in (column, *shown[column])))


def _kind(shown: pd.DataFrame, column: str) -> str:
    """Numbers to the right, text to the left, long text in lines of its own."""
    if _is_number(shown[column]):
        return "r"
    return "p{4.6cm}" if max(len(str(text)) for text in shown[column]) > LONG else "l"


def _groups(shown: pd.DataFrame) -> list[tuple[str, ...]]:
    """The setting of every row."""
    by = [c for c in (*SETTING, "data") if c in shown]
    return [tuple(str(row[c]) for c in by) for _, row in shown.iterrows()]


def _is_number(cells: pd.Series) -> bool:
    return all(isinstance(cell, Number | int | float | np.number) for cell in cells)


def _tex(text: str) -> str:
    """Any text; numbers in it with a real minus, and powers of ten as such."""
    pieces, last = [], 0
    for match in NUMBER.finditer(text):
        digits, power = match.groups()
        written = rf"{digits} \times 10^{{{int(power)}}}" if power else digits
        pieces += [_plain(text[last : match.start()]), f"${written}$" if power or digits[0] in "+-" else digits]
        last = match.end()
    return "".join([*pieces, _plain(text[last:])])


def _plain(text: str) -> str:
    return "".join(SYMBOLS.get(char, SPECIAL.get(char, char)) for char in text)
