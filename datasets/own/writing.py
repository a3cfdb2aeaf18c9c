"""How a file writes its numbers, and which words only look like words."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Literal, NamedTuple

from bench.base.errors import UserError
from datasets.own.content import Column

Decimal = Literal["comma"]
Thousands = Literal["comma", "point", "space", "apostrophe"]
MARKS = {"point": ".", "comma": ",", "space": " \u00a0\u202f", "apostrophe": "'\u2019"}
UNITS = "$€£¥% "
_DAY = r"\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{4}|\d\d[-/.]\d\d[-/.]\d\d"
_MONTH = r"\d\d?[ .-]*[A-Za-z]{3,9}[ .,-]+\d{2,4}|[A-Za-z]{3,9}[ .]+\d\d?,? +\d{4}"
_TIME = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?( ?[AaPp][Mm])?( ?Z| ?[+-]\d\d:?\d\d)?"
DATE = re.compile(rf"({_DAY}|{_MONTH})([T ]+{_TIME})?|{_TIME}")


class Writing(NamedTuple):
    """The mark before the fraction of a number, and the one between its thousands."""

    decimal: Decimal | None = None
    thousands: Thousands | None = None

    def number(self, word: str) -> float | None:
        """The number that a word is; None if it is none."""
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
    groups = rf"\d{{1,3}}(?:[{MARKS[writing.thousands]}]\d{{3}})+|" if writing.thousands else ""
    return re.compile(rf"[+-]?(?:(?:{groups}\d+)(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?")


def refuse_numbers(column: Column, now: Writing) -> None:
    """A UserError where at least half of the words of a column are numbers or dates: then they are no categories."""
    values = column.values.tolist()
    times = Counter(word for word in values if word is not None)
    numbers = {w: sum(n for word, n in times.items() if w.number(word) is not None) for w in WRITINGS}
    most, half = max(numbers.values()), times.total() / 2
    if numbers[now] == times.total():
        return
    if numbers[now] == most >= half:
        odd = next(word for word in times if now.number(word) is None)
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
    units = [word for word in times if any(w.number(word.strip(UNITS)) is not None for w in WRITINGS)]
    if sum(times[word] for word in units) >= half:
        odd = next(word for word in units if now.number(word) is None)
        raise UserError(
            f"Column {column.name!r} has {odd!r} in row {values.index(odd) + 1}, a number with a unit. Write the "
            "number alone, and the unit in the column's name."
        )
    dates = [word for word in times if DATE.fullmatch(word)]
    if sum(times[word] for word in dates) >= half:
        raise UserError(no_dates(column.name, dates[0]))


def no_dates(name: str, example: object) -> str:
    return (
        f"Column {name!r} has dates or times, as {str(example)!r}, which hearsay does not read. Write numbers in their "
        f"place (the year, days since a start), or leave the column out: 'dataset.drop=[{name}]'."
    )
