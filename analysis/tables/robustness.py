"""Robustness: how far off a stepsize, or any other number, may be, and what no tuning costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.drawing.style import styles
from analysis.drawing.symbols import in_symbols, symbol
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.reported import reported_all
from analysis.study.select import as_written, problems, reference, refuse_unless
from analysis.study.settings import in_order
from analysis.study.statistics import (
    FEWEST,
    HELD_OUT,
    WITHIN,
    Interval,
    Reported,
    Robustness,
    mean,
    paired,
    report,
    robustness,
)
from analysis.study.tuning import criterion, score_in_words, sensitive_to, tuned_over
from analysis.tables import Table, table
from analysis.tables.format import interval, with_settings

NOTES = [
    "decades: at every seed, of the range of {what} around what the other seeds choose by {by} with an accuracy within "
    "{within:g} points of the chosen one's; points lost: at every seed, at ten times and at a tenth of what the others "
    "choose, over the seeds at which that was run",
    f"intervals are Student's at 95 %, none from fewer than {FEWEST} seeds; differences are paired by seed, those of "
    "one setting together at 95 % (Bonferroni)",
    "ended above its start: runs that made all their steps and neither diverged nor exploded, but ended with more "
    "training loss than they began with",
]


@dataclass(frozen=True)
class Row:
    """One method on one problem, and the number of it that is looked at."""

    algo: str
    option: str
    runs: pd.DataFrame
    found: Robustness
    reported: Reported


SPARE = (
    *("from seeds", "ended above its start", "diverged or exploded", "others at"),
    *(f"decades within {WITHIN:g} points", "n", "T"),
)
"""What a printed table can do without, in this order."""


@table("robustness", "How much each method cares about its stepsize", uses=("over", "reference"))
def make(results: Results, ask: Ask) -> Table:
    data, shown, rest, by = [], [], [], []
    plain = Ask(schedule=ask.schedule)
    against = reference(results, Ask(reference=ask.reference))
    look = styles(results.finals["algo"].unique(), results)
    for key, runs in in_order(problems(results, results.finals)):
        if not runs["test_accuracy"].notna().any():
            continue
        usual = reported_all(results, as_written(results, runs, plain)[0], plain)
        ours = usual.get(str(against))
        rows = [row for algo in look if (row := _row(results, runs, algo, ask)) is not None]
        compared = sum(row.algo != against or (ours is not None and not ours.tuned) for row in rows)
        tuning = "" if ours is not None and ours.tuned else ", untuned,"
        by += [score_in_words(results, runs, plain)] if rows else []
        for row in rows:
            best, gap = row.found.best, None
            if ours is not None and (row.algo != against or not ours.tuned):
                values = [one.values("test_accuracy") for one in (ours, row.reported)]
                gap = paired(values[0], values[1], family=compared)
            others = {name: value for name, value in best.values.items() if name != row.option}
            rest.append(in_symbols(others))
            gone = (row.runs["state"] == "diverged") | row.runs["exploded"]
            above = row.runs["above_start"] & ~gone
            accuracy = mean(row.reported.values("test_accuracy"))
            numbers = {"decades": row.found.decades, "lost_up": row.found.lost_up, "lost_down": row.found.lost_down}
            data.append(
                {
                    **key,
                    "algo": row.algo,
                    "option": row.option,
                    **best.values,
                    "edge": row.option in best.edges,
                    "report_seeds": row.reported.in_words,
                    **_numbers("accuracy", accuracy),
                    **{k: v for name, found in numbers.items() for k, v in _numbers(name, found).items()},
                    **{"runs": len(row.runs), "diverged_or_exploded": int(gone.sum()), "above_start": int(above.sum())},
                    "reference": against,
                    **({"reference_minus": gap.value} if gap else {}),
                    **({"low": gap.low, "high": gap.high, "seeds": gap.count} if gap else {}),
                }
            )
            edge = " (edge)" if row.option in best.edges else ""
            beside = f" ({symbol(row.option)})" if row.option != ask.over else ""
            told = {
                "method": f"{look[row.algo].label}{beside}",
                "best": f"{in_symbols({row.option: best.values[row.option]})}{edge}",
                "accuracy there": interval(accuracy, digits=2),
                "from seeds": row.reported.in_words,
                f"decades within {WITHIN:g} points": interval(row.found.decades, digits=1),
                "lost at ten times": _lost(row.found.lost_up, len(best.seeds)),
                "lost at a tenth": _lost(row.found.lost_down, len(best.seeds)),
                "diverged or exploded": f"{gone.sum()} of {len(gone)}",
                "ended above its start": f"{above.sum()} of {len(gone)}",
                **({f"{look[against].label}{tuning} minus this": interval(gap, signed=True)} if against else {}),
            }
            shown.append((key, told))
    several = "stepsizes" if ask.over == "eta" else f"values of {ask.over}"
    refuse_unless(bool(data), f"no method with accuracies was run with two {several} or more")
    table = with_settings(shown)
    words = " or ".join(dict.fromkeys(by))
    notes = [NOTES[0].format(what=several, within=WITHIN, by=words), HELD_OUT, *NOTES[1:]]
    if any(rest):
        table.insert(list(table).index("accuracy there"), "others at", [words or "—" for words in rest])
        notes.append("others at: the best values of the other options that were tuned, at which this one is looked at")
    title = None if ask.over == "eta" else f"How much each method cares about {symbol(ask.over)}"
    return Table(table, pd.DataFrame(data), notes, title, spare=tuple(c for c in SPARE if c in table))


def _row(results: Results, runs: pd.DataFrame, algo: str, ask: Ask) -> Row | None:
    """None of a method that was not run with two values of a number to look at."""
    plain = Ask(schedule=ask.schedule)
    mine = runs[runs["algo"] == algo]
    option = sensitive_to(mine, ask.over)
    if option is None:
        return None
    mine, _ = as_written(results, mine, plain, option)
    over = tuned_over(results, mine, option)
    if option not in over or mine[option].nunique() < 2:
        return None
    by = criterion(results, runs, plain)
    found = robustness(mine, over, option, by)
    return Row(algo, option, mine, found, report(mine, over, by)) if found else None


def _numbers(name: str, found: Interval) -> dict[str, float]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _lost(found: Interval, seeds: int) -> str:
    if found.count == 0:
        return "not on the grid"
    few = f" ({found.count} of {seeds} seeds)" if found.count < seeds else ""
    return ("diverged or exploded" if np.isinf(found.value) else interval(found, digits=2)) + few
