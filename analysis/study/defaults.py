"""The choice of one setting per method by its mean score over several problems, one per dataset."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.results.results import Results
from analysis.study.score import costs_to_reach, score, yardstick
from analysis.study.select import refuse_unless
from analysis.study.settings import WATCHED
from analysis.study.tuning import tuned_over

YARDSTICK = "dsgd"
"""The method whose tuned cost has the score 0."""
POOLED = "all_reduce"
"""The network of the references, which use the average of all nodes."""
LOSSES = ("node_loss", "val_loss", "train_loss")
"""The loss that is scored: the first of these columns that all runs on a dataset have."""


@dataclass(frozen=True)
class Choice:
    """The best setting of one method.

    Attributes:
        algo: The method.
        pooled: Whether it ran on the average of all nodes.
        values: The chosen options.
        edges: The chosen options at an end of their grid.
        score: The mean score over the datasets.
        parts: The score on each dataset, the mean over seeds.
        start: The median initial loss on each dataset.
        final: The median final loss on each dataset.
        diverged: The number of diverged runs at the chosen setting.
    """

    algo: str
    pooled: bool
    values: dict[str, float | str]
    edges: tuple[str, ...]
    score: float
    parts: dict[str, float]
    start: dict[str, float]
    final: dict[str, float]
    diverged: int


def choices(results: Results) -> list[Choice]:
    """Return the best setting of every method that was run with several settings on all datasets.

    Raises:
        NoData: There is no tuned D-SGD, or no reference, or a method was run on several networks.
    """
    finals = results.finals
    known = {"gradients", "train_loss"} <= {*results.rows} and {"topology", "nodes", "batch_size"} <= {*finals}
    refuse_unless(known, "it needs runs with a column gradients, which older runs lack")
    finals = finals.assign(pooled=finals["topology"] == POOLED)
    values = _values(results, finals)
    finals = finals.assign(values=values, setting=values.map(str))
    parts = []
    for dataset, runs in finals.groupby("dataset"):
        _check_one_problem(results, str(dataset), runs)
        ours = runs[(runs["algo"] == YARDSTICK) & ~runs["pooled"]]
        losses = _losses(results, runs)
        references = _references(runs, losses)
        if ours["setting"].nunique() > 1 and set(ours["seed"]) <= set(references):
            parts.append(_scored(results, runs, losses, references))
    missing = f"it needs runs of {YARDSTICK} with several stepsizes, and of references with topology={POOLED}"
    refuse_unless(bool(parts), missing)
    return list(_chosen(pd.concat(parts)))


FREE = ("steps", *WATCHED, "topology", "network")
"""Labels that may differ between the methods of a problem: their rounds, clocks and W; the graph is checked apart."""


def _check_one_problem(results: Results, dataset: str, runs: pd.DataFrame) -> None:
    labels = [c for c in results.problem if c in runs and c.partition(".")[0] not in FREE]
    differ = [c for c in labels if runs[c].map(str).nunique() > 1]
    differ += ["topology"] if runs.loc[~runs["pooled"], "topology"].nunique() > 1 else []
    several = f"the runs on {dataset} are of several problems, which differ in {', '.join(differ)}"
    refuse_unless(not differ, f"{several}; choose one with --where {differ[0] if differ else ''}=VALUE")


def _values(results: Results, finals: pd.DataFrame) -> pd.Series:
    """Return the tuned options of each run with their values, as dictionaries."""
    parts = []
    for _, runs in finals.groupby(["algo", "pooled"]):
        tuned = tuned_over(results, runs, "multiplier")
        parts.append(pd.Series(runs[tuned].to_dict("records"), index=runs.index, dtype=object))
    return pd.concat(parts)


def _losses(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the initial and the final loss of each run, by run_id; the final one is infinite if it is undefined."""
    rows = results.rows[results.rows["run_id"].isin(runs["run_id"])]
    first, last = rows.drop_duplicates("run_id"), rows.drop_duplicates("run_id", keep="last")
    name = next(name for name in LOSSES if name == LOSSES[-1] or (name in first and first[name].notna().all()))
    out = pd.DataFrame({"start": first.set_index("run_id")[name], "final": last.set_index("run_id")[name]})
    gone = runs.set_index("run_id")["state"] != "done"
    least = first["train_loss"] - first["suboptimality"] if "suboptimality" in first else np.nan
    minimum = pd.Series(least, index=first.index).set_axis(first["run_id"])
    return out.assign(metric=name, diverged=gone, minimum=minimum, final=out["final"].where(~gone).fillna(np.inf))


