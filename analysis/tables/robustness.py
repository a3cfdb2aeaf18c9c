"""Table of the sensitivity to the stepsize or another option, and of the cost of not tuning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.drawing.symbols import in_symbols, symbol
from analysis.results.labels import method_name, methods
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.reported import reported_one
from analysis.study.select import VARIANTS, as_written, problems, reference, refuse_unless
from analysis.study.settings import in_order
from analysis.study.statistics import FEWEST, HELD_OUT, WITHIN, Interval, Reported, Robustness, mean, paired, report
from analysis.study.statistics import robustness as measure
from analysis.study.tuning import criterion, remarks, score_in_words, sensitive_to, tuned_over
from analysis.tables import Table, table
from analysis.tables.format import interval, with_settings

NOTES = [
    "at every seed, the other seeds choose a setting by {by}. Decades: log10 of the range of {what} around the chosen "
    f"one with an accuracy within {WITHIN:g} points of it. Lost: accuracy points lost at ten times and at a tenth of "
    "the chosen one, over the seeds with such a run",
    f"intervals are Student's at 95 %, from {FEWEST} seeds on; differences are paired by seed, with simultaneous 95 % "
    "intervals within a setting (Bonferroni)",
    "ended above its start: runs that completed all steps without diverging, but with a final training loss above the "
    "initial one",
]


@dataclass(frozen=True)
class Row:
    """One method on one problem, and the option whose sensitivity is shown."""

    algo: str
    option: str
    runs: pd.DataFrame
    found: Robustness
    reported: Reported
    notes: list[str]  # on the runs that are left out
    gap: Interval | None = None  # the reference minus this method

    @property
    def gone(self) -> pd.Series:
        return self.runs["state"] != "done"

    @property
    def above(self) -> pd.Series:
        return self.runs["above_start"] & ~self.gone

    @property
    def accuracy(self) -> Interval:
        return mean(self.reported.values("test_accuracy"))


SPARE = (
    *("from seeds", "ended above its start", "diverged", "others at"),
    *(f"decades within {WITHIN:g} points", "n", "T"),
)
"""Columns that a narrow table may drop, in this order."""


@table("robustness", "Sensitivity to the stepsize", uses=("over", "reference"))
def make(results: Results, request: FigureOptions) -> Table:
    against = reference(results, FigureOptions(reference=request.reference))
    data, shown, rest, by, omitted = [], [], [], [], list[str]()
    for key, runs in in_order(problems(results, results.finals)):
        rows, untuned = _rows(results, runs, request, against)
        by += [score_in_words(results, runs, FigureOptions(schedule=request.schedule))] if rows else []
        omitted += remarks(results, {row.algo: row.found.best for row in rows})
        for row in rows:
            others = {name: value for name, value in row.found.best.values.items() if name != row.option}
            rest.append(in_symbols(others) or "—")
            omitted += row.notes
            data.append({**key, **_data(row, against)})
            name = f"{method_name(against, results)}{', untuned,' * untuned} minus this"
            gap = {name: interval(row.gap, signed=True)} if against else {}
            shown.append((key, {**_cells(results, row, request), **gap}))
    several = "stepsizes" if request.over == "eta" else f"values of {request.over}"
    refuse_unless(bool(data), f"no method with accuracies was run with two {several} or more")
    table = with_settings(shown)
    words = " or ".join(dict.fromkeys(by))
    notes = [NOTES[0].format(what=several, by=words), HELD_OUT, *NOTES[1:]]
    if set(rest) != {"—"}:
        table.insert(list(table).index("accuracy there"), "others at", rest)
        notes.append("others at: the best values of the other tuned options, which are fixed here")
    notes += _left_out(omitted)
    title = None if request.over == "eta" else f"Sensitivity to {symbol(request.over)}"
    return Table(table, pd.DataFrame(data), notes, title, spare=tuple(c for c in SPARE if c in table))


def _left_out(notes: list[str]) -> list[str]:
    """Return the notes on variants of several problems, with one sentence on the methods that have any."""
    names = dict.fromkeys(note.partition(":")[0] for note in notes if note.endswith(VARIANTS))
    others = dict.fromkeys(note for note in notes if not note.endswith(VARIANTS))
    return [*([f"runs of variants are left out: {', '.join(names)}"] if names else []), *others]


def _rows(results: Results, runs: pd.DataFrame, request: FigureOptions, against: str | None) -> tuple[list[Row], bool]:
    """Return the methods of one problem, compared with the reference, and whether the reference is untuned.

    A tuned reference is not compared with itself.
    """
    if not runs["test_accuracy"].notna().any():
        return [], True
    plain = FigureOptions(schedule=request.schedule)
    written = as_written(results, runs, plain)[0]
    mine, omitted = as_written(results, runs[runs["algo"] == against], plain)
    ours = reported_one(results, mine, criterion(results, written, plain)) if len(mine) else None
    untuned = ours is None or not ours.tuned
    rows = [row for algo in methods(runs["algo"].unique(), results) if (row := _row(results, runs, algo, request))]
    if ours is None:
        return rows, untuned
    compared = [row for row in rows if row.algo != against or untuned]
    values = ours.values("test_accuracy")
    gaps = {row.algo: paired(values, row.reported.values("test_accuracy"), len(compared)) for row in compared}
    return [replace(row, gap=gaps.get(row.algo), notes=[*omitted, *row.notes]) for row in rows], untuned


def _data(row: Row, against: str | None) -> dict[str, Any]:
    """Return a row of the CSV."""
    best, found, gap = row.found.best, row.found, row.gap
    numbers = {"accuracy": row.accuracy, "decades": found.decades, "lost_up": found.lost_up}
    numbers["lost_down"] = found.lost_down
    limits: dict[str, float] = {}
    for name, one in numbers.items():
        limits |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
    return {
        "algo": row.algo,
        "option": row.option,
        **best.values,
        "edge": row.option in best.edges,
        "report_seeds": row.reported.in_words,
        **limits,
        "runs": len(row.runs),
        "diverged": int(row.gone.sum()),
        "above_start": int(row.above.sum()),
        "reference": against,
        **({"reference_minus": gap.value, "low": gap.low, "high": gap.high, "seeds": gap.count} if gap else {}),
    }


def _cells(results: Results, row: Row, request: FigureOptions) -> dict[str, str]:
    """Return a row for readers."""
    best, found = row.found.best, row.found
    beside = f" ({symbol(row.option)})" if row.option != request.over else ""
    edge = " (edge)" if row.option in best.edges else ""
    return {
        "method": f"{method_name(row.algo, results)}{beside}",
        "best": f"{in_symbols({row.option: best.values[row.option]})}{edge}",
        "accuracy there": interval(row.accuracy, digits=2),
        "from seeds": row.reported.in_words,
        f"decades within {WITHIN:g} points": interval(found.decades, digits=1),
        "lost at ten times": _lost(found.lost_up, len(best.seeds)),
        "lost at a tenth": _lost(found.lost_down, len(best.seeds)),
        "diverged": f"{row.gone.sum()} of {len(row.runs)}",
        "ended above its start": f"{row.above.sum()} of {len(row.runs)}",
    }


def _row(results: Results, runs: pd.DataFrame, algo: str, request: FigureOptions) -> Row | None:
    """Return the row of a method; None if the option has fewer than two values."""
    plain = FigureOptions(schedule=request.schedule)
    mine = runs[runs["algo"] == algo]
    option = sensitive_to(mine, request.over)
    if option is None:
        return None
    mine, omitted = as_written(results, mine, plain, option)
    over = tuned_over(results, mine, option)
    if option not in over or mine[option].nunique() < 2:
        return None
    by = criterion(results, runs, plain)
    found = measure(mine, over, option, by)
    return Row(algo, option, mine, found, report(mine, over, by), omitted) if found else None


def _lost(found: Interval, seeds: int) -> str:
    if found.count == 0:
        return "not on the grid"
    few = f" ({found.count} of {seeds} seeds)" if found.count < seeds else ""
    return ("diverged" if np.isinf(found.value) else interval(found, digits=2)) + few
