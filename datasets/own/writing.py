"""How a file writes its numbers, and which words only look like words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import Column

Decimal = Literal["comma", "point"]
Thousands = Literal["comma", "point", "space", "apostrophe"]
MARKS = {"point": ".", "comma": ",", "space": " \u00a0\u202f", "apostrophe": "'\u2019"}
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "?")
"""What stands for a missing value in a file,"""
VOID = ("None", "none", "-", "--", ".")
"""and what may, among numbers."""
SIGNS = "$€£¥%() "
"""Around a number: of money and percent, and the parentheses of accountants."""
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR"
_UNITS = rf"{_CODES}|[mk]?g|lbs?|oz|[ckm]?m[²³]?|mi|ft|ms|sec|min|h|hrs?|days?|yrs?|years?|[kM]|bn|°[CF]|[kM]?Wh?"
_UNITS += r"|[kMG]?Hz|[kKMGT]i?B|m?[lL]|[hk]?Pa|bar|mph|km/h|m/s"
UNIT = re.compile(rf"(?:(?:{_CODES}) ?)?(.*[\d.,])(?: ?(?:{_UNITS}))?")
_DAY = r"\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4}|\d\d[-/.]\d\d[-/.]\d\d|\d\d?/\d\d?/\d\d"
_DAY += r"|(?:19|20)\d\d[-/](?:0[1-9]|1[0-2])"
_MONTH = r"\d\d?[ .-]*[A-Za-z]{3,9}[ .,-]+\d{2,4}|[A-Za-z]{3,9}[ .]+\d\d?,? +\d{4}"
_TIME = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?( ?Z| ?[+-]\d\d:?\d\d)?"
DATE = re.compile(rf"({_DAY}|{_MONTH})([T ]+{_TIME})?|{_TIME}")


class Writing(NamedTuple):
    """The mark before the fraction of a number, and the one between its thousands."""

    decimal: Decimal | None = None
    thousands: Thousands | None = None

    def number(self, word: str) -> float | None:
        """The number that a word is; None if it is none."""
        word = word.replace("\u2212", "-")  # the minus sign of typesetting
        if self != PLAIN:
            if not _pattern(self).fullmatch(word):
                return None
            for mark in MARKS[self.thousands] if self.thousands else "":
                word = word.replace(mark, "")
            word = word.replace(MARKS[self.decimal or "point"], ".")
        try:
            return float(word)
        except ValueError:
            return None

    def typed(self, now: Writing) -> str:
        """The options that lead here from ``now``."""
        parts = zip(self._fields, self, now, strict=True)
        return " ".join(f"dataset.{name}={value or 'null'}" for name, value, before in parts if value != before)


PLAIN = Writing()
DECIMALS: tuple[Decimal | None, ...] = (None, "comma")
GROUPED: tuple[Thousands | None, ...] = (None, "comma", "point", "space", "apostrophe")
WRITINGS = [Writing(d, t) for t in GROUPED for d in DECIMALS if t != (d or "point")]


@cache
def _pattern(writing: Writing) -> re.Pattern[str]:
    point = re.escape(MARKS[writing.decimal or "point"])
    mark = rf"[{MARKS[writing.thousands]}]" if writing.thousands else ""
    groups = rf"\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}|" if mark else ""  # by two in India
    return re.compile(rf"[+-]?(?:(?:{groups}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


def refuse_numbers(column: Column, now: Writing) -> None:
    """A UserError where at least half of the words of a column are numbers or dates: then they are no categories."""
    values = column.values.tolist()
    times = Counter(word for word in values if word not in (None, *VOID))
    numbers = {w: sum(n for word, n in times.items() if w.number(word) is not None) for w in WRITINGS}
    most, half = max(numbers.values()), times.total() / 2
    odds = [word for word in values if word is not None and now.number(word) is None]
    if not odds or not times:
        return
    if numbers[now] == most >= half:
        odd = odds[0]
        raise UserError(
            f"Column {column.name!r} has numbers, and {odd!r} in row {values.index(odd) + 1}. Write numbers in all "
            "rows, or words; an empty cell is a missing value."
        )
    if most >= half:
        fits = sorted((w for w in WRITINGS if numbers[w] == most), key=lambda w: len(w.typed(now)))
        odd = next(word for word in times if now.number(word) is None and fits[0].number(word) is not None)
        ways: dict[float, str] = {}
        for each in fits:  # the shortest to type, for each number that it may be
            if (value := each.number(odd)) is not None:
                ways.setdefault(value, f"{each.typed(now)} (read as {value:.10g})")
        raise UserError(
            f"Column {column.name!r} has {odd!r} in row {values.index(odd) + 1}, a number with another decimal mark or "
            f"with thousands separators. Add {' or '.join(ways.values())}."
        )
    units = [word for word in times if any(w.number(_bare(word)) is not None for w in WRITINGS)]
    if sum(times[word] for word in units) >= half:
        odd = next(word for word in units if now.number(word) is None)
        raise UserError(
            f"Column {column.name!r} has {odd!r} in row {values.index(odd) + 1}, a number with a unit. Write the "
            "number alone, and the unit in the column's name; negative numbers begin with a minus sign."
        )
    dates = [word for word in times if DATE.fullmatch(word)]
    if sum(times[word] for word in dates) >= half:
        raise UserError(no_dates(column.name, dates[0]))


def _bare(word: str) -> str:
    """A word without the unit that it may have."""
    word = word.strip(SIGNS)
    found = UNIT.fullmatch(word)
    return found[1].strip(SIGNS) if found else word


def refuse_points(name: str, words: Sequence[str]) -> None:
    """A UserError where numbers as 950 and 1.101 stand together: the point may stand between thousands."""
    points = [word for word in words if re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", word)]
    whole = [word for word in words if re.fullmatch(r"[+-]?\d{1,3}", word)]
    told = any(word.endswith("0") for word in points) or any(len(word.lstrip("+-")) == 3 for word in whole)
    if points and whole and len(points) + len(whole) == len(words) and told:
        raise UserError(
            f"Column {name!r} has {whole[0]!r} and {points[0]!r}. Is the point a thousands separator? Add "
            f"dataset.thousands=point (read as {points[0].replace('.', '')}) or dataset.decimal=point (read as "
            f"{float(points[0]):g})."
        )


def of_words(name: str, words: Sequence[str], writing: Writing) -> Column:
    """Numbers where all are, else words."""
    known = [None if (word := each.strip()) in MISSING else word for each in words]
    numbers = [np.nan if word is None else writing.number(word) for word in known]
    return Column(name, np.array(known, dtype=object) if None in numbers else np.array(numbers, dtype=np.float64))


def no_dates(name: str, example: object) -> str:
    return (
        f"Column {name!r} has dates or times, as {str(example)!r}, which hearsay does not read. Write numbers in their "
        f"place (the year, days since a start), or leave the column out: 'dataset.drop=[{name}]'."
    )
