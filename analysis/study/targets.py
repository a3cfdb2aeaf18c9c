"""The training loss that a run must reach, for costs until a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.results.results import Results
from analysis.results.wording import many
from analysis.study.figure_options import FigureOptions
from analysis.study.select import reference
from bench.base.errors import UserError
from bench.clock import Network, RunCosts, seconds

TAU = 0.01
"""A target lies this fraction of the decrease above the lowest loss."""
TARGET_METHOD = "dsgd"
"""The method whose loss sets the targets without --reference. One method sets all, so that others do not move them."""


TARGET_RULE = (
    f"the target is the training loss at which {{method}} has reached {100 * (1 - TAU):g} % of its decrease, for each "
    "seed; the time is that of the first evaluation at the target, when the last node has completed the step"
)


def target_method(results: Results, methods: Iterable[str], request: FigureOptions) -> str:
    """Return the method whose loss sets the targets."""
    known = sorted(methods)
    wanted = [request.reference, TARGET_METHOD, reference(results), *known]
    return next(algo for algo in wanted if algo in known and algo is not None)


def targets(rows: pd.DataFrame, algo: str) -> pd.Series:
    """Return the target of every seed: the loss after 1 − ``TAU`` of the largest decrease of the method.

    A seed at which the loss of the method never decreases has no target.
    """
    theirs = rows[rows["algo"] == algo]
    least = theirs.groupby("seed")["train_loss"].min()
    start = theirs[theirs["step"] == 0].groupby("seed")["train_loss"].min()
    return (least + TAU * (start - least))[least < start]


def with_targets(results: Results, runs: pd.DataFrame, algo: str) -> pd.DataFrame:
    """Return the runs that have a target: those with seeds at which ``algo``, which sets the targets, decreases."""
    rows = results.curves(runs.loc[runs["algo"] == algo, ["run_id", "algo", "seed"]])
    return runs[runs["seed"].isin(targets(rows, algo).index)]


def left_out(alone: int, without: int) -> list[str]:
    """Return notes on the numbers of runs that no method is compared with, and of runs without a target."""
    reasons = {
        "no other method was run on the same problem and seeds": alone,
        "with the same seed, the method that sets the target was not run or never decreased its loss": without,
    }
    return [f"{many(count, 'run')} left out: {reason}" for reason, count in reasons.items() if count]


def hits(results: Results, runs: pd.DataFrame, algo: str) -> pd.DataFrame:
    """Return a row per run with its first evaluation at the target of its seed, which ``algo`` sets.

    The columns are run_id, algo, seed, step and evaluation; the last two are NaN if the run misses the target.
    """
    rows = results.curves(runs[["run_id", "algo", "seed"]])
    rows = rows.assign(evaluation=rows.groupby("run_id").cumcount())
    first = rows[rows["train_loss"] <= rows["seed"].map(targets(rows, algo))].drop_duplicates("run_id")
    return runs[["run_id", "algo", "seed"]].merge(first[["run_id", "step", "evaluation"]], on="run_id", how="left")


def seconds_until(
    found: pd.DataFrame, costs: Mapping[str, RunCosts], network: Network
) -> tuple[list[float], dict[str, str]]:
    """Return the seconds of every run until its target, and for runs without a time on the network the reason.

    The seconds are NaN if the run misses its target, or has no time.
    """
    out, wrong = [], {}
    for run, evaluation in zip(found["run_id"], found["evaluation"], strict=True):
        out.append(np.nan)
        if run in costs and not np.isnan(evaluation):
            try:
                out[-1] = float(seconds(_until(costs[run], int(evaluation)), network).slowest[-1])
            except UserError as error:
                wrong[str(run)] = str(error)
    return out, wrong


def _until(costs: RunCosts, evaluation: int) -> RunCosts:
    """Return the costs up to an evaluation, since the clock need not run longer."""
    arrays = ("steps", "rounds", "gradients", "bits")
    return replace(costs, **{name: getattr(costs, name)[: evaluation + 1] for name in arrays})
