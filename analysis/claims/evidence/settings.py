"""What several statistics ask for: the paper's settings, and methods by their names."""

from __future__ import annotations

import pandas as pd

from analysis.drawing.style import name_of, styles
from analysis.results.results import Results
from analysis.study.ask import PAPER
from analysis.study.families import split_in_words
from analysis.study.select import as_written, problems

Setting = tuple[str, pd.DataFrame]


def settings(
    results: Results, dataset: str | None = None, topology: str | None = None, even: bool = True
) -> list[Setting]:
    """The paper's settings with accuracies and stepsize grids, methods as written: one per dataset, graph and split."""
    finals = results.finals
    usual = (finals["scale"] == 1.0) & (finals["init"] == "shared") & (finals["topology"] != "row_stochastic")
    finals = finals[usual & (finals["nodes"] == 8) & ((finals["partition"] == "even") == even)]
    chosen: dict[str, tuple[tuple[int, int], pd.DataFrame]] = {}
    for key, runs in problems(results, finals):
        if not runs["test_accuracy"].notna().any() or runs["algo"].nunique() < 2 or runs["eta"].nunique() < 3:
            continue
        if (dataset and key["dataset"] != dataset) or (topology and key["topology"] != topology):
            continue
        split = "" if even else f", {split_in_words(runs.iloc[0].to_dict())}"
        name = f"{name_of(key['dataset'])}, {key['topology']}{split}"
        rank = (len(runs), key["steps"])
        if name not in chosen or rank > chosen[name][0]:
            chosen[name] = (rank, as_written(results, runs, PAPER)[0])
    return [(name, runs) for name, (_, runs) in sorted(chosen.items())]


def tuned_methods(runs: pd.DataFrame) -> list[str]:
    """Those with a stepsize, in the order of the style table."""
    return [algo for algo in styles(runs["algo"].unique()) if runs.loc[runs["algo"] == algo, "eta"].notna().any()]


def label(algo: str) -> str:
    return styles([algo])[algo].label
