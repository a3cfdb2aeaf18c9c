"""The runs of the paper's own figures, tables and claims."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.results.labels import method_name
from analysis.results.results import Results
from analysis.study.families import split_in_words
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


def variants(results: Results) -> pd.DataFrame:
    """Runs as written and changed in one way or more, on one dataset, with what was changed and how data is split."""
    best = None
    finals = results.finals
    if "multiplier" in finals:
        finals = finals[finals["multiplier"].isna() | (finals["multiplier"] == AS_WRITTEN["multiplier"])]
    finals = finals[finals["schedule"] == "diminishing"] if "schedule" in finals else finals
    for _, runs in neutral_first(problems(results, finals, but=("partition", "topology", "init"))):
        asked = runs[[c for c in (*CHANGES, "partition", "partition.alpha") if c in runs]].to_dict("records")
        told = runs.assign(change=[_change(row) for row in asked], split=[split_in_words(row) for row in asked])
        told = told[told["topology"].isin(_graphs(told))]
        # with the stepsize at which the change was made, and the graph and split on which it was
        for algo, some in told.groupby("algo"):
            if "eta" in some and some["eta"].notna().any():
                changed = some[some["change"] != "as written"]["eta"].unique()
                told = told[(told["algo"] != algo) | told["eta"].isin(changed)]
        splits = told.loc[told["change"] != "as written", "split"].unique()
        told = told[told["split"].isin(splits)]
        if (told["change"] != "as written").any() and (
            best is None or told["change"].nunique() > best["change"].nunique()
        ):
            best = told
    refuse_unless(best is not None, "no run has a method as it was released, in place of as written")
    return best


def _graphs(runs: pd.DataFrame) -> set[str]:
    """The graph on which most changes were tried, and the matrix that is one."""
    changed = runs[(runs["change"] != "as written") & (runs["topology"] != "row_stochastic")]
    usual = (
        changed.groupby("topology")["change"].nunique() if len(changed) else runs.groupby("topology")["run_id"].count()
    )
    return {str(usual.idxmax()), "row_stochastic"}


def _change(row: dict[str, Any]) -> str:
    words = [
        CHANGES[key]
        for key in ("normalize", "average", "gossip")
        if pd.notna(row.get(key)) and row[key] != AS_WRITTEN[key]
    ]
    words += [CHANGES["init"]] * (row["init"] == "independent") + [CHANGES["topology"]] * (
        row["topology"] == "row_stochastic"
    )
    return ", ".join(words) or "as written"


@lru_cache(maxsize=2)  # many claims ask for the same
def speedup_runs(results: Results, algo: str = "dnasa") -> pd.DataFrame:
    """The runs of a method on one problem with different numbers of nodes, and other methods beside them."""
    best = None
    finals = results.finals
    for _, runs in neutral_first(problems(results, finals[has_no_variant(finals)], but=("nodes", "steps"))):
        if runs[runs["algo"] == algo]["nodes"].nunique() < 2 or (best is not None and len(runs) <= len(best)):
            continue  # what follows only takes runs away
        for option in results.numbers:  # of a method with several stepsizes, or other numbers, the one with most runs
            usual = runs.groupby("algo")[option].transform(
                lambda values: values.mode().iloc[0] if values.notna().any() else np.nan
            )
            runs = runs[runs[option].isna() | (runs[option] == usual)]
        widths = runs[runs["algo"] == algo]["nodes"].nunique()
        if widths >= 2 and (best is None or len(runs) > len(best)):
            best = runs
    refuse_unless(
        best is not None, f"{method_name(algo, results)} was not run on one problem with two numbers of nodes or more"
    )
    return best
