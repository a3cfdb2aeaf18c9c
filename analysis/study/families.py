"""Which runs belong together: those of a figure, a table or a claim."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.drawing.symbols import in_symbols, what_is_tuned
from analysis.results.labels import method_name
from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.select import problems, refuse_unless
from analysis.study.settings import neutral_first
from analysis.study.statistics import best_setting
from analysis.study.tuning import choice_in_words, criterion, gone_in_words, score_in_words, tuned_over


def split_in_words(row: dict[str, Any]) -> str:
    alpha = row.get("partition.alpha")
    return f"{row['partition']}({alpha:g})" if pd.notna(alpha) else str(row["partition"])


def _apart(runs: pd.DataFrame, label: str) -> pd.DataFrame:
    """Each seed at each value of a label, and of others of its group, as a seed of its own: a setting is then judged by
    all of them."""
    group = [c for c in runs.columns if c.partition(".")[0] == label.partition(".")[0]]
    return runs.assign(seed=runs.groupby([*group, "seed"], dropna=False).ngroup())


def one_setting(
    results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL
) -> tuple[pd.DataFrame, list[str]]:
    """Every method at one setting for all splits, so that only the data changes: the best on average over them, of
    those that were run on all."""
    kept, words, tuned = [], [], set()
    for algo, runs in finals.groupby("algo", sort=False):
        name = method_name(algo, results)
        if over := tuned_over(results, runs):
            tuned |= set(over)
            everywhere = runs.groupby(over)["split"].transform("nunique") == runs["split"].nunique()
            best = best_setting(_apart(runs[everywhere], "split"), over, criterion(results, finals, request))
            if best is None:
                words.append(f"{name} not drawn: every {what_is_tuned(over)} {gone_in_words(runs)} somewhere")
                continue
            runs = best.of(runs)
            words.append(f"{name} {choice_in_words(best)}")
        kept.append(runs)
    what = what_is_tuned(tuned)
    refuse_unless(bool(kept), f"every {what} {gone_in_words(finals)} somewhere")
    by = score_in_words(results, finals, request)
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


def at_most(
    what: str, results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL
) -> tuple[pd.DataFrame, dict[str, dict[str, float | str]], list[str]]:
    """Every method at one setting for all values of a label: of those that were run at most of them, the best on
    average; where each diverged somewhere, the one that did least often. The runs, these settings, and the rule."""
    kept, values, words = [], {}, []
    for algo, runs in finals.groupby("algo", sort=False):
        if over := tuned_over(results, runs):
            spans = runs.groupby(over)[what].transform("nunique")
            widest = runs[spans == spans.max()]
            best = best_setting(_apart(widest, what), over, criterion(results, finals, request))
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
    by = score_in_words(results, finals, request)
    rule = f"one {kind} for every {name}, of those run at most of them the one with the best mean final {by}: "
    return pd.concat(kept), values, [rule + "; ".join(words)] if words else []


def _calmest(runs: pd.DataFrame, over: list[str]) -> dict[str, float | str]:
    """The setting with the fewest runs that did not end well; the smaller of equals."""
    gone = runs.assign(gone=runs["state"] != "done").groupby(over, as_index=False)["gone"].sum()
    (found,) = gone.sort_values(["gone", *over], kind="stable").head(1)[over].to_dict("records")
    return {str(option): value for option, value in found.items()}
