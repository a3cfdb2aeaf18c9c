"""Runs that figures, tables and claims compare at one setting per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from analysis.drawing.symbols import in_symbols, symbol, what_is_tuned
from analysis.results.labels import method_name
from analysis.results.results import Results
from analysis.results.wording import many
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.select import DRAWN_FOR, problems, refuse_unless
from analysis.study.settings import TITLES, in_title, neutral_first
from analysis.study.statistics import best_setting
from analysis.study.tuning import choice_in_words, criterion, gone_in_words, score_in_words, tuned_over

FACTORS = {"scale": "c", "input_scale": "c"}
"""Symbols of the factors that rescale the objective."""


def short_name(label: str) -> str:
    """c, p, slow factor, η"""
    name = label.rpartition(".")[2]
    return FACTORS.get(name) or TITLES.get(name) or symbol(name)


def split_in_words(row: dict[str, Any]) -> str:
    alpha = row.get("partition.alpha")
    return f"{row['partition']}({alpha:g})" if pd.notna(alpha) else str(row["partition"])


def splits(runs: pd.DataFrame) -> list[str]:
    """Return the partition of every run in words, with the options that tell runs of one partition apart."""
    told = runs[[c for c in ("partition", "partition.alpha") if c in runs]]
    names = [split_in_words(row) for row in told.to_dict("records")]
    return with_options(runs, names, "partition", but=("partition.alpha",))


def with_options(runs: pd.DataFrame, names: Sequence[str], group: str, but: Sequence[str] = ()) -> list[str]:
    """Return the names of the values of a group, followed by its options that have several values for one name."""
    out = pd.Series(list(names), index=runs.index, dtype=object)
    for option in (c for c in runs if c.startswith(f"{group}.") and c not in but):
        words = [*map(str, runs[option])]
        if len({*words}) < 2:
            continue
        several = pd.Series(words, runs.index).groupby(list(names)).transform("nunique") > 1
        values = [f", {in_title(option, value)}" for value in runs[option]]  # a missing value adds nothing
        out = out.where(~several | runs[option].isna(), out + pd.Series(values, index=runs.index))
    return list(out)


def most_run(runs: pd.DataFrame, group: str, but: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs with the most frequent values of a group's options, except ``but``, and a note on the others."""
    names = [*runs[group].astype(str)]
    forms = pd.Series(with_options(runs, names, group, but), index=runs.index)
    most = forms.groupby(names).transform(lambda some: some.value_counts(sort=False).idxmax())
    left = int((forms != most).sum())
    if not left:
        return runs, []
    drawn = ", ".join(sorted(set(most)))
    return runs[forms == most], [f"{DRAWN_FOR} {drawn}; {many(left, 'run')} with other options of {group} left out"]


def _apart(runs: pd.DataFrame, label: str) -> pd.DataFrame:
    """Number the seeds anew per value of a label and its group, so that a setting is judged by all of them."""
    group = [c for c in runs.columns if c.partition(".")[0] == label.partition(".")[0]]
    return runs.assign(seed=runs.groupby([*group, "seed"], dropna=False).ngroup())


def one_setting(
    results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL
) -> tuple[pd.DataFrame, list[str]]:
    """Return every method at one setting for all splits, the best on average of those run on all, and a note."""
    kept, words, tuned = [], [], set()
    for algo, runs in finals.groupby("algo", sort=False):
        name = method_name(algo, results)
        if over := tuned_over(results, runs):
            tuned |= set(over)
            everywhere = runs.groupby(over)["split"].transform("nunique") == runs["split"].nunique()
            best = best_setting(_apart(runs[everywhere], "split"), over, criterion(results, finals, request))
            if best is None:
                words.append(f"{name} not drawn: every {what_is_tuned(over)} {gone_in_words(runs)} on some partition")
                continue
            runs = best.of(runs)
            words.append(f"{name} {choice_in_words(best)}")
        kept.append(runs)
    what = what_is_tuned(tuned)
    refuse_unless(bool(kept), f"every {what} {gone_in_words(finals)} on some partition")
    by = score_in_words(results, finals, request)
    rule = f"each method uses one {what} for all partitions, the one with the best mean final {by} over all of them: "
    return pd.concat(kept), [rule + "; ".join(words)] if words else []


def uneven_splits(results: Results) -> dict[str, pd.DataFrame]:
    """Return the runs by split, for the problem with the most splits of its data; at least two, of two methods each."""
    best: dict[str, pd.DataFrame] = {}
    for _, runs in neutral_first(problems(results, results.finals, but=("partition",))):
        each = runs.assign(split=splits(runs)).groupby("split")
        found = {str(split): some for split, some in each if some["algo"].nunique() >= 2}
        if len(found) > max(len(best), 1):
            best = found
    refuse_unless(bool(best), "no problem was run with two or more partitions of its data")
    return best


def at_most(
    what: str, results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL
) -> tuple[pd.DataFrame, dict[str, dict[str, float | str]], list[str]]:
    """Return every method at one setting for all values of a label, these settings, and notes.

    The setting is the best on average, of those run at the most values; if each diverged somewhere, the one that
    diverged least often.
    """
    name = short_name(what)
    kept, values, words, several = [], {}, [], False
    for algo, runs in finals.groupby("algo", sort=False):
        if over := tuned_over(results, runs):
            only = runs.groupby(over).ngroups == 1
            spans = runs.groupby(over)[what].transform("nunique")
            widest = runs[spans == spans.max()]
            several |= widest.groupby(over).ngroups > 1
            best = best_setting(_apart(widest, what), over, criterion(results, finals, request))
            found = best.values if best else _least_diverging(widest, over)
            for option, value in found.items():
                runs = runs[runs[option] == value]
            values[str(algo)] = found
            gone = "" if best else f" ({gone_in_words(runs)} for some {name})"
            choice = choice_in_words(best) if best else in_symbols(found, "=")
            words.append((f"{method_name(algo, results)} {choice}{gone}", only))
        kept.append(runs)
    kind = what_is_tuned(option for found in values.values() for option in found)
    settings = "; ".join(text + " (the only value run)" * (several and only) for text, only in words)
    notes = [f"the same {kind} for every {name}: {settings}"] if words else []
    if several:
        by = score_in_words(results, finals, request)
        notes += [f"each {kind} has the best mean final {by}, of those run with the most values of {name}"]
    return pd.concat(kept), values, notes


def _least_diverging(runs: pd.DataFrame, over: list[str]) -> dict[str, float | str]:
    """Return the setting with the fewest diverged runs; ties go to the smaller."""
    gone = runs.assign(gone=runs["state"] != "done").groupby(over, as_index=False)["gone"].sum()
    (found,) = gone.sort_values(["gone", *over], kind="stable").head(1)[over].to_dict("records")
    return {str(option): value for option, value in found.items()}
