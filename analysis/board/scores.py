"""The scores of the report seeds: every ruleset, price, workload and entrant, and the standings from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.board.best_of import best_of
from analysis.board.cells import Curve
from analysis.board.choose import ALL, RULESETS, TUNED, setting_of
from analysis.board.scoring import RULE, CostOf, Judge, Rule, at_price
from analysis.board.targets import aims_of
from analysis.board.totals import Scores, pairs, stratum_means, tier_ranges, tiers, total, weights
from analysis.results.errors import NoData
from analysis.study.score import Price
from bench.base.board import REPORTING, YARDSTICK, Board, Entrant


def reported(board: Board, table: pd.DataFrame, chosen: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with report seeds at the chosen settings, with their ruleset; a run may be in several."""
    parts = []
    for row in chosen.to_dict("records"):
        setting = setting_of({str(name): value for name, value in row.items()})
        mine = table[(table["entrant"] == row["method"]) & (table["setting"] == setting)]
        mine = mine if row["workload"] == ALL else mine[mine["workload"] == row["workload"]]
        parts.append(mine.assign(ruleset=row["ruleset"]))
    seeds = {name: set(workload.seeds[REPORTING]) for name, workload in board.workloads.items()}
    found = pd.concat(parts, ignore_index=True) if parts else table.assign(ruleset="")
    due = [seed in seeds[name] for name, seed in zip(found["workload"], found["seed"], strict=True)]
    return found[pd.Series(due, index=found.index, dtype=bool)]


def scored(
    board: Board,
    runs: pd.DataFrame,
    curves: Mapping[str, Curve],
    frozen: pd.DataFrame,
    clocks: Mapping[str, CostOf] | None = None,
    against: str = TUNED,
    rule: Rule = RULE,
) -> pd.DataFrame:
    """Return the reported runs with ruleset, price, score, misses and costs; ``clocks`` are seconds on networks.

    ``against`` is the ruleset of D-SGD whose cost has the score 0, ``rule`` how costs become scores.

    Raises:
        NoData: A workload lacks such runs of D-SGD.
    """
    prices = {name: at_price(curves, Price(**price)) for name, price in board.prices.items()} | dict(clocks or {})
    rows, parts = frozen.set_index("workload", drop=False), []
    for name, mine in runs.groupby("workload", sort=False):
        ours = mine[(mine["entrant"] == YARDSTICK) & (mine["ruleset"] == against)]
        if ours.empty or name not in rows.index:
            raise NoData(f"{name} has no report runs of {YARDSTICK} ({against}), or no row in targets.csv")
        workload = board.workloads[str(name)]
        if absent := sorted(set(workload.seeds[REPORTING]) - set(ours["seed"])):
            command = f"python bench/board.py run {workload.report_phase} --workload {name}"
            raise NoData(
                f"{name} has no readable run of {YARDSTICK} ({against}) with the seeds {absent}; type {command}"
            )
        aims = aims_of(rows.loc[name].to_dict(), mine, curves)
        for price, cost_of in prices.items():
            judge = Judge(workload, aims, curves, cost_of, board.targets, rule)
            parts.append(judge.scored(mine, ours).assign(price=price))
    if not parts:
        raise NoData("no run with a report seed has a chosen setting")
    return pd.concat(parts, ignore_index=True)


def standings(board: Board, found: pd.DataFrame, ranked: Callable[[str], bool]) -> pd.DataFrame:
    """Return one row per ruleset, price and entrant: total with interval, tier with its range, strata, misses.

    Entrants that are not ``ranked``, bounds and entrants that lack a run have no tier. ``if_ranked`` is the tier that
    an entrant would have if it alone were ranked too.
    """
    rows: list[dict[str, Any]] = []
    for (ruleset, price), mine in found.groupby(["ruleset", "price"], sort=False):
        scores, whole, there = _compared(board, mine)
        compared = {n: s for n, s in whole.items() if ranked(n) and n not in board.bounds}
        found_tiers = tiers(compared, there, board.comparisons)
        ranges = tier_ranges(compared, there, board.comparisons)
        beside = [name for name in whole if name not in compared and name not in board.bounds]
        if_ranked = {n: tiers({**compared, n: whole[n]}, there, board.comparisons).tier.get(n) for n in beside}
        for name, some in scores.items():
            own = total(some, there) if name in whole else None
            runs = mine[mine["entrant"] == name]
            gap = found_tiers.behind.get(name)
            rows.append(
                {
                    "ruleset": ruleset,
                    "price": price,
                    "method": name,
                    "tier": found_tiers.tier.get(name),
                    "tier_low": ranges.get(name, (None, None))[0],
                    "tier_high": ranges.get(name, (None, None))[1],
                    "if_ranked": if_ranked.get(name),
                    "score": own.value if own else np.nan,
                    "low": own.low if own else np.nan,
                    "high": own.high if own else np.nan,
                    "behind": gap.value if gap else np.nan,
                    **stratum_means(some, there),
                    "missed": int(runs["missed"].sum()),
                    "targets": board.targets * len(runs),
                    "diverged": int(runs["diverged"].sum()),
                    "runs": len(runs),
                    "lacks": " ".join(_lacking(board, some, there)),
                    "workloads": " ".join(there),
                }
            )
    out = pd.DataFrame(rows)
    names = dict.fromkeys([*RULESETS, *board.prices, *board.networks, *found["price"]])
    order = {name: place for place, name in enumerate(names)}
    keys = {"by_rule": out["ruleset"].map(order), "by_price": out["price"].map(order), "by_score": -out["score"]}
    ordered = out.assign(**keys).sort_values([*keys, "method"], na_position="last")
    return ordered.drop(columns=list(keys)).reset_index(drop=True)


