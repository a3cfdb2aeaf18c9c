"""Selection of the runs of a figure, with notes on the choice and on the runs that are not drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import LETTERS
from analysis.results.errors import NoData, perhaps
from analysis.results.labels import method_name, methods, name_of
from analysis.results.results import NETWORK_S, Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.reported import ranking
from analysis.study.settings import Apart, Key, Setting, apart
from analysis.study.tuning import AS_WRITTEN, judged_by, numbers_tuned, tuned_over
from analysis.study.variants import most_frequent, shown_values
from bench.store.record import COLUMNS

CHOOSE, DRAWN_FOR = "(choose with --where", "drawn for"
VARIANTS = "runs of its variants are left out"
"""Parts of notes on the selection of runs, by which captions recognize and omit them."""


def has_no_variant(finals: pd.DataFrame, asked: str | None = None) -> pd.Series:
    """Return which runs are no variants; the option ``asked`` makes no variant, nor does a missing one."""
    keep = np.ones(len(finals), dtype=bool)
    for option, usual in AS_WRITTEN.items():
        if option in finals and option != asked:
            keep &= finals[option].isna().to_numpy() | (finals[option] == usual).to_numpy(bool)
    return pd.Series(keep, finals.index)


def as_written(
    results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL, asked: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Return the methods of one problem as in their papers, and notes on the excluded runs and on unusual values.

    Tuned options keep all values, others the value with most runs; ties go to the default. A method whose runs are all
    variants is shown at the most frequent one. The schedule of ``request`` is used if a method has runs with it.
    """
    kept, notes = [], []
    no_variant = has_no_variant(finals, asked)
    for algo, runs in finals.groupby("algo", sort=False):
        mine = no_variant[runs.index]
        chosen = runs[mine] if mine.any() else runs
        published = AS_WRITTEN if mine.any() else ()
        if request.schedule and "schedule" in chosen and (chosen["schedule"] == request.schedule).any():
            chosen = chosen[chosen["schedule"].isna() | (chosen["schedule"] == request.schedule)]
        tuned = tuned_over(results, chosen, asked)
        for option in results.several_in(chosen):
            if option not in (*tuned, *published) and chosen[option].nunique(dropna=False) > 1:
                chosen = chosen[most_frequent(chosen, str(algo), option)]
        if left_out := len(runs) - len(chosen):
            notes.append(f"{method_name(algo, results)}: {left_out} {VARIANTS}")
        kept.append(chosen)
    shown = pd.concat(kept) if kept else finals
    return shown, [*notes, *shown_values(results, shown)]


def problems(
    results: Results, finals: pd.DataFrame, but: tuple[str, ...] = ()
) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the labels and runs of every problem; labels in ``but`` and their options may differ within one."""
    keys = [c for c in results.problem if c not in but and c.partition(".")[0] not in but]
    keys = [c for c in keys if c in finals and not finals[c].isna().all()]
    for values, runs in finals.groupby(keys, dropna=False, sort=False):
        yield dict(zip(keys, values, strict=True)), runs


FIRST = ("mnist", "a9a", "miniboone")
PROBLEMS, ROWS = 24, 5
"""The largest numbers of problems in a figure, and of settings of a dataset that are drawn one below the other."""


def first_ones(names: list[str], label: str) -> tuple[list[str], list[str]]:
    """Return the values of a label that a figure draws, and a note if it leaves some out."""
    note = f"drawn: the first {PROBLEMS} of {len(names)} values of {label} {CHOOSE} {label}=NAME)"
    return names[:PROBLEMS], [note] if len(names) > PROBLEMS else []


def one_per_dataset(
    results: Results, finals: pd.DataFrame, beside: tuple[str, ...] = ()
) -> tuple[list[Setting], list[str]]:
    """Return the setting of every dataset with most runs, and notes; ties go to random graphs, then to most steps.

    With labels in ``beside``, also return the settings that differ from it in these labels and their options alone.
    """
    settings = list(problems(results, finals))
    among = apart(settings)
    best: dict[str, list[Setting]] = {}
    found = dict.fromkeys(key["dataset"] for key, _ in settings)
    names, notes = first_ones(sorted(found, key=lambda name: (*(name != one for one in FIRST), name)), "dataset")
    for dataset in filter(names.__contains__, found):
        mine = [setting for setting in settings if setting[0]["dataset"] == dataset]
        key, _ = first(mine, among, lambda key, runs: (key["topology"] == "random", key["steps"]))
        shown = _without(key, beside)
        rows = [k for k, (other, _) in enumerate(mine) if str(_without(other, beside)) == str(shown)]
        rows.sort(key=lambda k: among.place(mine[k][0]))
        best[dataset] = [mine[k] for k in rows[:ROWS]]
        others = [setting for k, setting in enumerate(mine) if k == rows[0] or k not in rows[:ROWS]]
        notes += [f"{name_of(dataset)}: {note}" for note in drawn_for(shown, others, among)]
    return [setting for name in names for setting in best[name]], notes


def _without(key: Key, labels: tuple[str, ...]) -> Key:
    """Return the labels of a setting without these and their options."""
    return {name: value for name, value in key.items() if name.partition(".")[0] not in labels}


def first(settings: Sequence[Setting], among: Apart, then: Callable[[Key, pd.DataFrame], Any] | None = None) -> Setting:
    """Return the setting with most runs; ties go to the largest ``then``, then to the neutral or smaller one."""
    most = max((len(runs), then(key, runs) if then else 0) for key, runs in settings)
    equals = [(k, runs) for k, runs in settings if (len(runs), then(k, runs) if then else 0) == most]
    return min(equals, key=lambda setting: (among.place(setting[0]), str(setting[0])))


def drawn_for(key: Key, settings: Sequence[Setting], among: Apart) -> list[str]:
    """Return a note on which of several settings is drawn, or on the labels that distinguish a single one."""
    others = len(settings) - 1
    if not others:
        return [words] if (words := among.in_labels(key)) else []
    more = "another setting is" if others == 1 else f"{others} other settings are"
    return [f"{DRAWN_FOR} {among.in_words(key)}; {more} in these results {CHOOSE} LABEL=VALUE)"]


def what_else(results: Results, runs: pd.DataFrame, but: Sequence[str] = ()) -> list[str]:
    """Return a note on the labels that distinguish the setting of a figure from others, except labels in ``but``."""
    labels = [c for c in results.problem if c in runs]
    words = apart(problems(results, results.finals)).in_labels(runs[labels].iloc[0].to_dict(), but)
    return [f"{DRAWN_FOR} {words}"] if words else []


def with_accuracies(finals: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs of datasets with accuracies if there are any, else all: one axis cannot show both."""
    if "test_accuracy" not in finals:
        return finals, []
    known = finals.groupby("dataset")["test_accuracy"].transform("count") > 0
    if not known.any() or known.all():
        return finals, []
    names = ", ".join(sorted(finals.loc[~known, "dataset"].unique()))
    return finals[known], [f"not drawn, since they have no accuracies: {names} {CHOOSE} dataset=NAME)"]


