"""Final results: every method at its best stepsize on every problem."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.drawing.style import styles
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import as_written, at_best, eta_of, problems, reference
from analysis.study.statistics import RULE, Best, Interval, paired, score
from analysis.tables import Table, table
from analysis.tables.format import interval, problem_cells, summarise

NOTES = [
    RULE.format(score="test accuracy (test loss where there is none)"),
    "means with 95 % intervals over seeds (Student), none from fewer than three; differences, of accuracies or of test "
    "losses, are paired by seed (bootstrap)",
]


@table("final", "Final results, baselines at their best stepsize")
def make(results: Results, ask: Ask) -> Table:
    data, shown, notes = [], [], []
    against = reference(results, ask.reference)
    look = styles(results.finals["algo"].unique(), results)
    header = f"{look[against].label} minus this" if against else None
    for key, runs in problems(results, results.finals):
        runs, said = as_written(results, runs)
        notes += said
        best, chosen = at_best(runs, compared=True)
        metric = score(runs)[0]
        ours = best[best["algo"] == against].set_index("seed")[metric]
        for algo in (name for name in look if name in set(runs["algo"])):
            some = best[best["algo"] == algo]
            gap = None
            if algo != against and len(ours) and len(some):
                gap = paired(ours, some.set_index("seed")[metric])
            if some.empty:  # every stepsize diverged: counted, not hidden
                some = runs[runs["algo"] == algo]
            numbers, words = summarise(some, results)
            data.append({**key, "algo": algo, "eta": eta_of(chosen, algo), **numbers, **_gap(against, gap)})
            schedule = " ".join(sorted(set(some["schedule"].dropna()))) if "schedule" in some else "—"
            told = {"method": look[algo].label, "η": _eta_in_words(algo, chosen), "schedule": schedule, **words}
            pairs = f" ({gap.count} pairs)" if gap else ""
            gaps = {header: interval(gap, signed=True) + pairs} if header else {}
            shown.append({**problem_cells(key), **told, **gaps})
    return Table(pd.DataFrame(shown, dtype=object), pd.DataFrame(data), [*NOTES, *dict.fromkeys(notes)])


def _eta_in_words(algo: str, chosen: dict[str, Best | None]) -> str:
    if algo not in chosen:
        return "—"
    best = chosen[algo]
    if best is None:
        return "every one diverged"
    return f"{best.eta:g}{' (the only one run)' if len(best.grid) == 1 else ' (edge)' if best.edge else ''}"


def _gap(against: str | None, gap: Interval | None) -> dict[str, Any]:
    found = (
        {"reference_minus": gap.value, "reference_minus_low": gap.low, "reference_minus_high": gap.high} if gap else {}
    )
    return {"reference": against, **found}
