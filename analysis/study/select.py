"""Which runs belong to a figure. What is chosen, and what is left out, is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from analysis.drawing.symbols import LETTERS
from analysis.results.errors import NoData, perhaps
from analysis.results.labels import method_name, methods, name_of
from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.reported import means_of, reported_all
from analysis.study.settings import Apart, Key, Setting, apart
from analysis.study.tuning import AS_WRITTEN, judged_by, numbers_tuned, tuned_over
from bench.store.record import COLUMNS

CHOOSE, DRAWN_FOR = "(choose with --where", "drawn for"
VARIANTS = "runs of its variants are not drawn here"
"""How notes begin and end that say which of the runs were taken: no matter for a caption."""


def has_no_variant(finals: pd.DataFrame, asked: str | None = None) -> pd.Series:
    """Which runs have no variant; a run without the option is as written, and one that is ``asked`` for is none."""
    keep = pd.Series(True, index=finals.index)
    for option, usual in AS_WRITTEN.items():
        if option in finals and option != asked:
            keep &= finals[option].isna() | (finals[option] == usual)
    return keep


def as_written(
    results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL, asked: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Of every method on one problem, its form in its paper with all values of the options that it was tuned over, and
    of others the value with most runs; one schedule alone, where that is asked for and the method was run with it."""
    kept, notes = [], []
    differ = [option for option in results.options if option in finals and finals[option].nunique() > 1]
    no_variant = has_no_variant(finals, asked)
    for algo, runs in finals.groupby("algo", sort=False):
        mine = no_variant[runs.index]
        chosen = runs if mine.all() else runs[mine]
        if request.schedule and "schedule" in chosen and (chosen["schedule"] == request.schedule).any():
            chosen = chosen[chosen["schedule"].isna() | (chosen["schedule"] == request.schedule)]
        tuned = tuned_over(results, chosen, asked)
        for option in differ:
            if option in (*tuned, *AS_WRITTEN) or chosen[option].nunique() < 2:
                continue
            usual = chosen[option].value_counts().index[0]
            chosen = chosen[chosen[option].isna() | (chosen[option] == usual)]
        if len(chosen) < len(runs):
            left_out = len(runs) - len(chosen)
            notes.append(f"{method_name(algo, results)}: {left_out} {VARIANTS}")
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


def one_per_dataset(results: Results, finals: pd.DataFrame) -> tuple[list[Setting], list[str]]:
    """For every dataset the setting with most runs; between equals the random graph, then the longest, then the
    neutral one."""
    settings = list(problems(results, finals))
    among = apart(settings)
    best: dict[str, Setting] = {}
    notes = []
    for dataset in dict.fromkeys(key["dataset"] for key, _ in settings):
        mine = [setting for setting in settings if setting[0]["dataset"] == dataset]
        key, _ = best[dataset] = first(mine, among, lambda key, runs: (key["topology"] == "random", key["steps"]))
        notes += [f"{name_of(dataset)}: {said}" for said in drawn_for(key, mine, among)]
    order = ["mnist", "a9a", "miniboone"]
    names = sorted(best, key=lambda name: (order.index(name) if name in order else len(order), name))
    return [best[name] for name in names], notes


def first(settings: Sequence[Setting], among: Apart, then: Callable[[Key, pd.DataFrame], Any] | None = None) -> Setting:
    """The setting with most runs; between equals the greatest by ``then``, then the neutral one, then the smaller."""
    most = max((len(runs), then(key, runs) if then else 0) for key, runs in settings)
    equals = [(k, runs) for k, runs in settings if (len(runs), then(k, runs) if then else 0) == most]
    return min(equals, key=lambda setting: (among.place(setting[0]), str(setting[0])))


def drawn_for(key: Key, settings: Sequence[Setting], among: Apart) -> list[str]:
    """Which of several settings is drawn; of a single one, what tells it apart from those beside it."""
    others = len(settings) - 1
    if not others:
        return [words] if (words := among.in_labels(key)) else []
    more = "another setting is" if others == 1 else f"{others} other settings are"
    return [f"{DRAWN_FOR} {among.in_words(key)}; {more} in these results {CHOOSE} LABEL=VALUE)"]


def what_else(results: Results, runs: pd.DataFrame, but: Sequence[str] = ()) -> list[str]:
    """For a figure of one setting: what tells it apart from others in these results; without labels that the figure is
    about."""
    labels = [c for c in results.problem if c in runs]
    words = apart(problems(results, results.finals)).in_labels(runs[labels].iloc[0].to_dict(), but)
    return [f"{DRAWN_FOR} {words}"] if words else []


