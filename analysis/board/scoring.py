"""Scores of runs: the cost of each target at a price, relative to tuned D-SGD."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from analysis.board.cells import Curve
from analysis.results.errors import NoData
from analysis.study.score import LIMIT, MISS, Price, costs_to_reach, score, yardstick
from bench.base.board import TUNING, YARDSTICK, Workload

Aims = Mapping[int, tuple[float, float]]
"""By seed, the loss F_0 at the start and the reference F_ref."""
CostOf = Callable[[str], np.ndarray | None]
"""The cost of a run until each evaluation; None if it is not known."""
DIGITS = 9
"""Costs whose logarithms are equal up to so many digits are a tie."""
BEYOND = 1
"""Losses below half of the last target's distance count as half of it, so that its cost is interpolated too."""


@dataclass(frozen=True)
class Rule:
    """How costs become scores. The board has the defaults; other values show how much they decide.

    Attributes:
        limit: The bound on the score at each target.
        miss: A missed target costs this many times the budget.
        lasting: Whether the loss must stay at most the target until the end.
        targets: The first and the last target that count; by default all.
    """

    limit: float = LIMIT
    miss: float = MISS
    lasting: bool = True
    targets: tuple[int, int] | None = None

    def score(self, costs: np.ndarray, against: np.ndarray) -> float:
        """Return the score of a run from the costs of all targets, relative to those of tuned D-SGD."""
        first, last = self.targets or (1, len(costs))
        return score(costs[first - 1 : last], against[first - 1 : last], self.limit)


RULE = Rule()
"""The rule of the board."""


@dataclass(frozen=True)
class Judge:
    """The scores on one workload at one price.

    Attributes:
        workload: The workload.
        aims: The initial and the reference loss of each seed.
        curves: The courses of the runs.
        cost_of: The cost of a run until each evaluation.
        count: The number of targets.
        rule: How costs become scores.
    """

    workload: Workload
    aims: Aims
    curves: Mapping[str, Curve]
    cost_of: CostOf
    count: int
    rule: Rule = RULE

    def reached(self, run: str, seed: int, diverged: bool) -> np.ndarray | None:
        """Return the cost of each target, NaN if the run missed it; None if the costs or the targets are not known."""
        spent = self.cost_of(run)
        if spent is None or seed not in self.aims:
            return None
        start, reference = self.aims[seed]
        return costs_to_reach(
            spent,
            self.curves[run].losses,
            start,
            reference,
            np.nan,
            diverged=diverged,
            count=self.count,
            beyond=BEYOND,
            lasting=self.rule.lasting,
        )

    def costs(self, runs: pd.DataFrame, ours: pd.DataFrame) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """Return the cost of each target and the number of misses of each run whose cost is known.

        A miss costs twice the larger of the run's own cost of the budget and that of D-SGD, whose runs are ``ours``. By
        its own cost alone, a method that hardly communicates would gain by missing targets.
        """
        known = [value for run in ours["run_id"] if np.isfinite(value := self._of_budget(run))]
        out, missed = dict[str, np.ndarray](), dict[str, int]()
        for run, seed, diverged in zip(runs["run_id"], runs["seed"], runs["diverged"], strict=True):
            found = self.reached(run, seed, diverged) if known else None
            if found is not None:
                budget = max(float(np.median(known)), self._of_budget(run))
                out[run] = np.where(np.isnan(found), self.rule.miss * budget, found)
                missed[run] = int(np.isnan(found).sum())
        return out, missed

    def _of_budget(self, run: str) -> float:
        """Return the cost of the whole budget, in proportion to the gradients of a run that may have ended early."""
        spent, gradients = self.cost_of(run), self.curves[run].gradients
        if spent is None:
            return np.nan
        return float(spent[-1] * self.workload.budget / gradients[-1]) if gradients[-1] > 0 else 0.0

    def scored(self, runs: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
        """Return the runs with score, misses, cost of each target and final loss; ``ours`` are those of tuned D-SGD."""
        costs, missed = self.costs(runs, ours)
        base, _ = self.costs(ours, ours)
        known = runs[runs["run_id"].isin(costs)]
        against = yardstick(np.stack(list(base.values()))) if base else np.empty(0)
        return known.assign(
            score=[self.rule.score(costs[run], against) for run in known["run_id"]],
            missed=[missed[run] for run in known["run_id"]],
            costs=[costs[run] for run in known["run_id"]],
            final=finals(self.aims, self.curves, known),
        )


def finals(aims: Aims, curves: Mapping[str, Curve], runs: pd.DataFrame) -> list[float]:
    """Return the final loss of each run as a part of F_0 − F_ref; infinite if nonfinite, or if the run diverged."""
    out = []
    for run, seed, diverged in zip(runs["run_id"], runs["seed"], runs["diverged"], strict=True):
        start, reference = aims[seed]
        value = (curves[run].losses[-1] - reference) / (start - reference)
        out.append(np.inf if diverged or not np.isfinite(value) else float(value))
    return out


def at_price(curves: Mapping[str, Curve], price: Price) -> CostOf:
    """Return the costs of runs at a price."""
    return partial(_priced, curves, price)


def _priced(curves: Mapping[str, Curve], price: Price, run: str) -> np.ndarray:
    curve = curves[run]
    return price.of(curve.gradients, curve.rounds, curve.sent)


def yardstick_runs(judge: Judge, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of D-SGD at its best setting: the one with the least mean logarithm of its costs.

    Settings that lack a tuning seed do not count. Ties go to the least mean final loss.
    """
    ours, seeds = runs[runs["entrant"] == YARDSTICK], judge.workload.seeds[TUNING]
    whole = ours[ours.groupby("setting")["seed"].transform("nunique") == len(seeds)]
    if whole.empty:
        wanted = f"no setting of {YARDSTICK} with the tuning seeds {list(seeds)}"
        raise NoData(f"{judge.workload.name} has {wanted}; its tuned cost has the score 0")
    means = {}
    for setting, some in whole.groupby("setting"):
        costs, _ = judge.costs(some, some)
        value = float(np.log(np.stack(list(costs.values()))).mean()) if costs else np.inf
        means[setting] = (round(value, DIGITS), float(np.mean(finals(judge.aims, judge.curves, some))), setting)
    return whole[whole["setting"] == min(means, key=means.__getitem__)]
