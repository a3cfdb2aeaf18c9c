"""Runs of the figures, tables and claims that are specific to the paper."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.labels import method_name
from analysis.results.results import Results
from analysis.study.families import splits
from analysis.study.select import has_no_variant, problems, refuse_unless
from analysis.study.settings import neutral_first
from analysis.study.tuning import AS_WRITTEN

CHANGES = {
    "normalize": "per-tensor norm",
    "average": "raw gradients averaged",
    "gossip": "mixed twice",
    "init": "independent starts",
    "topology": "row-stochastic matrix",
}


@lru_cache(maxsize=1)  # a figure, a table and claims share these runs
def variants(results: Results) -> pd.DataFrame:
    """Runs of methods as written and as released, on one dataset, with columns ``change`` and ``split``."""
    best = None
    finals = results.finals
    if "multiplier" in finals:
        finals = finals[finals["multiplier"].isna() | (finals["multiplier"] == AS_WRITTEN["multiplier"])]
    finals = finals[finals["schedule"] == "diminishing"] if "schedule" in finals else finals
    for _, runs in neutral_first(problems(results, finals, but=("partition", "topology", "init"))):
        options = runs[[c for c in CHANGES if c in runs]].to_dict("records")
        runs = runs.assign(change=[_change(row) for row in options], split=splits(runs))
        runs = runs[runs["topology"].isin(_graphs(runs))]
        # the unchanged runs with the stepsizes, graph and partitions of the changed ones
        for algo, some in runs.groupby("algo"):
            if "eta" in some and some["eta"].notna().any():
                etas = some.loc[some["change"] != "as written", "eta"].unique()
                runs = runs[(runs["algo"] != algo) | runs["eta"].isin(etas)]
        changed = runs["change"] != "as written"
        runs = runs[runs["split"].isin(runs.loc[changed, "split"].unique())]
        if changed.any() and (best is None or runs["change"].nunique() > best["change"].nunique()):
            best = runs
    refuse_unless(best is not None, "no run has a method as released instead of as written")
    return best


def _graphs(runs: pd.DataFrame) -> set[str]:
    """The graph with the most changes, and the row-stochastic matrix, which is itself a change."""
    changed = runs[(runs["change"] != "as written") & (runs["topology"] != "row_stochastic")]
    counts = (changed if len(changed) else runs).groupby("topology")["change" if len(changed) else "run_id"].nunique()
    return {str(counts.idxmax()), "row_stochastic"}


def _change(row: dict[str, Any]) -> str:
    options = ("normalize", "average", "gossip")
    changed = {key: pd.notna(row.get(key)) and row[key] != AS_WRITTEN[key] for key in options}
    changed |= {"init": row["init"] == "independent", "topology": row["topology"] == "row_stochastic"}
    return ", ".join(CHANGES[key] for key, differs in changed.items() if differs) or "as written"


def stepsizes_in_words(results: Results, finals: pd.DataFrame) -> list[str]:
    """A note on the stepsizes of the methods that have one."""
    if "eta" not in finals:
        return []
    etas = finals[finals["eta"].notna()].groupby("algo")["eta"].unique()
    words = [
        f"{method_name(algo, results)} η={', '.join(f'{eta:g}' for eta in sorted(some))}" for algo, some in etas.items()
    ]
    return [f"stepsizes: {'; '.join(words)}"] if words else []


@lru_cache(maxsize=2)  # several claims share these runs
def speedup_runs(results: Results, algo: str = "dnasa") -> pd.DataFrame:
    """Runs of a method on one problem with different numbers of nodes, and runs of other methods on it."""
    best = None
    finals = results.finals
    for _, runs in neutral_first(problems(results, finals[has_no_variant(finals)], but=("nodes", "steps"))):
        if runs[runs["algo"] == algo]["nodes"].nunique() < 2 or (best is not None and len(runs) <= len(best)):
            continue  # the selection below only removes runs
        for option in results.numbers:  # keep the most frequent value of each option
            usual = runs.groupby("algo")[option].transform(
                lambda values: values.mode().iloc[0] if values.notna().any() else np.nan
            )
            runs = runs[runs[option].isna() | (runs[option] == usual)]
        widths = runs[runs["algo"] == algo]["nodes"].nunique()
        if widths >= 2 and (best is None or len(runs) > len(best)):
            best = runs
    name = method_name(algo, results)
    refuse_unless(best is not None, f"{name} has no runs on one problem with at least two numbers of nodes")
    return best
