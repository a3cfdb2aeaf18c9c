"""Methods as written in the paper and as released, one change at a time."""

from __future__ import annotations

import pandas as pd

from analysis.results.labels import methods
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.seeds import different_seeds
from analysis.tables import Table, table
from analysis.tables.format import interval, summarize
from reproduction.evidence.published import accuracy_as_released
from reproduction.study.families import VARIED, variants, variants_in_words


@table("variants", "As written and as released", uses=("metric",))
def make(results: Results, request: FigureOptions) -> Table:
    finals = variants(results)
    gaps = {case.name: case.found for case in accuracy_as_released(results)}
    look = methods(finals["algo"].unique(), results)
    data, shown = [], []
    for (algo, split, change), some in finals.groupby(["algo", "split", "change"]):
        numbers, words = summarize(some, results, request)
        gap = gaps.get(f"{look[algo]}, {change}, {split}")
        data.append(
            {"algo": algo, "split": split, "change": change, **numbers, "minus_written": gap.value if gap else None}
        )
        row = {"method": look[algo], "data": split, "change": change, **words}
        shown.append({**row, "accuracy minus as written": interval(gap, signed=True)})
    note = (
        "differences are paired by seed; they and the means have Student's 95 % intervals, except where a run diverged"
    )
    notes = [note, *variants_in_words(results, finals), *different_seeds(results, set(finals["run_id"]), VARIED)]
    return Table(pd.DataFrame(shown, dtype=object), pd.DataFrame(data), notes)
