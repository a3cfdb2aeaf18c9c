"""Which runs belong together: those of a figure, a table or a claim."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import in_symbols, what_is_tuned
from analysis.results.labels import method_name
from analysis.results.results import Results
from analysis.study.ask import USUAL, Ask
from analysis.study.select import has_no_variant, problems, refuse_unless
from analysis.study.settings import neutral_first
from analysis.study.statistics import best_setting
from analysis.study.tuning import AS_WRITTEN, choice_in_words, criterion, gone_in_words, score_in_words, tuned_over

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


def split_in_words(row: dict[str, Any]) -> str:
    alpha = row.get("partition.alpha")
    return f"{row['partition']}({alpha:g})" if pd.notna(alpha) else str(row["partition"])


def _apart(runs: pd.DataFrame, label: str) -> pd.DataFrame:
    """Each seed at each value of a label, and of others of its group, as a seed of its own: a setting is then judged by
    all of them."""
    group = [c for c in runs.columns if c.partition(".")[0] == label.partition(".")[0]]
    return runs.assign(seed=runs.groupby([*group, "seed"], dropna=False).ngroup())


def one_setting(results: Results, finals: pd.DataFrame, ask: Ask = USUAL) -> tuple[pd.DataFrame, list[str]]:
    """Every method at one setting for all splits, so that only the data changes: the best on average over them, of
    those that were run on all."""
    kept, words, tuned = [], [], set()
    for algo, runs in finals.groupby("algo", sort=False):
        name = method_name(algo, results)
        if over := tuned_over(results, runs):
            tuned |= set(over)
            everywhere = runs.groupby(over)["split"].transform("nunique") == runs["split"].nunique()
            best = best_setting(_apart(runs[everywhere], "split"), over, criterion(results, finals, ask))
            if best is None:
                words.append(f"{name} not drawn: every {what_is_tuned(over)} {gone_in_words(runs)} somewhere")
                continue
            runs = best.of(runs)
            words.append(f"{name} {choice_in_words(best)}")
        kept.append(runs)
    what = what_is_tuned(tuned)
    refuse_unless(bool(kept), f"every {what} {gone_in_words(finals)} somewhere")
    by = score_in_words(results, finals, ask)
    rule = f"one {what} for all splits, with the best mean final {by} over all of them: "
    return pd.concat(kept), [rule + "; ".join(words)]


def uneven_splits(results: Results) -> dict[str, pd.DataFrame]:
    """The runs of two methods or more on one problem with its data divided in two ways or more."""
    best: dict[str, pd.DataFrame] = {}
    for _, runs in neutral_first(problems(results, results.finals, but=("partition",))):
        told = runs.assign(split=[split_in_words(row) for row in runs.to_dict("records")])
        splits = {str(split): some for split, some in told.groupby("split") if some["algo"].nunique() >= 2}
        if len(splits) > max(len(best), 1):
            best = splits
    refuse_unless(bool(best), "no problem was run with its data divided in two ways or more")
    return best


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


def at_most(
    what: str, results: Results, finals: pd.DataFrame, ask: Ask = USUAL
) -> tuple[pd.DataFrame, dict[str, dict[str, float | str]], list[str]]:
    """Every method at one setting for all values of a label: of those that were run at most of them, the best on
    average; where each diverged somewhere, the one that did least often. The runs, these settings, and the rule."""
    kept, values, words = [], {}, []
    for algo, runs in finals.groupby("algo", sort=False):
        if over := tuned_over(results, runs):
            spans = runs.groupby(over)[what].transform("nunique")
            widest = runs[spans == spans.max()]
            best = best_setting(_apart(widest, what), over, criterion(results, finals, ask))
            found = best.values if best else _calmest(widest, over)
            for option, value in found.items():
                runs = runs[runs[option] == value]
            values[str(algo)] = found
            gone = f", though it {gone_in_words(runs)} too"
            rest = "" if best and not best.alone else ", the only one run" if best else gone
            words.append(f"{method_name(algo, results)} {in_symbols(found, '=')}{rest}")
        kept.append(runs)
    kind = what_is_tuned(option for found in values.values() for option in found)
    name = what.rpartition(".")[2]
    by = score_in_words(results, finals, ask)
    rule = f"one {kind} for every {name}, of those run at most of them the one with the best mean final {by}: "
    return pd.concat(kept), values, [rule + "; ".join(words)] if words else []


def _calmest(runs: pd.DataFrame, over: list[str]) -> dict[str, float | str]:
    """The setting with the fewest runs that did not end well; the smaller of equals."""
    gone = runs.assign(gone=runs["state"] != "done").groupby(over, as_index=False)["gone"].sum()
    (found,) = gone.sort_values(["gone", *over], kind="stable").head(1)[over].to_dict("records")
    return {str(option): value for option, value in found.items()}
