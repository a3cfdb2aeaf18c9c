"""The tables of the board as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from analysis.board.choose import DEV, NATIVE, TUNED
from analysis.board.hidden import CHANGE, extremes
from analysis.tables.format import in_cell, in_markdown
from bench.base.board import Board
from bench.base.provenance import MARKS

RULES = {
    TUNED: "the best setting on each workload, chosen on other seeds",
    DEV: "one setting for all workloads, chosen on three other problems",
    NATIVE: "every number from the paper",
}
MISSING = "–"
Label = Callable[[str], str]


def tier_note(comparisons: int) -> str:
    """Return what a tier says, and what it does not say."""
    return (
        "Tier 1 has the methods that the intervals do not separate from the one with the highest score, tier 2 those "
        f"of the others, and so on (simultaneous intervals at 1 − 0.05/{comparisons}). Methods of one tier need not be "
        "equal, and methods of two tiers need not be separated from each other: pairs.csv has every pair. Bounds and "
        "methods with a mark are not ranked: [2] is the tier that a method would have if it were."
    )


def standings_markdown(
    board: Board, standings: pd.DataFrame, label: Label, warnings: Iterable[str] = (), first: Iterable[str] = ()
) -> str:
    """Return all standings: ``first``, then the price of not tuning, then a table per ruleset and price."""
    lines = [
        f"# The board, version {in_markdown(board.number)}",
        "",
        f"Hash of rules, protocol, targets and settings: `{board.hash}`",
        "",
        *(line for sentence in warnings for line in (f"> {in_markdown(sentence)}", "")),
        "A score of 1 means half of the cost of tuned D-SGD, a score of −1 twice its cost.",
        "",
        tier_note(board.comparisons),
        "",
        *first,
        "## What does not tuning cost?",
        "",
        *as_lines(["method", *RULES, "price of not tuning"], _untuned(standings, label)),
    ]
    for (ruleset, price), mine in standings.groupby(["ruleset", "price"], sort=False):
        lines += [
            "",
            _heading(f"{str(ruleset).capitalize()} ({RULES[str(ruleset)]}); {price}"),
            "",
            *_standing(mine, label),
        ]
    lines += ["", *(f"{mark} {note}.  " for mark, note in MARKS.items())]
    return "\n".join(lines) + "\n"


def side_markdown(name: str, table: pd.DataFrame, label: Label, note: str = "") -> str:
    """Return the standings of a side table or of the sealed workloads, after a note."""
    lines = ["", in_markdown(note)] if note else []
    for (ruleset, price), mine in table.groupby(["ruleset", "price"], sort=False):
        lines += ["", _heading(f"Side table: {name}; {ruleset}; {price}"), "", *_standing(mine, label)]
    return "\n".join(lines) + "\n"


def hidden_markdown(workloads: Sequence[str], table: pd.DataFrame, label: Label) -> str:
    """Return the worst and the best change of each method by one other number of its paper."""
    rows = (
        [label(name), number(one.worst), one.worst_by, number(one.best), one.best_by]
        for name, one in sorted(extremes(table).items(), key=lambda each: each[1].worst)
    )
    head = ["method", "worst change", "by", "best change", "by"]
    part = table[table[CHANGE].isna()]
    left_out = [f"{label(name)} {value}" for name, value in zip(part["method"], part["number"], strict=True)]
    lines = [
        "",
        "## Hidden numbers",
        "",
        "Each number of a method besides its stepsize is three times as large, and a third. The table has the largest "
        f"changes of the tuned score in gradients on {in_markdown(' and '.join(workloads))}, with a tuning seed. A "
        "change of −1 means twice the cost.",
        "",
        *as_lines(head, rows),
    ]
    if left_out:
        lines += ["", in_markdown(f"Without a run on one of them, and not counted: {', '.join(left_out)}.")]
    return "\n".join(lines) + "\n"


def _heading(text: str) -> str:
    """Return a heading; names of prices and side tables may be any text."""
    return f"## {in_markdown(text)}"


def price_of_not_tuning(standings: pd.DataFrame, price: str) -> pd.DataFrame:
    """Return the score of each method by ruleset at a price, and what the better untuned one lacks to the tuned one."""
    mine = standings[standings["price"] == price]
    out = mine.pivot(index="method", columns="ruleset", values="score").reindex(columns=[TUNED, DEV, NATIVE])
    return out.assign(lost=out[TUNED] - out[[DEV, NATIVE]].max(axis=1))


def _untuned(standings: pd.DataFrame, label: Label) -> Iterable[Sequence[str]]:
    first = str(standings["price"].iloc[0])
    table = price_of_not_tuning(standings, first)
    order = table[[DEV, NATIVE]].max(axis=1).sort_values(ascending=False, kind="stable").index
    for method in order:
        yield [label(str(method)), *(number(value) for value in table.loc[method, [*RULES, "lost"]])]


def _standing(mine: pd.DataFrame, label: Label) -> list[str]:
    fixed = ["tier", "method", "score", "interval"]
    strata = list(mine.columns[mine.columns.get_loc("behind") + 1 : mine.columns.get_loc("missed")])
    rows = []
    for row in mine.to_dict("records"):
        tier = MISSING if pd.isna(row["tier"]) else f"{row['tier']:.0f}"
        if pd.notna(row["if_ranked"]):
            tier = f"[{row['if_ranked']:.0f}]"
        if pd.notna(row["tier_low"]) and row["tier_low"] != row["tier_high"]:
            tier += f" ({row['tier_low']:.0f}–{row['tier_high']:.0f})"
        interval = f"{number(row['low'])} … {number(row['high'])}" if pd.notna(row["low"]) else MISSING
        cells = [tier, label(row["method"]), number(row["score"]), interval]
        cells += [number(row[name]) for name in strata]
        rows.append([*cells, f"{row['missed']} of {row['targets']}", str(row["diverged"]), row["lacks"] or ""])
    return list(as_lines([*fixed, *strata, "missed", "diverged", "lacks"], rows))


def as_lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(map(in_cell, head))} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(map(in_cell, row))} |"


def number(value: float) -> str:
    """Return a score with two digits and a typographic minus."""
    return MISSING if not np.isfinite(value) else f"{value:.2f}".replace("-", "−")