def every_pair(board: Board, found: pd.DataFrame) -> pd.DataFrame:
    """Return the difference of the totals of every pair of methods but bounds, the one with the higher total first.

    ``low`` and ``high`` are the simultaneous interval.
    """
    rows = []
    for (ruleset, price), mine in found.groupby(["ruleset", "price"], sort=False):
        _, whole, there = _compared(board, mine[~mine["entrant"].isin(list(board.bounds))])
        for method, other, gap in pairs(whole, there, board.comparisons):
            rows.append([ruleset, price, method, other, gap.value, gap.low, gap.high])
    return pd.DataFrame(rows, columns=["ruleset", "price", "method", "other", "difference", "low", "high"])


def _compared(board: Board, mine: pd.DataFrame) -> tuple[dict[str, Scores], dict[str, Scores], dict[str, str]]:
    """Return the scores of each entrant, those without a missing run, and the workloads with their strata."""
    scores = {str(name): _by_workload(some) for name, some in mine.groupby("entrant", sort=False)}
    there = {w: s for w, s in board.strata.items() if w in set(mine["workload"])}
    return scores, {name: some for name, some in scores.items() if not _lacking(board, some, there)}, there


def _by_workload(runs: pd.DataFrame) -> Scores:
    return {str(name): some.set_index("seed")["score"].sort_index() for name, some in runs.groupby("workload")}


def _lacking(board: Board, scores: Scores, there: Mapping[str, str]) -> list[str]:
    """Return the workloads of which an entrant lacks a report seed."""
    due = {name: set(board.workloads[name].seeds[REPORTING]) for name in there}
    return [name for name in there if name not in scores or set(scores[name].index) < due[name]]


def by_tries(board: Board, graded: pd.DataFrame) -> pd.DataFrame:
    """Return V(K) of every entrant with runs on all workloads: the expected score of the best of K random settings.

    The settings are those of the grid without its longer ends. A workload with fewer than K counts with all of its own.
    """
    first = [
        _in_grid(board.everyone[name], values) for name, values in zip(graded["entrant"], graded["values"], strict=True)
    ]
    graded = graded[pd.Series(first, index=graded.index, dtype=bool)]
    there = {w: s for w, s in board.strata.items() if w in set(graded["workload"])}
    share, out = weights(there), []
    for name, runs in graded[graded["workload"].isin(list(there))].groupby("entrant", sort=False):
        each = {
            w: best_of(some.pivot(index="setting", columns="seed", values="score"))
            for w, some in runs.groupby("workload")
        }
        if set(each) < set(share) or any(not len(values) for values in each.values()):
            continue
        most = max(map(len, each.values()))
        for tried in range(1, most + 1):
            value = sum(share[w] * values[min(tried, len(values)) - 1] for w, values in each.items())
            out.append({"method": name, "settings": tried, "score": float(value)})
    return pd.DataFrame(out, columns=["method", "settings", "score"])


def _in_grid(entrant: Entrant, values: Mapping[str, Any]) -> bool:
    """Return whether the grid of an entrant has a setting without being extended."""
    return entrant.stepsize is None or values.get(entrant.stepsize) in entrant.grid


def profiles(board: Board, found: pd.DataFrame, factors: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield for each ruleset, price and entrant the part of (workload, target, seed) reached within each factor.

    The factor is relative to the median cost of tuned D-SGD, so that a new entrant changes no curve. A missed target
    counts as not reached, also within large factors.
    """
    base = {
        key: np.median(np.stack(list(some["costs"])), axis=0)
        for key, some in found[(found["entrant"] == YARDSTICK) & (found["ruleset"] == TUNED)].groupby(
            ["workload", "price"]
        )
    }
    for (ruleset, price, name), runs in found.groupby(["ruleset", "price", "entrant"], sort=False):
        share = weights({w: s for w, s in board.strata.items() if w in set(runs["workload"])})
        solved = np.zeros(len(factors))
        for workload, some in runs[runs["workload"].isin(list(share))].groupby("workload"):
            costs, missed = np.stack(list(some["costs"])), some["missed"].to_numpy(int)
            ratios = costs / base[workload, price]
            # targets are nested: the missed ones are the last ones
            ratios[np.arange(ratios.shape[1]) >= (ratios.shape[1] - missed)[:, None]] = np.inf
            solved += share[str(workload)] * np.array([(ratios <= factor).mean() for factor in factors])
        yield {"ruleset": ruleset, "price": price, "method": name, "solved": solved.tolist()}
