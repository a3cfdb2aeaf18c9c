"""Final results: every method at its best stepsize on every problem."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.drawing.panels import gone_in_words
from analysis.drawing.style import metric_in_words, styles
from analysis.drawing.symbols import symbol, what_is_tuned
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.reported import chosen_of, reported_all
from analysis.study.select import as_written, problems, reference
from analysis.study.settings import in_order
from analysis.study.statistics import FEWEST, HELD_OUT, RULE, Best, Interval, paired
from analysis.study.tuning import Chosen, judged_by, score_in_words, setting_of, tuned_over, was_chosen
from analysis.tables import Table, table
from analysis.tables.format import DIFFERENCE, interval, spare, summarise, with_settings

NOTE = (
    f"means with Student's 95 % intervals over seeds, none from fewer than {FEWEST}, each by itself; differences, of "
    "{what}, are paired by seed, those of one setting together at 95 % (Bonferroni)"
)


@table("final", "Final results, baselines at their best stepsize", uses=("metric", "reference", "tune_by"))
def make(results: Results, ask: Ask) -> Table:
    data, shown, notes, by = [], [], [], []
    settings: list[Best | None] = []
    against = reference(results, ask)
    look = styles(results.finals["algo"].unique(), results)
    written = [(key, *as_written(results, runs, ask)) for key, runs in in_order(problems(results, results.finals))]
    tuned = {o for _, runs, _ in written for _, mine in runs.groupby("algo") for o in tuned_over(results, mine)}
    over = ["eta", *(o for o in (*results.numbers, "schedule") if o != "eta" and o in tuned)]
    decides = ask.metrics[0] if ask.metrics else ask.tune_by
    named = f", {metric_in_words(decides, results)}" if decides else ""
    header = f"{look[against].label}{DIFFERENCE}{named}" if against else None
    for key, runs, said in written:
        notes += said
        found = reported_all(results, runs, ask)
        chosen = chosen_of(found)
        settings += chosen.values()
        by += [score_in_words(results, runs, ask)] if chosen else []
        metric = decides or judged_by(results, runs, ask)[0]
        others = [algo for algo, one in found.items() if algo != against and len(one.runs)]
        for algo in (name for name in look if name in found):
            some, gap = found[algo].runs, None
            if algo in others and against in found and len(found[against].runs):
                gap = paired(found[against].values(metric), found[algo].values(metric), family=len(others))
            if some.empty:  # every stepsize diverged: counted, not hidden
                some = runs[runs["algo"] == algo]
            numbers, words = summarise(some, results, ask)
            values = {option: setting_of(chosen, algo).get(option) for option in over}
            seeds = found[algo].in_words if len(found[algo].runs) else "—"
            data.append({**key, "algo": algo, **values, **numbers, "seeds": seeds, **_gap(against, gap)})
            schedule = " ".join(sorted(set(some["schedule"].dropna().map(str)))) if "schedule" in some else "—"
            said_of = {symbol(option): _in_words(option, algo, chosen, some) for option in over if option != "schedule"}
            told = {"method": look[algo].label, **said_of, "schedule": schedule, "seeds": seeds, **words}
            pairs = f" ({gap.count} pairs)" if gap else ""
            gaps = {header: interval(gap, signed=True) + pairs} if header else {}
            shown.append((key, {**told, **gaps}))
    what = what_is_tuned(over)
    compared = metric_in_words(decides, results) if decides else "accuracies or of test losses"
    tried = was_chosen(settings)
    rule = [RULE.format(what=what, score=" or ".join(dict.fromkeys(by))), HELD_OUT] if tried else []
    notes = [*rule, NOTE.format(what=compared), *dict.fromkeys(notes)]
    title = f"Final results{f', baselines at their best {what}' if tried else ''}"
    return Table(with_settings(shown), pd.DataFrame(data), notes, title, spare=spare(shown, ask))


def _in_words(option: str, algo: str, chosen: Chosen, runs: pd.DataFrame) -> str:
    best = chosen.get(algo)
    if algo not in chosen or (best and option not in best.values):
        return "—"
    if best is None:
        return f"every one {gone_in_words(runs)}"
    rest = " (the only one run)" if best.alone else " (edge)" if option in best.edges else ""
    return f"{best.values[option]:g}{rest}"


def _gap(against: str | None, gap: Interval | None) -> dict[str, Any]:
    found = (
        {"reference_minus": gap.value, "reference_minus_low": gap.low, "reference_minus_high": gap.high} if gap else {}
    )
    return {"reference": against, **found}
