"""Table of final results: every method at its best setting on every problem."""

from __future__ import annotations

import pandas as pd

from analysis.drawing.symbols import symbol, what_is_tuned
from analysis.results.labels import marked, method_name, methods, metric_in_words
from analysis.results.results import Results
from analysis.results.wording import many
from analysis.study.clock_notes import clock_note, share_time
from analysis.study.figure_options import FigureOptions
from analysis.study.reported import chosen_of, reported_all
from analysis.study.select import as_written, problems, reference
from analysis.study.settings import in_order
from analysis.study.statistics import FEWEST, HELD_OUT, RULE, Interval, Reported, paired
from analysis.study.tuning import (
    Chosen,
    gone_in_words,
    judged_by,
    remarks,
    score_in_words,
    setting_of,
    tuned_over,
    was_chosen,
)
from analysis.tables import Table, table
from analysis.tables.format import DIFFERENCE, SETTING, interval, spare, summarize, with_settings

NOTE = (
    f"means with Student's 95 % intervals over seeds, from {FEWEST} seeds on; differences of {{what}} are paired by "
    "seed, with simultaneous 95 % intervals within a setting (Bonferroni)"
)


UNEQUAL = "in some settings the means are over different seeds; the differences use the common ones"


@table("final", "Final results, baselines at their best stepsize", uses=("metric", "reference", "tune_by"))
def make(results: Results, request: FigureOptions) -> Table:
    written = [(key, *as_written(results, runs, request)) for key, runs in in_order(problems(results, results.finals))]
    against = reference(results, request)
    decides = request.metrics[0] if request.metrics else request.tune_by
    tuned = {o for _, runs, _ in written for _, mine in runs.groupby("algo") for o in tuned_over(results, mine)}
    over = ["eta", *(o for o in (*results.numbers, "schedule") if o != "eta" and o in tuned)]
    named = f", {metric_in_words(decides, results)}" if decides else ""
    header = f"{method_name(against, results)}{DIFFERENCE}{named}" if against else None
    data, shown, by, lacking, tried, unequal = [], [], [], list[str](), False, False
    marks: dict[str, None] = {}  # in the order of their first use
    for key, runs, _ in written:
        found = reported_all(results, runs, request)
        unequal = unequal or len({frozenset(one.runs["seed"]) for one in found.values() if len(one.runs)}) > 1
        chosen = chosen_of(found)
        by += [score_in_words(results, runs, request)] if chosen else []
        tried = tried or was_chosen(chosen.values())
        lacking += remarks(results, chosen)
        gaps = _gaps(found, against, decides or judged_by(results, runs, request)[0])
        ids = {str(algo): mine["run_id"] for algo, mine in runs.groupby("algo")}
        names, some_marks = marked(methods(found, results), results, ids)
        marks |= dict.fromkeys(some_marks)
        for algo, name in names.items():
            mine, seeds, gap = found[algo].runs, found[algo].in_words, gaps.get(algo)
            mixed = False
            if mine.empty:  # every setting diverged, or lacks a seed or value: all runs are counted
                mine, seeds = runs[runs["algo"] == algo], "—"
                mixed = len(mine[tuned_over(results, mine)].drop_duplicates()) > 1
            numbers, words = summarize(mine, results, request, mixed)
            values = {option: setting_of(chosen, algo).get(option) for option in over}
            row = {**key, "algo": algo, **values, **numbers, "seeds": seeds, "reference": against}
            if gap:
                row |= {"reference_minus": gap.value, "reference_minus_low": gap.low, "reference_minus_high": gap.high}
            data.append(row)
            schedule = " ".join(sorted(set(mine["schedule"].dropna().map(str)))) if "schedule" in mine else "—"
            cells = {_heading(option): _in_words(option, algo, chosen, mine) for option in over if option != "schedule"}
            cells = {"method": name, **cells, "schedule": schedule, "seeds": seeds, **words}
            if header:
                cells[header] = interval(gap, signed=True) + (f" ({many(gap.count, 'pair')})" if gap else "")
            shown.append((key, cells))
    what = what_is_tuned(over)
    compared = metric_in_words(decides, results) if decides else "accuracies or test losses"
    notes = [RULE.format(what=what, score=" or ".join(dict.fromkeys(by))), HELD_OUT] if tried else []
    notes += dict.fromkeys(lacking)
    notes += [NOTE.format(what=compared), *dict.fromkeys(note for *_, some in written for note in some), *marks]
    notes += [UNEQUAL] if unequal else []
    notes += clock_note(results, None, results.finals, [*request.metrics, *request.columns])
    notes += clock_note(results, "step", results.finals)
    title = f"Final results{f', baselines at their best {what}' if tried else ''}"
    return Table(with_settings(shown), pd.DataFrame(data), notes, title, spare=spare(shown, request))


def _gaps(found: dict[str, Reported], against: str | None, metric: str) -> dict[str, Interval]:
    """Return the reference minus every other method on one problem, except methods that diverged at every setting."""
    ours = found.get(str(against))
    if ours is None or ours.runs.empty or metric not in ours.runs:
        return {}
    if any(share_time(one.runs, metric) for one in found.values()):
        return {}
    others = {algo: one for algo, one in found.items() if len(one.runs) and algo != against}
    return {algo: paired(ours.values(metric), one.values(metric), len(others)) for algo, one in others.items()}


def _heading(option: str) -> str:
    """Return the heading of an option's column, with its group if another column has that heading."""
    name = symbol(option)
    return f"algo.{option}" if name in (*SETTING, "method") else name


def _in_words(option: str, algo: str, chosen: Chosen, runs: pd.DataFrame) -> str:
    """0.1 (edge)"""
    best = chosen.get(algo)
    if algo not in chosen or (best and option not in best.values):
        return "—"
    if best is None:
        return f"every one {gone_in_words(runs)}"
    rest = " (the only value run)" if best.alone else " (edge)" if option in best.edges else ""
    rest = rest or " (the only complete value)" * (len(best.scores) == 1)
    return f"{best.values[option]:g}{rest}"
