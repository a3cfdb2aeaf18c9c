"""Which runs belong to a figure. What is chosen, and what is left out, is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from analysis.drawing.style import name_of, styles
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study.ask import USUAL, Ask
from analysis.study.tuning import AS_WRITTEN, at_best, criterion, numbers_tuned, tuned_over
from bench.base.record import COLUMNS


def has_no_variant(finals: pd.DataFrame, asked: str | None = None) -> pd.Series:
    """Which runs have no variant; a run without the option is as written, and one that is ``asked`` for is none."""
    keep = pd.Series(True, index=finals.index)
    for option, usual in AS_WRITTEN.items():
        if option in finals and option != asked:
            keep &= finals[option].isna() | (finals[option] == usual)
    return keep


def as_written(
    results: Results, finals: pd.DataFrame, ask: Ask = USUAL, asked: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Of every method on one problem, its form in the paper with all values of the options that it was tuned over, and
    of others the value with most runs; one schedule alone, where that is asked for and the method was run with it."""
    kept, notes = [], []
    for algo, runs in finals.groupby("algo", sort=False):
        chosen = runs[has_no_variant(runs, asked)]
        if ask.schedule and "schedule" in chosen and (chosen["schedule"] == ask.schedule).any():
            chosen = chosen[chosen["schedule"].isna() | (chosen["schedule"] == ask.schedule)]
        tuned = tuned_over(results, chosen, asked)
        for option in results.options:
            values = chosen[option].dropna() if option in chosen else pd.Series(dtype=object)
            if option in (*tuned, *AS_WRITTEN) or values.nunique() < 2:
                continue
            usual = values.value_counts().index[0]
            chosen = chosen[chosen[option].isna() | (chosen[option] == usual)]
        if len(chosen) < len(runs):
            notes.append(f"{algo}: {len(runs) - len(chosen)} runs of its variants are not drawn here")
        kept.append(chosen)
    return (pd.concat(kept) if kept else finals), notes


def problems(
    results: Results, finals: pd.DataFrame, but: tuple[str, ...] = ()
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """The runs problem by problem; labels in ``but``, and those below them, may differ within one."""
    keys = [c for c in results.problem if c not in but and c.partition(".")[0] not in but]
    keys = [c for c in keys if c in finals and not finals[c].isna().all()]
    for values, runs in finals.groupby(keys, dropna=False, sort=False):
        yield dict(zip(keys, values, strict=True)), runs


def one_per_dataset(
    results: Results, finals: pd.DataFrame
) -> tuple[list[tuple[dict[str, Any], pd.DataFrame]], list[str]]:
    """For every dataset the setting with most runs; between equals the paper's random graph, then the longest."""
    best: dict[str, tuple[tuple[Any, ...], dict[str, Any], pd.DataFrame]] = {}
    others: dict[str, int] = {}
    for key, runs in problems(results, finals):
        rank = (len(runs), key["topology"] == "random", key["steps"], str(key))
        old = best.get(key["dataset"])
        others[key["dataset"]] = others.get(key["dataset"], -1) + 1
        if old is None or rank > old[0]:
            best[key["dataset"]] = (rank, key, runs)
    notes = []
    for dataset, count in others.items():
        if count:
            more = "another setting is" if count == 1 else f"{count} other settings are"
            drawn = f"{name_of(dataset)}: drawn for {in_words(best[dataset][1])}"
            notes.append(f"{drawn}; {more} in these results (choose with --where LABEL=VALUE)")
    order = ["mnist", "a9a", "miniboone"]
    names = sorted(best, key=lambda name: (order.index(name) if name in order else len(order), name))
    return [best[name][1:] for name in names], notes


def with_accuracies(finals: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The datasets with accuracies where there are any, else all: one axis does not show both."""
    known = finals.groupby("dataset")["test_accuracy"].transform("count") > 0
    if not known.any() or known.all():
        return finals, []
    names = ", ".join(sorted(finals.loc[~known, "dataset"].unique()))
    return finals[known], [f"without accuracies, and not drawn here: {names} (choose with --where dataset=NAME)"]


def in_words(key: dict[str, Any]) -> str:
    """The part of a problem that a reader asks for first."""
    words = f"topology={key['topology']} nodes={key['nodes']} steps={key['steps']}"
    return words + ("" if key.get("partition", "even") == "even" else f" partition={key['partition']}")


def metrics(results: Results, asked: Iterable[str], usual: Iterable[str]) -> list[str]:
    """What a figure shows: what was asked for, or of the usual what the runs have."""
    known = [name for name in results.rows.columns if name != "run_id" and results.rows[name].notna().any()]
    for name in asked:
        if name not in results.rows:
            there = [metric for metric in known if metric not in COLUMNS[: COLUMNS.index("train_loss")]]
            raise NoData(f"no run has a metric '{name}'; there are {', '.join(there)}")
    return list(asked) or [name for name in dict.fromkeys(usual) if name in known]


def counted(finals: pd.DataFrame, column: str) -> tuple[pd.DataFrame, list[str]]:
    """The runs that counted what is asked for: older ones, and archives, may not have."""
    known = finals[column].notna() if column in finals else pd.Series(False, index=finals.index)
    if column == "epoch" or known.all():  # on a stream there are none, and steps take their place
        return finals, []
    there = ", ".join(c for c in AXES if c in finals and finals[c].notna().any())
    refuse_unless(bool(known.any()), f"no run has counted its {column}, as older ones have not; there are {there}")
    return finals[known], [f"{(~known).sum()} runs have not counted their {column}, and are not drawn"]


def reference(results: Results, ask: Ask = USUAL) -> str | None:
    """The method that the others are compared with: the one that is asked for; else the one that is not tuned, of
    several that with most runs; else the one that ends best on most problems. None where there is but one method."""
    finals, wanted = results.finals, ask.reference
    methods = styles(finals["algo"].unique(), results)
    if wanted is not None:
        refuse_unless(
            wanted in methods, f"no run of the reference '{wanted}' has ended; there are {', '.join(methods)}"
        )
        return wanted
    if len(methods) < 2:
        return None
    runs = finals["algo"].value_counts()
    if untuned := [algo for algo in methods if not numbers_tuned(results, finals[finals["algo"] == algo])]:
        return max(untuned, key=lambda algo: runs[algo])
    wins = dict.fromkeys(methods, 0)
    for _, some in problems(results, finals):
        means = final_means(results, some, ask)
        if len(means) > 1:
            wins[means.index[0]] += 1
    return max(methods, key=lambda algo: (wins[algo], runs[algo]))


def final_means(results: Results, runs: pd.DataFrame, ask: Ask = USUAL) -> pd.Series:
    """Of every method on one problem, as written and at its best: the mean of its score, the best first."""
    best, _ = at_best(results, as_written(results, runs, ask)[0], ask, compared=True)
    name, sign = criterion(results, runs, ask)
    values = best[name].astype(float).where(best["state"] == "done")
    means = values.groupby(best["algo"]).agg(lambda some: some.mean(skipna=False)).dropna()
    return means.sort_values(ascending=sign < 0, kind="stable")


AXES = ("step", *COLUMNS[1 : COLUMNS.index("train_loss")], "wall_s")
"""Columns that count what a run has cost."""


def refuse_unless(condition: bool, sentence: str) -> None:
    if not condition:
        raise NoData(sentence)