def _references(runs: pd.DataFrame, losses: pd.DataFrame) -> dict[int, float]:
    """Return the reference loss of each seed: the known minimum, else the best median final loss of pooled methods."""
    known = runs[["run_id", "algo", "pooled", "setting", "seed"]].join(losses, on="run_id")
    if known["minimum"].notna().all():
        return known.groupby("seed")["minimum"].median().to_dict()
    pooled = known[known["pooled"]]
    if pooled.empty:
        return {}
    finals = pooled.groupby(["algo", "setting"])["final"].agg(["size", "median"])
    best = finals.loc[_whole(finals["size"]), "median"].min()
    return dict.fromkeys(known["seed"], float(best)) if np.isfinite(best) else {}


def _scored(results: Results, runs: pd.DataFrame, losses: pd.DataFrame, references: dict[int, float]) -> pd.DataFrame:
    """Return the runs on one dataset with their scores and losses."""
    labels = ["algo", "pooled", "setting", "seed"]
    twice = runs[runs.duplicated(labels)]
    refuse_unless(twice.empty, f"{', '.join(twice['algo'].unique())} ran twice at one setting; choose with --where")
    found = runs[["run_id", "dataset", "values", *labels]].join(losses, on="run_id")
    ours = (runs["algo"] == YARDSTICK) & ~runs["pooled"]
    per_gradient = (runs["nodes"] * runs["batch_size"]).set_axis(runs["run_id"])
    spent = {run: results.course(run, "gradients")[1].astype(float) / per_gradient[run] for run in runs["run_id"]}
    budget = max(spent[run][-1] for run in runs.loc[ours, "run_id"])
    starts = found[ours].groupby("seed")["start"].median()
    costs = {}
    for run, seed, metric, diverged in zip(
        found["run_id"], found["seed"], found["metric"], found["diverged"], strict=True
    ):
        start, reference, values = starts[seed], references[seed], results.course(run, metric)[1].astype(float)
        refuse_unless(reference < start, f"the references end above the initial loss {start:g}")
        costs[run] = costs_to_reach(spent[run], values, start, reference, budget, diverged=diverged)
    groups = pd.Series({setting: [*some["run_id"]] for setting, some in found[ours].groupby("setting")})
    tried = [np.stack([costs[run] for run in some]) for some in groups[_whole(groups.map(len))]]
    tuned = yardstick(min(tried, key=lambda some: float(np.log(some).mean())))
    return found.assign(score=[score(costs[run], tuned) for run in found["run_id"]])


def _whole(counts: pd.Series) -> pd.Series:
    """Return which settings have as many runs as any: one that lacks a seed may be the best of a lucky one."""
    return counts == counts.max()


def steadiest(diverged: pd.Series) -> pd.Series:
    """Return which settings have the fewest diverged runs: a default must not diverge where another does not."""
    return diverged == diverged.min()


def _chosen(found: pd.DataFrame) -> Iterator[Choice]:
    """Yield the setting of every method with the fewest diverged runs and, among these, the best mean score.

    Settings that lack a run do not count.
    """
    datasets = found["dataset"].nunique()
    for (algo, pooled), runs in found.groupby(["algo", "pooled"]):
        means = runs.pivot_table("score", "setting", "dataset", aggfunc="mean").dropna()
        counts = runs.groupby("setting").size().loc[means.index]
        means = means[_whole(counts)] if len(means) else means
        if means.shape[1] < datasets or runs["setting"].nunique() < 2:
            continue
        totals = means.mean(axis=1)[steadiest(runs.groupby("setting")["diverged"].sum().loc[means.index])]
        mine = runs[runs["setting"] == totals.idxmax()]
        best = dict(mine["values"].iloc[0])
        grid = {name: {values[name] for values in runs["values"]} for name in best}
        numbers = [name for name, value in best.items() if not isinstance(value, str)]
        losses = mine.groupby("dataset")[["start", "final"]].median()
        yield Choice(
            algo=str(algo),
            pooled=bool(pooled),
            values=best,
            edges=tuple(name for name in numbers if best[name] in (min(grid[name]), max(grid[name]))),
            score=float(totals.max()),
            parts={str(name): float(value) for name, value in means.loc[totals.idxmax()].items()},
            start={str(name): float(value) for name, value in losses["start"].items()},
            final={str(name): float(value) for name, value in losses["final"].items()},
            diverged=int(mine["diverged"].sum()),
        )
