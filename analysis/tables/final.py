"""Final results: every method at its best stepsize on every problem."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.choose import as_written, at_best, problems
from analysis.results import Results
from analysis.statistics import RULE, Best, Interval, paired, score
from analysis.style import styles
from analysis.tables import Table
from analysis.words import interval, settings, summarise

TITLE = "Final results, baselines at their best stepsize"
NOTES = [
    RULE.format(score="test accuracy (test loss where there is none)"),
    "means with 95 % intervals over seeds (Student), none from fewer than three; differences, of accuracies or of test "
    "losses, are paired by seed (bootstrap)",
]


def make(results: Results) -> Table:
    data, shown, notes = [], [], []
    for key, runs in problems(results, results.finals):
        runs, said = as_written(results, runs)
        notes += said
        best, chosen = at_best(runs, compared=True)
        metric = score(runs)[0]
        untuned = best[best["algo"] == "dnasa"].set_index("seed")[metric]
        for algo, style in styles(runs["algo"].unique()).items():
            some = best[best["algo"] == algo]
            gap = None
            if algo != "dnasa" and len(untuned) and len(some):
                gap = paired(untuned, some.set_index("seed")[metric])
            if some.empty:  # every stepsize diverged: counted, not hidden
                some = runs[runs["algo"] == algo]
            numbers, words = summarise(some)
            data.append({**key, "algo": algo, "eta": _eta(chosen.get(algo)), **numbers, **_gap(gap)})
            schedule = " ".join(sorted(set(some["schedule"].dropna()))) if "schedule" in some else "—"
            told = {"method": style.label, "η": _eta_in_words(algo, chosen), "schedule": schedule, **words}
            pairs = f" ({gap.count} pairs)" if gap else ""
            shown.append({**settings(key), **told, "D-NASA minus this": interval(gap, signed=True) + pairs})
    return Table(pd.DataFrame(shown), pd.DataFrame(data), [*NOTES, *dict.fromkeys(notes)])


def _eta(best: Best | None) -> float | None:
    return best.eta if best else None


def _eta_in_words(algo: str, chosen: dict[str, Best | None]) -> str:
    if algo not in chosen:
        return "—"
    best = chosen[algo]
    if best is None:
        return "every one diverged"
    return f"{best.eta:g}{' (the only one run)' if len(best.grid) == 1 else ' (edge)' if best.edge else ''}"


def _gap(gap: Interval | None) -> dict[str, Any]:
    return {"dnasa_minus": gap.value, "dnasa_minus_low": gap.low, "dnasa_minus_high": gap.high} if gap else {}
