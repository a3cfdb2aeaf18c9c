"""Tuned options, and methods at their best setting."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from analysis.drawing.symbols import in_symbols, symbol, what_is_tuned
from analysis.results.errors import NoData
from analysis.results.labels import direction, method_name, metric_in_words
from analysis.results.numbers import are_numbers, numbers_of
from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.statistics import RULE, SEVERAL, Best, best_setting, score

AS_WRITTEN = {"normalize": "vector", "average": "tracker", "gossip": "once", "multiplier": 1.0}
"""The values of methods as in their papers; other values are variants, with a figure of their own."""

Chosen = dict[str, Best | None]
"""The best setting of every tuned method; None if each setting diverged for some seed."""


def tuned_over(results: Results, runs: pd.DataFrame, asked: str | None = None) -> list[str]:
    """Return the tuned options of one method: numbers, and the schedule if there are two or more."""
    several = "schedule" in runs and runs["schedule"].nunique() >= 2 and runs["schedule"].notna().all()
    return [*numbers_tuned(results, runs, asked), *(["schedule"] if several else [])]


def numbers_tuned(results: Results, runs: pd.DataFrame, asked: str | None = None) -> list[str]:
    """Return the stepsize of one method, and its other numbers with two or more values that all runs have.

    An option of ``AS_WRITTEN`` counts only if it is ``asked`` for.
    """
    tuned = ["eta"] if "eta" in results.numbers and "eta" in runs and are_numbers(runs["eta"]) else []
    several = {*results.several_in(runs)}
    for option in (o for o in results.numbers if o in several and o != "eta"):
        known = numbers_of(runs[option])
        whole = option == asked or (option not in AS_WRITTEN and len(known) == len(runs))
        tuned += [option] if whole and len({*known}) >= 2 else []
    return tuned


VALIDATION = (("val_accuracy", 1.0, "validation accuracy"), ("val_loss", -1.0, "validation loss"))
"""Metrics on held-out training data, which choose settings if the runs have them."""
SWEPT = 3
"""The number of values from which a multiplier counts as a stepsize."""


def sensitive_to(runs: pd.DataFrame, asked: str) -> str | None:
    """Return the option whose sensitivity is shown: ``asked``, or the swept multiplier of a method without stepsize."""
    if asked in runs and are_numbers(runs[asked]):
        return asked
    swept = asked == "eta" and "multiplier" in runs and runs["multiplier"].nunique() >= SWEPT
    return "multiplier" if swept and are_numbers(runs["multiplier"]) else None


def criterion(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> tuple[str, float]:
    """Return the metric that chooses settings, and its sign.

    It is the requested one; else validation accuracy or loss, if all runs that did not diverge have it; else the metric
    that compares methods.
    """
    if request.tune_by is None:
        done = (finals["state"] == "done").to_numpy(bool)
        for name, sign, _ in VALIDATION:
            if name in finals and done.any() and finals[name].notna().to_numpy()[done].all():
                return name, sign
    return judged_by(results, finals, request)


def judged_by(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> tuple[str, float]:
    """Return the metric that compares methods, and its sign: the requested one, else test accuracy or loss."""
    if request.tune_by is None:
        return score(finals)
    more = direction(request.tune_by, results)
    if more is None:
        raise NoData(
            f"--tune-by {request.tune_by} needs a metric with a direction. Declare it as "
            f'@metric("{request.tune_by}", more_is_better=False)'
        )
    return request.tune_by, 1.0 if more else -1.0


def at_best(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> tuple[pd.DataFrame, Chosen]:
    """Return the runs of every method of one problem at its best setting, and these settings."""
    kept: list[pd.DataFrame] = []
    chosen: Chosen = {}
    by = criterion(results, finals, request)
    for algo, runs in finals.groupby("algo", sort=False):
        over = tuned_over(results, runs)
        if not over:
            if runs["seed"].duplicated().any():
                raise ValueError(SEVERAL)
            kept.append(runs)
            continue
        best = chosen[str(algo)] = best_setting(runs, over, by)
        if best is not None:
            kept.append(best.of(runs))
    return (pd.concat(kept) if kept else finals.iloc[:0]), chosen


def rule_in_words(
    results: Results, finals: pd.DataFrame, chosen: Chosen, where: str = "", request: FigureOptions = USUAL
) -> list[str]:
    """Return notes on the chosen settings and the rule."""
    if not chosen:
        return []
    what = what_was_tuned(chosen)
    names: dict[str, list[str]] = {}  # methods by their setting
    for algo, best in chosen.items():
        if best is None:
            choice = f"not drawn: every {what} {gone_in_words(finals[finals['algo'] == algo])} for some seed"
        else:
            choice = choice_in_words(best) + " (the only value run)" * best.alone
        names.setdefault(choice, []).append(method_name(algo, results))
    notes = [where + "; ".join(f"{', '.join(some)} {choice}" for choice, some in names.items())]
    if was_chosen(chosen.values()):
        notes.append(RULE.format(what=what, score=score_in_words(results, finals, request)))
    return [*notes, *remarks(results, chosen, where)]


MOST = 4
"""The largest number of settings that a note names."""


def remarks(results: Results, chosen: Chosen, where: str = "") -> list[str]:
    """Return notes on the settings without some tuning seed, which are not compared, and on options without effect."""
    parts = []
    for algo, best in chosen.items():
        if best is None or best.left_out.empty:
            continue
        settings = best.left_out.sort_values(list(best.left_out)).to_dict("records")
        some = [in_symbols({str(k): v for k, v in setting.items()}, "=") for setting in settings[:MOST]]
        more = [f"{len(settings) - MOST} more"] if len(settings) > MOST else []
        parts.append(f"{method_name(algo, results)} {', '.join([*some, *more])}")
    out = [f"{where}not considered, because they lack a seed of the others: {'; '.join(parts)}"] if parts else []
    idle = [(option, method_name(algo, results)) for algo, best in chosen.items() if best for option in best.idle]
    same = "the same mean, so that none is better"
    return [*out, *(f"{where}all values of {symbol(option)} give {name} {same}" for option, name in idle)]


def one_rule(notes: Iterable[str]) -> list[str]:
    """Join the notes on the rule that differ only in the metric or the tuned options."""
    rule = re.compile(re.escape(RULE).replace(r"\{what\}", "(.*)").replace(r"\{score\}", "(.*)"))
    notes = list(dict.fromkeys(notes))
    found = [match.groups() for note in notes if (match := rule.fullmatch(note))]
    if len(found) < 2:
        return notes
    what = max((what for what, _ in found), key=len)  # "stepsize and schedule" includes "stepsize"
    *before, last = dict.fromkeys(score for _, score in found)
    score = f"{', '.join(before)} or {last}" if before else last
    return [*(note for note in notes if not rule.fullmatch(note)), RULE.format(what=what, score=score)]


def gone_in_words(finals: pd.DataFrame) -> str:
    """Return why no setting of these runs can be chosen."""
    return "diverged" if some_diverged(finals) else "lacks a run or a value"


def some_diverged(finals: pd.DataFrame) -> bool:
    """Return whether a run diverged."""
    return bool(finals["state"].isin(("nonfinite", "diverging")).any())


def was_chosen(found: Iterable[Best | None]) -> bool:
    """Return whether any method had more than one setting."""
    return any(best is None or not best.alone for best in found)


IN_SAMPLE = "times and losses are those of all seeds of the best setting, also of the seeds that chose it"


def in_sample(chosen: Chosen) -> list[str]:
    """Return a note if a setting was chosen by seeds that also report it."""
    return [IN_SAMPLE] if was_chosen(chosen.values()) else []


def score_in_words(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> str:
    """test accuracy (chosen on the test set)"""
    name = criterion(results, finals, request)[0]
    words = {metric: words for metric, _, words in VALIDATION}.get(name) or metric_in_words(name, results)
    return f"{words} (chosen on the test set)" if name.startswith("test_") else words


def choice_in_words(best: Best) -> str:
    """η=0.1, β=0.9 (η at the edge of its grid)"""
    words = in_symbols(best.values, "=")
    if not best.edges:
        return words
    if len([value for value in best.values.values() if not isinstance(value, str)]) == 1:
        return f"{words} (at the edge of its grid)"
    which = " and ".join(map(symbol, best.edges))
    return f"{words} ({which} at the edge of {'its grid' if len(best.edges) == 1 else 'their grids'})"


def what_was_tuned(chosen: Chosen) -> str:
    """Return the noun for the tuned options, such as "stepsize"."""
    return what_is_tuned(option for best in chosen.values() if best for option in best.values)


def setting_of(chosen: Chosen, algo: str) -> dict[str, float | str]:
    """Return the values that a method is drawn at; none if it was not tuned."""
    best = chosen.get(algo)
    return best.values if best else {}


def columns_of(chosen: Chosen, algo: str) -> dict[str, float | str | None]:
    """Return the same values for a table of numbers, which always has a column for the stepsize."""
    return {"eta": None, **setting_of(chosen, algo)}