def metrics(results: Results, asked: Iterable[str], usual: Iterable[str]) -> list[str]:
    """Return the requested metrics, or those of the default ones that the runs have; ``NoData`` if they have none."""
    known = [name for name in results.rows.columns if name != "run_id" and results.rows[name].notna().any()]
    for name in asked:
        if name not in results.rows:
            there = [metric for metric in known if metric not in COLUMNS[: COLUMNS.index("train_loss")]]
            raise NoData(f"no run has a metric '{name}'{perhaps(name, there)}; there are {', '.join(there)}")
    shown, wanted = [*asked], [*dict.fromkeys(usual)]
    if shown or not wanted:
        return shown
    refuse_unless(not {*wanted}.isdisjoint(known), f"no run has the metric {' or '.join(map(repr, wanted))}")
    return [name for name in wanted if name in known]


def can_be_asked(results: Results, request: FigureOptions) -> None:
    """Raise ``NoData`` for options that no figure can use, before any figure is drawn."""
    near = "" if request.over in LETTERS else perhaps(request.over, results.numbers)  # β is no typing error for η
    known = f"{near}; there are {', '.join(results.numbers) or 'none'}"
    refuse_unless(request.over in ("eta", *results.numbers), f"no method has a numeric option '{request.over}'{known}")
    if request.reference:
        reference(results, request)
    metrics(results, [*request.metrics, *([request.tune_by] if request.tune_by else [])], ())
    name, _ = judged_by(results, results.finals, request)
    done = results.finals[results.finals["state"] == "done"]
    if request.tune_by and len(done):
        found = [mine[name].nunique() for _, some in problems(results, done) for _, mine in some.groupby("algo")]
        same = f"{name} cannot choose a best setting: all runs of a method end with the same value"
        refuse_unless(max(found) > 1 or len(done) == len(found), same)


def counted(finals: pd.DataFrame, column: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs that have a cost column, and a note: older runs and archives may lack it."""
    known = finals[column].notna() if column in finals else pd.Series(False, index=finals.index)
    if column == "epoch" or known.all():  # streams have no epochs; the axis then shows steps
        return finals, []
    there = ", ".join(c for c in AXES if c in finals and finals[c].notna().any())
    if column == NETWORK_S:
        refuse_unless(bool(known.any()), "no run has a time on this network")
        return finals[known], [f"{(~known).sum()} runs are not drawn, since they have no time on this network"]
    refuse_unless(bool(known.any()), f"no run has the column {column}, which older runs lack; there are {there}")
    return finals[known], [f"{(~known).sum()} runs are not drawn, since they lack the column {column}"]


NO_NETWORK = "it needs a network, such as --network cities8"


def reference(results: Results, request: FigureOptions = USUAL) -> str | None:
    """Return the method that the others are compared with; None if there is only one method.

    It is the requested one; else an untuned one, of several the one with most runs; else the best on most problems.
    """
    finals, wanted = results.finals, request.reference
    order = methods(finals["algo"].unique(), results)
    if wanted is not None:
        known = f"{perhaps(wanted, order)}; there are {', '.join(order)}"
        refuse_unless(wanted in order, f"no run of the reference '{wanted}' has ended{known}")
        return wanted
    if len(order) < 2:
        return None
    runs = finals["algo"].value_counts()
    if untuned := [algo for algo in order if not numbers_tuned(results, finals[finals["algo"] == algo])]:
        return max(untuned, key=lambda algo: runs[algo])
    wins = dict.fromkeys(order, 0)
    for _, some in problems(results, finals):
        one = ranking(results, as_written(results, some, request)[0], request)
        if one and one.of_several and len(one.means):
            wins[one.means.index[0]] += 1
    return max(order, key=lambda algo: (wins[algo], runs[algo]))


AXES = ("step", *COLUMNS[1 : COLUMNS.index("train_loss")], "wall_s")
"""Columns that measure the cost of a run."""


def refuse_unless(condition: bool, sentence: str) -> None:
    if not condition:
        raise NoData(sentence)
