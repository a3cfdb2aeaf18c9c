"""The answers of the board in sentences and small tables, computed from the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.board.choose import CHOICE, DEV, NATIVE, TUNED
from analysis.board.markdown import MISSING, as_lines, number
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
    """The standings and the scores of every run, with the names of entrants.

    ``side`` are the standings of the side tables, ``sealed`` those of the sealed workloads.
    """

    board: Board
    standings: pd.DataFrame
    runs: pd.DataFrame
    label: Label
    side: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    sealed: pd.DataFrame | None = None

    def of(self, ruleset: str, price: str = CHOICE) -> pd.DataFrame:
        """Return all methods but the bounds by name, the best first; those that are not ranked have no tier."""
        mine = self.standings[(self.standings["ruleset"] == ruleset) & (self.standings["price"] == price)]
        return _in_order(mine[~mine["method"].isin(self.board.bounds)])

    def best(self, mine: pd.DataFrame, column: str = "score") -> str:
        """Return the method with the highest number of a column, and the best ranked one if that is another one."""
        order = mine[mine[column].notna()].sort_values(column, ascending=False, kind="stable")
        ranked = order[order["tier"].notna()]
        firsts = dict.fromkeys([*order.index[:1], *ranked.index[:1]])
        said = [f"{self.label(method)} {number(order[column][method])}" for method in firsts]
        return " (best ranked: ".join(said) + ")" * (len(said) - 1) if said else MISSING

    def first(self, mine: pd.DataFrame) -> str:
        """Return the methods of tier 1 as a list in words."""
        return self.names(mine.index[mine["tier"] == 1]) or MISSING

    def names(self, methods: Iterable[str]) -> str:
        """Return the names of entrants as a list in words."""
        said = [self.label(method) for method in methods]
        return " and ".join([*([", ".join(said[:-1])] if said[:-1] else []), *said[-1:]])


def _in_order(standings: pd.DataFrame) -> pd.DataFrame:
    return standings.set_index("method", drop=False).sort_values("score", ascending=False, kind="stable")


def answers(scored: Scored) -> list[Answer]:
    """Return the answers that the scores allow."""
    made = (
        _untuned(scored),
        _by_stratum(scored),
        _communication(scored),
        _heterogeneity(scored),
        _beside(scored),
        _unseen(scored),
    )
    return [answer for answer in made if answer is not None and answer.rows]


def _untuned(scored: Scored) -> Answer | None:
    tuned, parts = scored.of(TUNED), [scored.of(rule).assign(rule=rule) for rule in UNTUNED]
    untuned = pd.concat(parts).sort_values("score", ascending=False, kind="stable")
    if untuned.empty or tuned.empty:
        return None
    rows = []
    for row in untuned.to_dict("records"):
        best = float(tuned["score"].get(row["method"], np.nan))
        tier = MISSING if pd.isna(row["tier"]) else f"{row['tier']:.0f}"
        shown = [number(row["score"]), tier, number(best), number(best - row["score"])]
        rows.append([scored.label(row["method"]), UNTUNED[row["rule"]], *shown])
    said = [
        f"Best with {UNTUNED[rule]}: {scored.best(some)}. {_leaders(scored, some)}"
        for rule, some in zip(UNTUNED, parts, strict=True)
        if len(some)
    ]
    said.append(f"Best tuned: {scored.best(tuned)}.")
    head = ["method", "setting", "score", "tier with such settings", "tuned", "price of not tuning"]
    return Answer("Which methods need no tuning, and what does that cost?", " ".join(said), head, rows)


def _leaders(scored: Scored, mine: pd.DataFrame) -> str:
    if mine["tier"].notna().sum() == 1:
        return f"{scored.first(mine)} is the only ranked method with such a setting."
    return f"Tier 1: {scored.first(mine)}."


def _by_stratum(scored: Scored) -> Answer:
    frames = [scored.of(rule) for rule in (NATIVE, DEV, TUNED)]
    rows = [
        [stratum, *(scored.best(mine, stratum) if stratum in mine else MISSING for mine in frames)]
        for stratum in dict.fromkeys(scored.board.strata.values())
    ]
    best = [f"on {row[0]} {row[1]}" for row in rows if row[1] != MISSING]
    said = f"Best with every number from its paper: {'; '.join(best)}." if best else "No method ran without a choice."
    return Answer("Which untuned method is best, and on what?", said, ["stratum", NATIVE, DEV, TUNED], rows)


def _communication(scored: Scored) -> Answer | None:
    base = scored.of(TUNED)["score"]
    rows = []
    for price in (*scored.board.prices, *scored.board.networks):
        mine = scored.of(TUNED, price)
        if mine.empty:
            continue
        change = (mine["score"] - base).dropna().sort_values(kind="stable")
        ends = [MISSING, MISSING]
        if price != CHOICE and len(change):
            ends = [f"{scored.label(change.index[k])} ({number(change.iloc[k])})" for k in (0, -1)]
        rows.append([price, scored.first(mine), *ends])
    if not rows:
        return None
    sentence = " ".join(
        f"From gradients to {row[0]}, {row[2]} loses most and {row[3]} gains most."
        for row in rows
        if row[2] != MISSING and row[0] in scored.board.prices
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
            cells.append(f"{number(own.value)} ({number(own.low)} to {number(own.high)})" if len(series) else MISSING)
            if entrant == TRACKED and len(series):
                means.append((own.value, str(workload)))
        if MISSING not in cells[:2]:
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


def _beside(scored: Scored) -> Answer:
    rows, first = [], []
    for name, table in scored.side.items():
        for (ruleset, price), some in table.groupby(["ruleset", "price"], sort=False):
            mine = _in_order(some)
            yardstick = number(mine["score"].get(YARDSTICK, np.nan))
            rows.append([name, str(ruleset), str(price), scored.first(mine), scored.best(mine), yardstick])
        first.append(f"{name}: {next(row[3] for row in rows if row[0] == name)}")
    bases = " and ".join(dict.fromkeys(side.base for side in scored.board.side.values()))
    sentence = f"Tier 1 of tuned methods on {bases} with another network: {'; '.join(first)}."
    head = ["network", "ruleset", "price", "tier 1", "best score", scored.label(YARDSTICK)]
    return Answer("Which method on other networks?", sentence, head, rows)


def _unseen(scored: Scored) -> Answer | None:
    if scored.sealed is None:
        return None
    rows, said = [], []
    for rule in UNTUNED:
        here = scored.sealed[(scored.sealed["ruleset"] == rule) & (scored.sealed["price"] == CHOICE)]
        mine, board = _in_order(here[~here["method"].isin(scored.board.bounds)]), scored.of(rule)
        both = mine[mine["method"].isin(board.index)]
        for name, row in both.iterrows():
            parts = [number(row[workload]) for workload in scored.sealed["workloads"].iloc[0].split()]
            rows.append(
                [scored.label(str(name)), UNTUNED[rule], number(board["score"][name]), number(row["score"]), *parts]
            )
        if rule == DEV and len(both):
            first = board.index[board["tier"] == 1]
            leaders = ", ".join(f"{scored.label(one)} {number(mine['score'].get(one, np.nan))}" for one in first)
            said.append(
                f"With {UNTUNED[DEV]}, tier 1 of the board has here: {leaders}. Best here: {scored.best(mine)}."
            )
            order = both["score"].rank().corr(board["score"].reindex(both.index).rank())
            said.append(f"The rank correlation of both scores is {number(float(order))}.")
            said.append(f"0 is here the cost of {scored.label(YARDSTICK)} with this setting.")
    head = ["method", "setting", "board", "unseen problems", *(scored.sealed["workloads"].iloc[0].split())]
    return Answer("Does it hold on problems that nobody saw?", " ".join(said), head, rows)
