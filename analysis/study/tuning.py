"""What a method is tuned over, and every method at its best."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from analysis.drawing.symbols import in_symbols, symbol, what_is_tuned
from analysis.results.errors import NoData
from analysis.results.labels import direction, method_name, metric_in_words
from analysis.results.results import Results
from analysis.study.figure_options import USUAL, FigureOptions
from analysis.study.statistics import RULE, Best, best_setting, score

AS_WRITTEN = {"normalize": "vector", "average": "tracker", "gossip": "once", "multiplier": 1.0}
"""The methods as their papers have them; other values are variants, with a figure of their own."""

Chosen = dict[str, Best | None]
"""By method: its best setting, None where each diverged for some seed; without those that have nothing to tune."""


def tuned_over(results: Results, runs: pd.DataFrame, asked: str | None = None) -> list[str]:
    """The options that one method was tuned over in these runs: its numbers, and its schedule where there are two."""
    schedules = runs["schedule"] if "schedule" in runs else pd.Series(dtype=object)
    several = schedules.nunique() >= 2 and schedules.notna().all()
    return [*numbers_tuned(results, runs, asked), *(["schedule"] if several else [])]


def numbers_tuned(results: Results, runs: pd.DataFrame, asked: str | None = None) -> list[str]:
    """The stepsize of one method, and its other numbers with two values or more that all of these runs have. What makes
    a variant is tuned over only if it is ``asked`` for."""
    known = {option: runs[option] for option in results.numbers if option in runs and runs[option].notna().any()}
    tuned = [
        option
        for option, values in known.items()
        if values.nunique() >= 2 and (option == asked or (option not in AS_WRITTEN and values.notna().all()))
    ]
    return [*(["eta"] if "eta" in known else []), *(option for option in tuned if option != "eta")]


VALIDATION = (("val_accuracy", 1.0, "validation accuracy"), ("val_loss", -1.0, "validation loss"))
"""On a part of the training data that is kept apart: what settings are chosen by where runs have it."""


SWEPT = 3
"""Values from which a multiplier is a stepsize like any other."""


def sensitive_to(runs: pd.DataFrame, asked: str) -> str | None:
    """The number that a sensitivity of one method is about: the one that is asked for; of a method without a stepsize
    its multiplier, where that was swept."""
    if asked in runs and runs[asked].notna().any():
        return asked
    swept = asked == "eta" and "multiplier" in runs and runs["multiplier"].nunique() >= SWEPT
    return "multiplier" if swept else None


def criterion(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> tuple[str, float]:
    """What decides between the settings of one problem, and its sign: the metric that is asked for; else validation
    accuracy or validation loss, where every run that ended well has it; else what runs are judged by."""
    if request.tune_by is None:
        done = finals[finals["state"] == "done"]
        for name, sign, _ in VALIDATION:
            if name in done and len(done) and done[name].notna().all():
                return name, sign
    return judged_by(results, finals, request)


def judged_by(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> tuple[str, float]:
    """What methods are compared by, and its sign: the metric that is asked for, else test accuracy or test loss."""
    if request.tune_by is None:
        return score(finals)
    more = direction(request.tune_by, results)
    if more is None:
        raise NoData(
            f"nothing says which way {request.tune_by} is better, so there is no best of it; its declaration can: "
            f'@metric("{request.tune_by}", more_is_better=False)'
        )
    return request.tune_by, 1.0 if more else -1.0


def at_best(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> tuple[pd.DataFrame, Chosen]:
    """Every method of one problem at its best setting, chosen as ``request`` says, with all its seeds.
    One that was not tuned as it is. What is reported of a method is in ``reported``."""
    kept: list[pd.DataFrame] = []
    chosen: Chosen = {}
    by = criterion(results, finals, request)
    for algo, runs in finals.groupby("algo", sort=False):
        over = tuned_over(results, runs)
        if not over:
            kept.append(runs)
            continue
        best = chosen[str(algo)] = best_setting(runs, over, by)
        if best is not None:
            kept.append(best.of(runs))
    return (pd.concat(kept) if kept else finals.iloc[:0]), chosen


def rule_in_words(
    results: Results, finals: pd.DataFrame, chosen: Chosen, where: str = "", request: FigureOptions = USUAL
) -> list[str]:
    """Which rule picked which setting."""
    if not chosen:
        return []
    what = what_was_tuned(chosen)
    names: dict[str, list[str]] = {}  # by what is said of them
    for algo, best in chosen.items():
        if best is None:
            said = f"not drawn: every {what} {gone_in_words(finals[finals['algo'] == algo])} for some seed"
        else:
            said = f"{choice_in_words(best)}{', the only one run' if best.alone else ''}"
        names.setdefault(said, []).append(method_name(algo, results))
    words = [f"{', '.join(some)} {said}" for said, some in names.items()]
    rule = (
        [RULE.format(what=what, score=score_in_words(results, finals, request))] if was_chosen(chosen.values()) else []
    )
    return [f"{where}{'; '.join(words)}", *rule]


def gone_in_words(finals: pd.DataFrame) -> str:
    """Why there is no value of some of these runs."""
    return "diverged" if finals["state"].isin(("nonfinite", "diverging")).any() else "has no value"


def was_chosen(found: Iterable[Best | None]) -> bool:
    """Whether any method had more than one setting to choose from."""
    return any(best is None or not best.alone for best in found)


def score_in_words(results: Results, finals: pd.DataFrame, request: FigureOptions = USUAL) -> str:
    """test accuracy (so on the test set)"""
    name = criterion(results, finals, request)[0]
    known = {metric: words for metric, _, words in VALIDATION}
    told = known.get(name) or metric_in_words(name, results)
    return f"{told} (so on the test set)" if name.startswith("test_") else told


def choice_in_words(best: Best) -> str:
    """η=0.1, β=0.9 (η at the edge of its grid)"""
    words = in_symbols(best.values, "=")
    if not best.edges:
        return words
    if len([value for value in best.values.values() if not isinstance(value, str)]) == 1:
        return f"{words} (the edge of its grid)"
    which = " and ".join(map(symbol, best.edges))
    return f"{words} ({which} at the edge of {'its grid' if len(best.edges) == 1 else 'their grids'})"


def what_was_tuned(chosen: Chosen) -> str:
    """The word for it."""
    return what_is_tuned(option for best in chosen.values() if best for option in best.values)


def setting_of(chosen: Chosen, algo: str) -> dict[str, float | str]:
    """The values that a method is drawn at; none where it was not tuned."""
    best = chosen.get(algo)
    return best.values if best else {}


def columns_of(chosen: Chosen, algo: str) -> dict[str, float | str | None]:
    """The same for a table of numbers, which always has a column for the stepsize."""
    return {"eta": None, **setting_of(chosen, algo)}
