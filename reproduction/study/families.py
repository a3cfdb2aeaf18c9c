"""Runs of the figures, tables and claims that are specific to the paper."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pandas as pd

from analysis.results.labels import method_name, name_of
from analysis.results.results import Results
from analysis.study.families import splits, with_options
from analysis.study.select import DRAWN_FOR, has_no_variant, problems, refuse_unless, what_else
from analysis.study.settings import neutral_first
from analysis.study.tuning import AS_WRITTEN
from analysis.study.variants import most_frequent, shown_values

CHANGES = {
    "normalize": "per-tensor norm",
    "average": "raw gradients averaged",
    "gossip": "mixed twice",
    "init": "independent starts",
    "topology": "row-stochastic matrix",
}
VARIED = ("partition", "topology", "init")
"""Labels that may differ between these methods."""


@lru_cache(maxsize=1)  # a figure, a table and claims share these runs
def variants(results: Results) -> pd.DataFrame:
    """Runs of methods as written and as released, on one dataset and graph, with columns ``change`` and ``split``.

    Of the graph's options, and of those of a method that are no change, one value is kept.
    """
    best = None
    finals = results.finals
    if "multiplier" in finals:
        finals = finals[finals["multiplier"].isna() | (finals["multiplier"] == AS_WRITTEN["multiplier"])]
    finals = finals[finals["schedule"] == "diminishing"] if "schedule" in finals else finals
    for _, runs in neutral_first(problems(results, finals, but=VARIED)):
        options = runs[[c for c in CHANGES if c in runs]].to_dict("records")
        runs = runs.assign(change=[_change(row) for row in options], split=splits(runs))
        runs = runs[_on_one_graph(runs)]
        # the unchanged runs with the options and partitions of the changed ones
        runs = _one_value(results, runs)
        changed = runs["change"] != "as written"
        runs = runs[runs["split"].isin(runs.loc[changed, "split"].unique())]
        if changed.any() and (best is None or runs["change"].nunique() > best["change"].nunique()):
            best = runs
    refuse_unless(best is not None, "no run has a method as released instead of as written")
    return best


def _on_one_graph(runs: pd.DataFrame) -> pd.Series:
    """Return which runs have the graph with the most changes, or the row-stochastic matrix, which is itself a change.

    A graph with other options is another one.
    """
    graphs = pd.Series(with_options(runs, [*runs["topology"].map(str)], "topology"), index=runs.index)
    itself = runs["topology"] == "row_stochastic"
    keep = pd.Series(False, index=runs.index)
    for mine in (itself, ~itself):
        changed = mine & (runs["change"] != "as written")
        of = changed if changed.any() else mine
        if of.any():
            some = runs[of].groupby(graphs[of])
            count = pd.DataFrame({"changes": some["change"].nunique(), "runs": some["run_id"].nunique()})
            keep |= mine & (graphs == count.sort_values(["changes", "runs"], ascending=False, kind="stable").index[0])
    return keep


def _one_value(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the changed methods with one value of each other option, the most frequent of the changed runs."""
    kept = [runs.iloc[:0]]
    for algo, mine in runs.groupby("algo", sort=False):
        for option in (c for c in results.several_in(mine) if c not in CHANGES):
            changed = mine[mine["change"] != "as written"]
            if len(changed):
                value = changed.loc[most_frequent(changed, str(algo), option), option].iloc[0]
                mine = mine[mine[option].isna() if pd.isna(value) else mine[option] == value]
        kept += [mine] if (mine["change"] != "as written").any() else []
    return pd.concat(kept)


def _change(row: dict[str, Any]) -> str:
    options = ("normalize", "average", "gossip")
    changed = {key: pd.notna(row.get(key)) and row[key] != AS_WRITTEN[key] for key in options}
    changed |= {"init": row["init"] == "independent", "topology": row["topology"] == "row_stochastic"}
    return ", ".join(CHANGES[key] for key, differs in changed.items() if differs) or "as written"


def variants_in_words(results: Results, finals: pd.DataFrame) -> list[str]:
    """Notes on the setting of these runs: stepsizes, unusual options, dataset and graph."""
    graph = finals[finals["topology"] != "row_stochastic"]
    first = (graph if len(graph) else finals).iloc[0]
    where = f"{name_of(first['dataset'])}, {first['topology']} graph, n = {first['nodes']}, T = {first['steps']}"
    more = [
        note.removeprefix(f"{DRAWN_FOR} ") for note in what_else(results, first.to_frame().T, ["partition", "init"])
    ]
    setting = f"{DRAWN_FOR} {', '.join([where, *more])}"
    return [*stepsizes_in_words(results, finals), *shown_values(results, finals), setting]


def stepsizes_in_words(results: Results, finals: pd.DataFrame) -> list[str]:
    """A note on the stepsizes of the methods that have one."""
    if "eta" not in finals:
        return []
    etas = finals[finals["eta"].notna()].groupby("algo")["eta"].unique()
    words = [
        f"{method_name(algo, results)} η={', '.join(f'{eta:g}' for eta in sorted(some))}" for algo, some in etas.items()
    ]
    return [f"stepsizes: {'; '.join(words)}"] if words else []


def usual_options(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of every method with the most frequent value of each option, except the schedule."""
    for option in (c for c in results.several_in(runs) if c not in AS_WRITTEN and c != "schedule"):
        if runs[option].nunique(dropna=False) > 1:
            each = [most_frequent(mine, str(algo), option) for algo, mine in runs.groupby("algo", sort=False)]
            runs = runs[pd.concat(each).reindex(runs.index)]
    return runs


@lru_cache(maxsize=2)  # several claims share these runs
def speedup_runs(results: Results, algo: str = "dnasa") -> pd.DataFrame:
    """Runs of a method on one problem with different numbers of nodes, and runs of other methods on it."""
    best = None
    finals = results.finals
    for _, runs in neutral_first(problems(results, finals[has_no_variant(finals)], but=("nodes", "steps"))):
        if runs[runs["algo"] == algo]["nodes"].nunique() < 2 or (best is not None and len(runs) <= len(best)):
            continue  # the selection below only removes runs
        runs = usual_options(results, runs)
        widths = runs[runs["algo"] == algo]["nodes"].nunique()
        if widths >= 2 and (best is None or len(runs) > len(best)):
            best = runs
    name = method_name(algo, results)
    refuse_unless(best is not None, f"{name} has no runs on one problem with at least two numbers of nodes")
    return best
