"""Table of final results: every method at its best setting on every problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.drawing.symbols import symbol, what_is_tuned
from analysis.results.labels import method_name, methods, metric_in_words
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.reported import chosen_of, reported_all
from analysis.study.select import as_written, problems, reference
from analysis.study.settings import Key, in_order
from analysis.study.statistics import FEWEST, HELD_OUT, RULE, Interval, paired
from analysis.study.tuning import Chosen, gone_in_words, judged_by, score_in_words, setting_of, tuned_over, was_chosen
from analysis.tables import Table, table
from analysis.tables.format import DIFFERENCE, interval, spare, summarize, with_settings

MINUS = ("reference_minus", "reference_minus_low", "reference_minus_high")
NOTE = (
    f"means with Student's 95 % intervals over seeds, from {FEWEST} seeds on; differences of {{what}} are paired by "
    "seed, with simultaneous 95 % intervals within a setting (Bonferroni)"
)


@dataclass(frozen=True)
class Row:
    """One method on one problem."""

    key: Key
    algo: str
    runs: pd.DataFrame  # the reported ones; all runs if every setting diverged
    chosen: Chosen  # the settings of all methods on this problem
    seeds: str  # the reported ones, in words
    gap: Interval | None  # the reference minus this method


@table("final", "Final results, baselines at their best stepsize", uses=("metric", "reference", "tune_by"))
def make(results: Results, request: FigureOptions) -> Table:
    written = [(key, *as_written(results, runs, request)) for key, runs in in_order(problems(results, results.finals))]
    against = reference(results, request)
    decides = request.metrics[0] if request.metrics else request.tune_by
    problems_found = [_rows(results, request, key, runs, against, decides) for key, runs, _ in written]
    tuned = {o for _, runs, _ in written for _, mine in runs.groupby("algo") for o in tuned_over(results, mine)}
    over = ["eta", *(o for o in (*results.numbers, "schedule") if o != "eta" and o in tuned)]
    named = f", {metric_in_words(decides, results)}" if decides else ""
    header = f"{method_name(against, results)}{DIFFERENCE}{named}" if against else None
    data, shown = [], []
    for row in (row for rows in problems_found for row in rows):
        numbers, words = summarize(row.runs, results, request)
        values = {option: setting_of(row.chosen, row.algo).get(option) for option in over}
        gap = row.gap and (row.gap.value, row.gap.low, row.gap.high)
        minus = dict(zip(MINUS, gap, strict=True)) if gap else {}
        data.append(
            {**row.key, "algo": row.algo, **values, **numbers, "seeds": row.seeds, "reference": against, **minus}
        )
        pairs = f" ({row.gap.count} pairs)" if row.gap else ""
        difference = {header: interval(row.gap, signed=True) + pairs} if header else {}
        shown.append((row.key, {**_cells(results, row, over), **words, **difference}))
    what = what_is_tuned(over)
    tried = was_chosen(best for rows in problems_found if rows for best in rows[0].chosen.values())
    each = zip(written, problems_found, strict=True)
    by = [score_in_words(results, runs, request) for (_, runs, _), rows in each if rows[0].chosen]
    compared = metric_in_words(decides, results) if decides else "accuracies or of test losses"
    notes = [RULE.format(what=what, score=" or ".join(dict.fromkeys(by))), HELD_OUT] if tried else []
    notes += [NOTE.format(what=compared), *dict.fromkeys(note for *_, some in written for note in some)]
    title = f"Final results{f', baselines at their best {what}' if tried else ''}"
    return Table(with_settings(shown), pd.DataFrame(data), notes, title, spare=spare(shown, request))


def _rows(
    results: Results, request: FigureOptions, key: Key, runs: pd.DataFrame, against: str | None, decides: str | None
) -> list[Row]:
    """Return the methods of one problem, each compared with the reference by the metric ``decides``."""
    found = reported_all(results, runs, request)
    chosen = chosen_of(found)
    metric = decides or judged_by(results, runs, request)[0]
    alive = [algo for algo, one in found.items() if len(one.runs)]
    others = [algo for algo in alive if algo != against]
    out = []
    for algo in methods(found, results):
        one, gap = found[algo], None
        if algo in others and against in alive:
            gap = paired(found[str(against)].values(metric), one.values(metric), family=len(others))
        mine = one.runs if algo in alive else runs[runs["algo"] == algo]
        out.append(Row(key, algo, mine, chosen, one.in_words if algo in alive else "—", gap))
    return out


def _cells(results: Results, row: Row, over: Sequence[str]) -> dict[str, str]:
    """Return the columns before the metrics."""
    schedule = " ".join(sorted(set(row.runs["schedule"].dropna().map(str)))) if "schedule" in row.runs else "—"
    values = {symbol(option): _in_words(option, row) for option in over if option != "schedule"}
    return {"method": method_name(row.algo, results), **values, "schedule": schedule, "seeds": row.seeds}


def _in_words(option: str, row: Row) -> str:
    best = row.chosen.get(row.algo)
    if row.algo not in row.chosen or (best and option not in best.values):
        return "—"
    if best is None:
        return f"every one {gone_in_words(row.runs)}"
    rest = " (the only one run)" if best.alone else " (edge)" if option in best.edges else ""
    return f"{best.values[option]:g}{rest}"
