"""Settings with stepsize grids, and their runs, for several statistics."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from analysis.results.labels import method_name, methods, name_of
from analysis.results.results import Results
from analysis.study.families import split_in_words
from analysis.study.select import as_written, problems
from reproduction.study import PAPER

Among = Literal["paper", "validated", "uneven", "felt"]
"""Settings of the paper; the same with a validation split; data divided by labels, and evenly for comparison, with a
validation split; and these with 32 nodes."""

POINTS = "test_accuracy"
"""Accuracies are compared by differences, other metrics by ratios."""


def settings(
    results: Results, among: Among = "paper", dataset: str | None = None, topology: str | None = None
) -> list[tuple[str, pd.DataFrame]]:
    """Settings with accuracies and stepsize grids of at least two methods: one per dataset, graph and partition."""
    finals = results.finals
    finals = finals[plain(finals) & (finals["topology"] != "row_stochastic")]
    aside = finals["validation"] > 0 if "validation" in finals else pd.Series(False, index=finals.index)
    few, even = finals["nodes"] == 8, finals["partition"] == "even"
    where = [finals[c] for c in ("dataset", "topology", "steps")]
    divided = (few & aside & ~even).groupby(where).transform("any")  # includes the evenly divided data
    wanted = {
        "paper": few & even & ~aside,
        "validated": few & aside & ~divided,
        "uneven": few & aside & divided,
        "felt": (finals["nodes"] > 8) & aside,
    }[among]
    chosen: dict[str, tuple[tuple[int, int], pd.DataFrame]] = {}
    for key, runs in problems(results, finals[wanted]):
        if not runs["test_accuracy"].notna().any() or runs["algo"].nunique() < 2 or runs["eta"].nunique() < 3:
            continue
        if (dataset and key["dataset"] != dataset) or (topology and key["topology"] != topology):
            continue
        name = in_words(runs)
        rank = (len(runs), key["steps"])
        if name not in chosen or rank > chosen[name][0]:
            chosen[name] = (rank, runs)
    return [(name, runs) for name, (_, runs) in sorted(chosen.items())]


def in_words(runs: pd.DataFrame) -> str:
    """The setting of runs on one problem, for example: a9a, ring of 32, dirichlet(0.1). Even data and 8 nodes, as in
    the paper, are omitted."""
    row = runs.iloc[0].to_dict()
    words = [name_of(row["dataset"])]
    words += [f"standard deviation {row['dataset.spike_sd']:g}"] if pd.notna(row.get("dataset.spike_sd")) else []
    words += [row["topology"] if row["nodes"] == 8 else f"{row['topology']} of {row['nodes']}"]
    if row["partition"] != "even":
        return ", ".join([*words, split_in_words(row)])
    return ", ".join([*words, *(["even, validation split"] if row.get("validation", 0) > 0 else [])])


def written(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of every method as written in the paper, with D-NASA untuned."""
    return as_written(results, runs, PAPER)[0]


def plain(finals: pd.DataFrame) -> pd.Series:
    """Mask of runs on unscaled f, from equal starts, with the actual n in the stepsize formulas."""
    keep = (finals["scale"] == 1.0) & (finals["init"] == "shared")
    if "input_scale" in finals:
        keep &= finals["input_scale"] == 1.0
    return keep & finals["schedule_nodes"].isna() if "schedule_nodes" in finals else keep


def tuned_methods(runs: pd.DataFrame) -> list[str]:
    """Methods with a stepsize, in the order of the style table."""
    return [algo for algo in methods(runs["algo"].unique()) if runs.loc[runs["algo"] == algo, "eta"].notna().any()]


def of(runs: pd.DataFrame, algo: str) -> pd.DataFrame:
    return runs[runs["algo"] == algo]


def by_seed(runs: pd.DataFrame, metric: str) -> pd.Series:
    """A value per seed; NaN where the run diverged."""
    table = runs.set_index("seed")
    return table[metric].astype(float).where(table["state"] == "done")


def label(algo: str) -> str:
    return method_name(algo)
