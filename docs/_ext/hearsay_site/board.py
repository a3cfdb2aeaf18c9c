"""The row of a method on the board, from the tables that ``make_board.py score`` writes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from bench.base.board import BOARD
from bench.base.board_file import read
from hearsay_site.text import table

RESULTS = BOARD / "results"
PRICES = ("gradients", "latency", "bandwidth")
Rows = list[dict[str, str]]


def rows_of(file: Path) -> Rows:
    """Return the rows of a table; none if the file is missing."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def standings(folder: Path = RESULTS) -> dict[str, Rows]:
    """Return the standings by method; empty before the board has results."""
    entrants = read().everyone
    out: dict[str, Rows] = {}
    for row in rows_of(folder / "standings.csv"):
        if row["method"] in entrants:
            out.setdefault(entrants[row["method"]].method, []).append(row)
    return out


def on_the_board(rows: Rows) -> Iterator[str]:
    """Yield the section of one method: a line per entrant and ruleset, with the scores at the three prices."""
    if not rows:
        return
    lines = []
    for entrant, ruleset in dict.fromkeys((row["method"], row["ruleset"]) for row in rows):
        mine = {row["price"]: row for row in rows if (row["method"], row["ruleset"]) == (entrant, ruleset)}
        first = mine.get(PRICES[0], {})
        tier = first.get("tier") or ""
        shown = f"{float(tier):.0f}" if tier else "not ranked"
        lines.append((f"`{entrant}`", ruleset, shown, *(score(mine.get(price, {})) for price in PRICES)))
    yield "## On the board"
    yield table(("entrant", "ruleset", "tier (gradients)", *PRICES), lines)
    yield (
        "A score of 1 means half of the cost of tuned D-SGD at this price, a score of −1 twice its cost, with 95 % "
        "intervals. [The board](../../docs/board.md) explains rulesets, tiers and prices."
    )


def score(row: dict[str, str]) -> str:
    """Return a score with its interval: 0.92 (0.52 … 1.32)."""
    value, low, high = (two_digits(row.get(name, "")) for name in ("score", "low", "high"))
    return f"{value} ({low} … {high})" if low else value


def two_digits(text: str) -> str:
    return f"{float(text):.2f}".replace("-", "−") if text else ""
