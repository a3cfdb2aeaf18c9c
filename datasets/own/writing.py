"""Number formats of a file, and detection of words that may be numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, get_args
from unicodedata import category

import numpy as np

from bench.base.errors import UserError
from datasets.own.content import DIGITS, Column, refuse_rounded

Decimal = Literal["comma", "point"]
Thousands = Literal["comma", "point", "space", "apostrophe"]
MARKS = {"point": ".", "comma": ",", "space": " \u00a0\u2007\u2009\u202f", "apostrophe": "'\u2019"}
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "null", "NULL", "?")
"""Markers of missing values."""


class Writing(NamedTuple):
    """Decimal mark and thousands separator. By default the point is decimal, and ambiguous points are rejected."""

    decimal: Decimal | None = None
    thousands: Thousands | None = None

    def number(self, word: str) -> float | None:
        """The number that a word represents, or None."""
        word = word.replace("\u2212", "-")  # typographic minus sign
        if not _pattern(self).fullmatch(word):
            return None
        for mark in MARKS[self.thousands] if self.thousands else "":
            word = word.replace(mark, "")
        return float(word.replace(MARKS[self.decimal or "point"], "."))

    def typed(self, now: Writing) -> str:
        """The options that change ``now`` into this format."""
        parts = zip(self._fields, self, now, strict=True)
        return " ".join(f"dataset.{name}={value or 'null'}" for name, value, before in parts if value != before)


POINT = Writing("point")
WRITINGS = [Writing(d, t) for t in (None, *get_args(Thousands)) for d in reversed(get_args(Decimal)) if t != d]


@cache
def _pattern(writing: Writing) -> re.Pattern[str]:
    point = re.escape(MARKS[writing.decimal or "point"])
    mark = rf"[{MARKS[writing.thousands]}]" if writing.thousands else ""
    groups = rf"\d{{1,3}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}|" if mark else ""  # groups of two in India
    return re.compile(rf"[+-]?(?:(?:{groups}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


def refuse_numbers(column: Column, now: Writing, remedy: str) -> None:
    """Reject words that may be numbers, dates or times, unless the user has declared them as words.

    One plain number is enough, or digits in half of the rows or in half of the different words. The error ends with the
    ``remedy``.
    """
    times = Counter(word for word in column.values.tolist() if word is not None)
    digits = {word: count for word, count in times.items() if any(category(each)[0] == "N" for each in word)}
    numbers = {w: sum(count for word, count in digits.items() if w.number(word) is not None) for w in WRITINGS}
    few = 2 * len(digits) < len(times) and 2 * sum(digits.values()) < times.total()
    if column.declared or not digits or (few and not any(numbers.values())):
        return
    odd, about = _complaint(times, digits, numbers, now._replace(decimal=now.decimal or "point"))
    row = column.values.tolist().index(odd) + 1
    raise UserError(f"Column {column.name!r} has {odd!r} in row {row}, {about} {remedy}")


def _complaint(
    times: dict[str, int], digits: dict[str, int], numbers: dict[Writing, int], now: Writing
) -> tuple[str, str]:
    """A word that is not a number, and the end of the error message about it."""
    most = max(numbers.values())
    fits = sorted((w for w in WRITINGS if numbers[w] == most), key=lambda w: len(w.typed(now)))
    if most and now in fits:
        odd = next(word for word in times if now.number(word) is None)
        return odd, "but other rows have numbers. Write numbers in all rows, and empty cells for missing values."
    if 2 * most >= sum(digits.values()):
        odd = next(word for word in digits if now.number(word) is None and fits[0].number(word) is not None)
        ways: dict[float, str] = {}
        for each in fits:  # the shortest options for each possible number
            if (value := each.number(odd)) is not None:
                ways.setdefault(value, f"{each.typed(now)} (read as {value:.10g})")
        options = " or ".join(ways.values())
        return odd, f"a number with another decimal mark or with thousands separators. Add {options}."
    odd = next(word for word in digits if now.number(word) is None)
    return odd, (
        "which may be a number, a date or a time. Write plain numbers: move units to the column name, and convert "
        "dates to days since a start date."
    )


def refuse_points(name: str, words: Sequence[str]) -> None:
    """Reject a column with numbers such as 950 and 1.101, whose point may be a thousands separator."""
    words = [word.strip().lstrip("+-\u2212") for word in words]
    points = [word for word in words if re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", word)]
    whole = [word for word in words if re.fullmatch(r"\d{1,3}", word)]
    likely = any(word.endswith("0") for word in points) or any(len(word) == 3 for word in whole)
    if points and whole and len(points) + len(whole) == len(words) and likely:
        raise UserError(
            f"Column {name!r} has {whole[0]!r} and {points[0]!r}. The point may be a thousands separator. Add "
            f"dataset.thousands=point (read as {points[0].replace('.', '')}) or dataset.decimal=point (read as "
            f"{float(points[0]):g})."
        )


def refuse_whole(name: str, words: Sequence[str | None], writing: Writing) -> None:
    """Reject a column of whole numbers with leading zeros, which are names, or with integers that float64 rounds."""
    marks = str.maketrans("\u2212", "-", MARKS[writing.thousands] if writing.thousands else "")
    plain = ["0" if word is None else word.translate(marks) for word in words]
    if all(re.fullmatch(r"[+-]?\d+", word) for word in plain):
        if (row := next((row for row, word in enumerate(plain) if re.match(r"[+-]?0\d", word)), None)) is not None:
            raise UserError(
                f"Column {name!r} has {words[row]!r} in row {row + 1}, with a leading zero. Write numbers without "
                f"leading zeros.{as_names(name)}"
            )
        whole = [0 if len(word) > DIGITS else int(word) for word in plain]
        refuse_rounded(f"Column {name!r}", np.array(whole, dtype=object), as_names(name))


def as_names(name: str) -> str:
    return f" If they are names of categories, add 'dataset.words=[{name}]'."


def of_words(name: str, words: Sequence[str], writing: Writing, declared: bool = False) -> Column:
    """A column of numbers if all words are numbers and not declared as words, else of words."""
    known = [None if (word := each.strip()) in MISSING else word for each in words]
    numbers = [np.nan if word is None else writing.number(word) for word in known]
    if declared or None in numbers:
        return Column(name, np.array(known, dtype=object), declared)
    if writing.decimal is None:
        refuse_points(name, [word for word in known if word is not None])
    refuse_whole(name, known, writing)
    return Column(name, np.array(numbers, dtype=np.float64))
