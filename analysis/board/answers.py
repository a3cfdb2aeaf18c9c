"""The answers of the board in sentences and small tables, computed from the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.board.choose import CHOICE, DEV, NATIVE, TUNED
from analysis.board.markdown import as_lines, number
from analysis.board.totals import total
from analysis.tables.format import in_markdown
from bench.base.board import YARDSTICK, Board

TRACKED, POOLED = "dsgt", "pooled_dsgd"
"""D-SGD with gradient tracking, and on the exact average of all nodes."""
UNTUNED = {NATIVE: "every number from the paper", DEV: "one setting from the development problems"}
Label = Callable[[str], str]


@dataclass(frozen=True)
class Answer:
    """A question with a sentence and a table."""

    question: str
    sentence: str
    head: list[str]
    rows: list[list[str]]

    def markdown(self) -> list[str]:
        """Return the lines of a section."""
        return ["", f"### {self.question}", "", in_markdown(self.sentence), "", *as_lines(self.head, self.rows)]


@dataclass(frozen=True)
class Scored:
    """The standings and the scores of every run, with the names of entrants."""

    board: Board
    standings: pd.DataFrame
    runs: pd.DataFrame
    label: Label

    def of(self, ruleset: str, price: str = CHOICE) -> pd.DataFrame:
        """Return the ranked methods, which have a tier, by name, the best first."""
        mine = self.standings[(self.standings["ruleset"] == ruleset) & (self.standings["price"] == price)]
        mine = mine[mine["tier"].notna()].set_index("method", drop=False)
        return mine.sort_values("score", ascending=False, kind="stable")

    def names(self, methods: Iterable[str]) -> str:
        """Return the names of entrants as a list in words."""
        said = [self.label(method) for method in methods]
        return " and ".join([*([", ".join(said[:-1])] if said[:-1] else []), *said[-1:]])


def answers(scored: Scored) -> list[Answer]:
    """Return the answers that the scores allow."""
    made = (_untuned(scored), _by_stratum(scored), _communication(scored), _heterogeneity(scored))
    return [answer for answer in made if answer is not None and answer.rows]


def _untuned(scored: Scored) -> Answer | None:
    tuned, parts = scored.of(TUNED), [scored.of(rule).assign(rule=rule) for rule in UNTUNED]
    untuned = pd.concat(parts).sort_values("score", ascending=False, kind="stable")
    if untuned.empty or tuned.empty:
        return None
    rows = []
    for row in untuned.to_dict("records"):
        best = float(tuned["score"].get(row["method"], np.nan))
        shown = [number(row["score"]), f"{row['tier']:.0f}", number(best), number(best - row["score"])]
        rows.append([scored.label(row["method"]), UNTUNED[row["rule"]], *shown])
    said = [
        f"With {UNTUNED[rule]}, the best score is {number(some['score'].iloc[0])} ({scored.label(some.index[0])}; "
        f"tier 1: {scored.names(some.index[some['tier'] == 1])})."
        for rule, some in zip(UNTUNED, parts, strict=True)
        if len(some)
    ]
    said.append(f"The best tuned score is {number(tuned['score'].iloc[0])} ({scored.label(tuned.index[0])}).")
    head = ["method", "setting", "score", "tier", "tuned", "price of not tuning"]
    return Answer("Which methods need no tuning, and what does that cost?", " ".join(said), head, rows)


def _by_stratum(scored: Scored) -> Answer:
    rows = []
    for stratum in dict.fromkeys(scored.board.strata.values()):
        cells = []
        for rule in (NATIVE, DEV, TUNED):
            mine = scored.of(rule)
            best = mine[stratum].dropna().sort_values(ascending=False, kind="stable") if stratum in mine else mine
            cells.append(f"{scored.label(best.index[0])} {number(best.iloc[0])}" if len(best) else "–")
        rows.append([stratum, *cells])
    best = [f"{row[1]} on {row[0]}" for row in rows if row[1] != "–"]
    sentence = (
        f"Best with every number from its paper: {', '.join(best)}." if best else "No method ran without a choice."
    )
    return Answer("Which untuned method is best, and on what?", sentence, ["stratum", NATIVE, DEV, TUNED], rows)


def _communication(scored: Scored) -> Answer | None:
    base = scored.of(TUNED)["score"]
    rows = []
    for price in scored.board.prices:
        mine = scored.of(TUNED, price)
        if mine.empty:
            continue
        change = (mine["score"] - base).dropna().sort_values(kind="stable")
        ends = ["–", "–"]
        if price != CHOICE and len(change):
            ends = [f"{scored.label(change.index[k])} ({number(change.iloc[k])})" for k in (0, -1)]
        rows.append([price, scored.names(mine.index[mine["tier"] == 1]), *ends])
    if not rows:
        return None
    sentence = " ".join(
        f"From gradients to {row[0]}, {row[2]} loses most and {row[3]} gains most." for row in rows if row[2] != "–"
    )
    head = ["price", "tier 1, tuned", "loses most against gradients", "gains most"]
    return Answer("Where does communication decide?", sentence, head, rows)


def _heterogeneity(scored: Scored) -> Answer | None:
    mine = scored.runs[(scored.runs["ruleset"] == TUNED) & (scored.runs["price"] == CHOICE)]
    rows, means = [], []
    for workload, some in mine.groupby("workload", sort=False):
        cells = []
        for entrant in (YARDSTICK, TRACKED, POOLED):
            series = some[some["entrant"] == entrant].set_index("seed")["score"]
            own = total({str(workload): series}, {str(workload): "all"})
            cells.append(f"{number(own.value)} ({number(own.low)} to {number(own.high)})" if len(series) else "–")
            if entrant == TRACKED and len(series):
                means.append((own.value, str(workload)))
        if "–" not in cells[:2]:
            rows.append([str(workload), *cells])
    if not means:
        return None
    order = sorted(means, reverse=True)
    sentence = (
        f"Most on {order[0][1]}: there {scored.label(TRACKED)}, D-SGD that corrects for different data, has the score "
        f"{number(order[0][0])}. Least on {order[-1][1]}: {number(order[-1][0])}."
    )
    head = ["workload", *(f"{scored.label(entrant)} (interval)" for entrant in (YARDSTICK, TRACKED, POOLED))]
    return Answer("Where does heterogeneity decide?", sentence, head, rows)
