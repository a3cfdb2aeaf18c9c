"""LaTeX tables (booktabs) with significant digits, and the significantly best numbers in bold."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.drawing.symbols import LETTERS
from analysis.study.statistics import Interval
from analysis.tables import Table
from analysis.tables.digits import best, groups, more_digits, rounded, text
from analysis.tables.format import Number, is_empty, plain_cell
from bench.terminal.visible import visible

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "{": r"\textbraceleft{}",  # BibTeX counts the brace in \{
    "}": r"\textbraceright{}",
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
    "Σ": r"$\sum$",
    "∇": r"$\nabla$",
    "∞": r"$\infty$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "–": "--",
    "’": "'",
    "⁺": "$^{+}$",
    "↑": r"$\uparrow$",
    "→": r"$\to$",
    "∈": r"$\in$",
    "†": r"$^{\dagger}$",
    "‡": r"$^{\ddagger}$",
    "x\u0304": r"$\bar{x}$",
}
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0308": '"', "\u030c": "v "}
NUMBER = re.compile(r"(?<![\w.$])([+-]?\d+(?:\.\d+)?)(?:e([+-]?[0-9]{1,15}))?(?![\w.])")
WIDE, LONG, PAGE = 85, 40, 115
"""Characters of a row that is set in small type, of a cell that is broken into lines, and of a small row that fits a
page (with ``BETWEEN`` per column)."""
BETWEEN = 2
ONCE = ("schedule", "runs", "nonfinite", "diverging")
"""Columns that move to the comment if they are the same in every row."""


@dataclass(frozen=True)
class Page:
    """The columns of a table that are printed, and those that are not."""

    columns: list[str]
    same: list[str]  # the same in every row
    empty: list[str]
    left_out: list[str]  # dropped to fit a page


def page(table: Table) -> Page:
    """Return the requested columns; else those with information, less spare ones until the table fits a page."""
    shown = table.shown
    several = len(shown) > 1
    empty = [c for c in shown if c not in table.asked and all(map(is_empty, shown[c]))]
    same = [c for c in shown if several and c not in (*empty, *table.asked) and _says_the_same(shown, c)]
    if table.asked:
        return Page(list(table.asked), same, [], [])
    columns, left_out = [c for c in shown if c not in (*same, *empty)], list[str]()
    for column in (c for c in table.spare if c in columns):
        if sum(_width(shown, c) + BETWEEN for c in columns) <= PAGE:
            break
        columns.remove(column)
        left_out.append(column)
    return Page(columns, same, empty, left_out)


def latex(table: Table, title: str) -> str:
    """Return a table that needs only booktabs; a comment above it lists the columns that it does not print."""
    shown, fits = table.shown.reset_index(drop=True), page(table)
    head = [title, *(f"in every row: {c} = {plain_cell(shown[c].iloc[0])}" for c in fits.same)]
    head += [f"in no row: {', '.join(fits.empty)}"] if fits.empty else []
    head += [left_out_in_words(fits)] if fits.left_out else []
    bold, among = best(shown), groups(shown)
    digits = more_digits(shown, bold)
    shown = shown[fits.columns]
    small = sum(_width(shown, c) for c in shown) > WIDE
    lines = [
        *([r"{\footnotesize\setlength{\tabcolsep}{4pt}%"] if small else []),
        r"\begin{tabular}{" + "".join(_kind(shown, c) for c in shown) + "}",
        r"\toprule",
        " & ".join(tex(str(c)) for c in shown) + r" \\",
        r"\midrule",
    ]
    for place in range(len(shown)):
        if place and among[place] != among[place - 1]:
            lines.append(r"\addlinespace")
        cells = [_cell(shown[c][place], (place, c) in bold, digits.get((place, c), 0)) for c in shown]
        lines.append(" & ".join(cells) + r" \\")
    end = r"\end{tabular}}" if small else r"\end{tabular}"
    return "\n".join([*map(_comment, head), *lines, r"\bottomrule", end, *map(_comment, table.notes), ""])


def _comment(text: str) -> str:
    """Return a comment of one line."""
    return f"% {' '.join(visible(text).splitlines())}"


def left_out_in_words(fits: Page) -> str:
    return f"dropped to fit a page: {', '.join(fits.left_out)} (choose with --columns NAME,NAME; the CSV has all)"


def number(found: Interval, more: int = 0) -> str:
    """Return a number in math mode."""
    value, half, power = rounded(found, more)
    text = rf"{value} \pm {half}" if half else value
    if power:
        return rf"({text}) \times 10^{{{power}}}" if half else rf"{text} \times 10^{{{power}}}"
    return text


def _cell(cell: object, bold: bool, more: int) -> str:
    if isinstance(cell, Number) and np.isfinite(cell.found.value):
        text = number(cell.found, more)
        return rf"$\mathbf{{{text}}}$" if bold else f"${text}$"
    if isinstance(cell, float) and np.isfinite(cell):
        return f"${number(Interval(cell, np.nan, np.nan, 1))}$"
    return tex(str(plain_cell(cell)))


def _says_the_same(shown: pd.DataFrame, column: str) -> bool:
    """Return whether a setting, the schedule or a count is the same in every row; other columns are results."""
    columns = list(shown)
    setting = "method" in columns and columns.index(column) < columns.index("method")
    return (setting or column in ONCE) and shown[column].map(plain_cell).astype(str).nunique() == 1


def _width(shown: pd.DataFrame, column: str) -> int:
    """Return the approximate width of a column in characters."""
    return min(LONG, max(len(str(column)), *(len(str(text(cell))) for cell in shown[column])))


def _kind(shown: pd.DataFrame, column: str) -> str:
    """Return the alignment: numbers to the right, text to the left, long text in several lines."""
    if all(isinstance(cell, Number | int | float | np.number) for cell in shown[column]):
        return "r"
    return "p{4.6cm}" if max(len(str(text)) for text in shown[column]) > LONG else "l"


def tex(text: str) -> str:
    """Escape a text, and typeset signed numbers and powers of ten in it."""
    pieces, last = [], 0
    for match in NUMBER.finditer(text):
        digits, power = match.groups()
        written = rf"{digits} \times 10^{{{int(power)}}}" if power else digits
        pieces += [_plain(text[last : match.start()]), f"${written}$" if power or digits[0] in "+-" else digits]
        last = match.end()
    return "".join([*pieces, _plain(text[last:])])


def _plain(text: str) -> str:
    """Replace special characters, symbols and accents by commands of LaTeX and BibTeX."""
    letters = re.findall("x\u0304|.", " ".join(visible(text).split("\n")), re.DOTALL)
    return "".join(SYMBOLS.get(letter) or SPECIAL.get(letter) or _accented(letter) for letter in letters)


def _accented(letter: str) -> str:
    parts = unicodedata.normalize("NFD", letter)
    accent = ACCENTS.get(parts[1:])
    return f"{{\\{accent}{parts[0]}}}" if accent else letter
