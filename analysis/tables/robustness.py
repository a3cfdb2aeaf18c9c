"""Robustness: how far off a stepsize, or any other number, may be, and what no tuning costs."""

from __future__ import annotations

import math

import pandas as pd

from analysis.drawing.style import styles
from analysis.drawing.symbols import in_symbols, symbol
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import as_written, problems, reference, refuse_unless
from analysis.study.settings import in_order
from analysis.study.statistics import WITHIN, paired, robustness
from analysis.study.tuning import at_best, tuned_over
from analysis.tables import Table, table
from analysis.tables.format import interval, with_settings

NOTES = [
    "decades: of the range of grid {what} around the best with a mean accuracy within {within:g} points of its",
    "differences are paired by seed, with 95 % bootstrap intervals",
]


@table("robustness", "How much each method cares about its stepsize")
def make(results: Results, ask: Ask) -> Table:
    data, shown, rest = [], [], []
    option, letter, plain = ask.over, symbol(ask.over), Ask(schedule=ask.schedule)
    what = "stepsize" if option == "eta" else letter
    against = reference(results, ask)
    look = styles(results.finals["algo"].unique(), results)
    for key, runs in in_order(problems(results, results.finals)):
        if option not in results.numbers or not runs["test_accuracy"].notna().any():
            continue
        runs, _ = as_written(results, runs, plain, option)
        best, chosen = at_best(results, runs, plain, compared=True, asked=option)
        ours = best[best["algo"] == against].set_index("seed")["test_accuracy"]
        tuning = "" if against in chosen else ", untuned,"
        for algo in (name for name in look if name in set(runs["algo"])):
            mine = runs[runs["algo"] == algo]
            over = tuned_over(results, mine, option)
            found = robustness(mine, over, option) if option in over and mine[option].nunique() >= 2 else None
            if found is None:
                continue
            others = {name: value for name, value in found.best.values.items() if name != option}
            rest.append(in_symbols(others))
            edge = option in found.best.edges
            tuned = found.best.of(mine[mine["seed"].isin(found.best.seeds)]).set_index("seed")["test_accuracy"]
            gap = paired(ours, tuned) if len(ours) and algo != against else None
            data.append(
                {
                    **key,
                    "algo": algo,
                    option: found.best.values[option],
                    **others,
                    "edge": edge,
                    "accuracy": found.accuracy,
                    "decades": found.decades,
                    "lost_up": found.lost_up,
                    "lost_down": found.lost_down,
                    "reference": against,
                    **({"reference_minus": gap.value} if gap else {}),
                    **({"low": gap.low, "high": gap.high, "seeds": gap.count} if gap else {}),
                }
            )
            row = {
                "method": look[algo].label,
                f"best {letter}": f"{found.best.values[option]:g}{' (edge)' if edge else ''}",
                "accuracy there": f"{found.accuracy:.2f}",
                f"decades within {WITHIN:g} points": f"{found.decades:.1f}" if found.decades >= 0 else "—",
                f"lost at 10 {letter}": _lost(found.lost_up),
                f"lost at {letter}/10": _lost(found.lost_down),
                "diverged": f"{(mine['state'] == 'diverged').sum()} of {len(mine)}",
                **({f"{look[against].label}{tuning} minus this": interval(gap, signed=True)} if against else {}),
            }
            shown.append((key, row))
    several = "stepsizes" if option == "eta" else f"values of {option}"
    refuse_unless(bool(data), f"no method with accuracies was run with two {several} or more")
    table = with_settings(shown)
    notes = [NOTES[0].format(what=several, within=WITHIN), NOTES[1]]
    if any(rest):
        table.insert(list(table).index("accuracy there"), "others at", [words or "—" for words in rest])
        notes.append("others at: the best values of the other options that were tuned, at which this one is looked at")
    title = None if option == "eta" else f"How much each method cares about {what}"
    return Table(table, pd.DataFrame(data), notes, title)


def _lost(points: float) -> str:
    if math.isnan(points):
        return "not on the grid"
    return "diverged" if math.isinf(points) else f"{points:.2f}"