def with_accuracies(finals: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The datasets with accuracies where there are any, else all: one axis does not show both."""
    known = finals.groupby("dataset")["test_accuracy"].transform("count") > 0
    if not known.any() or known.all():
        return finals, []
    names = ", ".join(sorted(finals.loc[~known, "dataset"].unique()))
    return finals[known], [f"without accuracies, and not drawn here: {names} {CHOOSE} dataset=NAME)"]


def metrics(results: Results, asked: Iterable[str], usual: Iterable[str]) -> list[str]:
    """What a figure shows: what was asked for, or of the usual what the runs have."""
    known = [name for name in results.rows.columns if name != "run_id" and results.rows[name].notna().any()]
    for name in asked:
        if name not in results.rows:
            there = [metric for metric in known if metric not in COLUMNS[: COLUMNS.index("train_loss")]]
            raise NoData(f"no run has a metric '{name}'{perhaps(name, there)}; there are {', '.join(there)}")
    return list(asked) or [name for name in dict.fromkeys(usual) if name in known]


def can_be_asked(results: Results, request: FigureOptions) -> None:
    """What no figure could obey is said once, before anything is drawn."""
    there = f"there are {', '.join(results.numbers)}" if results.numbers else "there are none"
    there = f"{'' if request.over in LETTERS else perhaps(request.over, results.numbers)}; {there}"  # β is no slip of η
    refuse_unless(
        request.over in ("eta", *results.numbers), f"no method has a number '{request.over}' among its options{there}"
    )
    if request.reference:
        reference(results, request)
    metrics(results, [*request.metrics, *([request.tune_by] if request.tune_by else [])], ())
    name, _ = judged_by(results, results.finals, request)
    done = results.finals[results.finals["state"] == "done"]
    if request.tune_by and len(done):
        found = [mine[name].nunique() for _, some in problems(results, done) for _, mine in some.groupby("algo")]
        same = f"of every method, all runs of a setting end with the same {name}: none is the best by it"
        refuse_unless(max(found) > 1 or len(done) == len(found), same)


def counted(finals: pd.DataFrame, column: str) -> tuple[pd.DataFrame, list[str]]:
    """The runs that counted what is asked for: older ones, and archives, may not have."""
    known = finals[column].notna() if column in finals else pd.Series(False, index=finals.index)
    if column == "epoch" or known.all():  # on a stream there are none, and steps take their place
        return finals, []
    there = ", ".join(c for c in AXES if c in finals and finals[c].notna().any())
    refuse_unless(bool(known.any()), f"no run has counted its {column}, as older ones have not; there are {there}")
    return finals[known], [f"{(~known).sum()} runs have not counted their {column}, and are not drawn"]


def reference(results: Results, request: FigureOptions = USUAL) -> str | None:
    """The method that the others are compared with: the one that is asked for; else the one that is not tuned, of
    several that with most runs; else the one that ends best on most problems. None where there is but one method."""
    finals, wanted = results.finals, request.reference
    order = methods(finals["algo"].unique(), results)
    if wanted is not None:
        there = f"{perhaps(wanted, order)}; there are {', '.join(order)}"
        refuse_unless(wanted in order, f"no run of the reference '{wanted}' has ended{there}")
        return wanted
    if len(order) < 2:
        return None
    runs = finals["algo"].value_counts()
    if untuned := [algo for algo in order if not numbers_tuned(results, finals[finals["algo"] == algo])]:
        return max(untuned, key=lambda algo: runs[algo])
    wins = dict.fromkeys(order, 0)
    for _, some in problems(results, finals):
        means = final_means(results, some, request)
        if len(means) > 1:
            wins[means.index[0]] += 1
    return max(order, key=lambda algo: (wins[algo], runs[algo]))


def final_means(results: Results, runs: pd.DataFrame, request: FigureOptions = USUAL) -> pd.Series:
    """Of every method on one problem, as written and at its best: the mean of what it is judged by, over the seeds that
    report it, the best first."""
    name, sign = judged_by(results, runs, request)
    found = reported_all(results, as_written(results, runs, request)[0], request)
    return means_of(found, name, sign)


AXES = ("step", *COLUMNS[1 : COLUMNS.index("train_loss")], "wall_s")
"""Columns that count what a run has cost."""


def refuse_unless(condition: bool, sentence: str) -> None:
    if not condition:
        raise NoData(sentence)
