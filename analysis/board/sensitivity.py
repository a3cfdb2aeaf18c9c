"""What other constants of the score would change (sensitivity.csv), and which targets decide it (reached.csv)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.board.cells import Curve
from analysis.board.choose import CHOICE, TUNED
from analysis.board.markdown import MISSING, Label, as_lines, number
from analysis.board.scores import scored, standings
from analysis.board.scoring import RULE, Rule
from bench.base.board import YARDSTICK, Board

PRESENT = "board"
VARIANTS = {
    PRESENT: RULE,
    "within ±2": Rule(limit=2),
    "within ±6": Rule(limit=6),
    "miss × 1": Rule(miss=1),
    "miss × 4": Rule(miss=4),
    "first reached": Rule(lasting=False),
    "targets 1–4": Rule(targets=(1, 4)),
    "targets 5–8": Rule(targets=(5, 8)),
}
"""The rule of the board, and others that change one constant."""


def sensitivity(
    board: Board,
    runs: pd.DataFrame,
    curves: Mapping[str, Curve],
    frozen: pd.DataFrame,
    ranked: Callable[[str], bool],
) -> pd.DataFrame:
    """Return score and tier in gradients of every ruleset and entrant by each variant, at the settings of the board.

    The variants are other constants of the score, and the workloads without those of one stratum.
    """
    one, parts = replace(board, prices={CHOICE: board.prices[CHOICE]}), []
    variants = {name: scored(one, runs, curves, frozen, rule=rule) for name, rule in VARIANTS.items()}
    for stratum in strata_of(board):
        of = variants[PRESENT]["workload"].map(board.strata)
        variants[without(stratum)] = variants[PRESENT][of != stratum]
    for name, some in variants.items():
        if len(some):
            found = standings(one, some, ranked)
            parts.append(found[["ruleset", "method", "tier", "score"]].assign(variant=name))
    return pd.concat(parts, ignore_index=True)[["variant", "ruleset", "method", "tier", "score"]]


def strata_of(board: Board) -> list[str]:
    return list(dict.fromkeys(board.strata.values()))


def without(stratum: str) -> str:
    """Return the name of the variant without a stratum."""
    return f"without {stratum}"


def reached(board: Board, found: pd.DataFrame, ranked: Callable[[str], bool]) -> pd.DataFrame:
    """Return for each workload and target the median cost of tuned D-SGD, and the parts of the runs that reach it.

    The cost is in seconds at the price of gradients. ``ours`` are the runs of D-SGD, ``ranked`` those of the other
    ranked entrants, all tuned.
    """
    mine = found[(found["ruleset"] == TUNED) & (found["price"] == CHOICE)]
    rows = []
    for workload, runs in mine.groupby("workload", sort=False):
        ours = runs[runs["entrant"] == YARDSTICK]
        others = runs[[ranked(name) and name != YARDSTICK for name in runs["entrant"]]]
        costs = np.median(np.stack(list(ours["costs"])), axis=0)
        for k in range(board.targets):  # whoever reaches a target has reached those before
            parts = [_part(some, k, board.targets) for some in (ours, others)]
            rows.append([workload, k + 1, float(costs[k]), *parts])
    return pd.DataFrame(rows, columns=["workload", "target", "cost", "ours", "ranked"])


def _part(runs: pd.DataFrame, target: int, count: int) -> float:
    return float((runs["missed"] < count - target).mean()) if len(runs) else np.nan


def sensitivity_markdown(table: pd.DataFrame, targets: pd.DataFrame, label: Label) -> str:
    """Return the tiers of the tuned entrants by variant, and the parts of the runs that reach each target."""
    tuned = table[(table["ruleset"] == TUNED) & table["tier"].notna()]
    tiers, scores = (tuned.pivot(index="method", columns="variant", values=name) for name in ("tier", "score"))
    order = scores.sort_values(PRESENT, ascending=False, kind="stable").index if len(scores) else []
    variants = list(dict.fromkeys(tuned["variant"]))
    rows = [
        [label(name), *(f"{tiers.at[name, one]:.0f} ({number(scores.at[name, one])})" for one in variants)]
        for name in order
    ]
    lines = [
        "",
        "## What would change this",
        "",
        "Tier and score of tuned methods in gradients, if one choice of the board were another one: the bound on "
        "the score at a target (3), the cost of a missed target (2 budgets), the evaluation that reaches a target "
        "(the one from which on the loss stays at most the target, instead of the first one), the targets that count, "
        "or the problems.",
        "",
        *as_lines(["method", *variants], rows),
        "",
        "## Which targets decide",
        "",
        "Cost of tuned D-SGD until each target in seconds, the part of its runs that reach it, and the part of the "
        "runs of the other ranked methods. Where nobody reaches a target, it changes no score.",
        "",
        *as_lines(["workload", *map(str, sorted(targets["target"].unique()))], list(_reached_rows(targets))),
    ]
    return "\n".join(lines) + "\n"


def _reached_rows(targets: pd.DataFrame) -> list[list[str]]:
    rows = []
    for workload, some in targets.groupby("workload", sort=False):
        each = some.to_dict("records")
        cells = [f"{one['cost']:.3g} s; {_percent(one['ours'])}; {_percent(one['ranked'])}" for one in each]
        rows.append([str(workload), *cells])
    return rows


def _percent(part: float) -> str:
    return MISSING if np.isnan(part) else f"{100 * part:.0f} %"
