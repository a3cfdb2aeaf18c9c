"""Final results: every method at its best stepsize on every problem."""

from __future__ import annotations

import pandas as pd

from analysis.choose import as_written, at_best, problems
from analysis.results import Results
from analysis.statistics import RULE, paired, score
from analysis.tables import Table
from analysis.words import interval, settings, summarise

TITLE = "Final results, baselines at their best stepsize"


def make(results: Results) -> Table:
    data, shown, notes = [], [], []
    for key, runs in problems(results, results.finals):
        runs, said = as_written(results, runs)
        notes += said
        best, chosen = at_best(runs)
        metric = score(runs)[0]
        for algo, choice in chosen.items():
            if choice is None:
                some = runs[runs["algo"] == algo]
                line = summarise(some.iloc[:0])
                data.append(
                    {
                        **key,
                        "algo": algo,
                        "eta": None,
                        **line[0],
                        "runs": len(some),
                        "diverged": int((some["state"] == "diverged").sum()),
                    }
                )
                shown.append(
                    {
                        **settings(key),
                        "method": algo,
                        "η": "every one diverged",
                        **line[1],
                        "runs": len(some),
                        "diverged": data[-1]["diverged"],
                    }
                )
        untuned = best[best["algo"] == "dnasa"].set_index("seed")[metric]
        for algo, some in best.groupby("algo", sort=False):
            choice = chosen.get(str(algo))
            gap = paired(untuned, some.set_index("seed")[metric]) if algo != "dnasa" and len(untuned) else None
            numbers, words = summarise(some)
            data.append(
                {
                    **key,
                    "algo": algo,
                    "eta": choice.eta if choice else None,
                    **numbers,
                    **(
                        {"dnasa_minus": gap.value, "dnasa_minus_low": gap.low, "dnasa_minus_high": gap.high}
                        if gap
                        else {}
                    ),
                }
            )
            shown.append(
                {
                    **settings(key),
                    "method": algo,
                    "η": f"{choice.eta:g}{' (edge)' if choice.edge else ''}" if choice else "—",
                    **words,
                    "D-NASA minus this": interval(gap, signed=True) if gap else "—",
                }
            )
    rule = [RULE.format(score="test accuracy (test loss where there is none)")]
    return Table(
        pd.DataFrame(shown),
        pd.DataFrame(data),
        [
            *rule,
            "Means with 95 % intervals over seeds (Student); differences are paired by seed (bootstrap). No interval from fewer than three seeds.",
            *dict.fromkeys(notes),
        ],
    )
