"""Table of all configurations, with means over seeds."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis.results.labels import methods
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.seeds import different_seeds
from analysis.study.select import problems
from analysis.study.settings import in_order
from analysis.study.statistics import FEWEST
from analysis.tables import Table, table
from analysis.tables.format import spare, summarize, with_settings


@table("configurations", "Every configuration", uses=("metric",))
def make(results: Results, request: FigureOptions) -> Table:
    data, shown = [], []
    look = methods(results.finals["algo"].unique(), results)
    differ = {
        algo: [c for c in results.options if c in runs and runs[c].nunique(dropna=False) > 1]
        for algo, runs in results.finals.groupby("algo")
    }
    for key, runs in in_order(problems(results, results.finals)):
        options = [c for c in results.options if c in runs]
        found = [
            ({name: value for name, value in zip(["algo", *options], values, strict=True) if pd.notna(value)}, some)
            for values, some in runs.groupby(["algo", *options], dropna=False, sort=False)
        ]
        for chosen, some in sorted(found, key=lambda item: _place(item[0], list(look), options)):
            numbers, words = summarize(some, results, request)
            data.append({**key, **chosen, **numbers})
            names = [name for name in chosen if name in ("eta", *differ[chosen["algo"]])]
            values = (f"{chosen[k]:g}" if isinstance(chosen[k], float) else chosen[k] for k in names)
            told = " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
            shown.append((key, {"method": look[chosen["algo"]], "options": told or "—", **words}))
    notes = [
        f"means over seeds, with Student's 95 % interval from {FEWEST} seeds on; no mean of losses and gradient "
        "norms if a run diverged",
        "options with the same value in all runs of a method, except η, are only in the CSV",
        *different_seeds(results, set(results.finals["run_id"])),
    ]
    return Table(with_settings(shown), pd.DataFrame(data), notes, spare=spare(shown, request))


def _place(chosen: dict[str, Any], methods: list[str], options: list[str]) -> list[tuple[int, float, str]]:
    """Return a sort key: by method, then by options that are texts, then by numbers."""
    words, numbers = ([o for o in options if isinstance(chosen.get(o), str) == kind] for kind in (True, False))
    places = [(0, 0.0, str(chosen[o])) for o in words] + [(1, float(chosen.get(o, -math.inf)), "") for o in numbers]
    return [(0, float(methods.index(chosen["algo"])), ""), *places]
