"""What came out, in a sentence or two."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from analysis.drawing.style import metric_name, name_of, styles
from analysis.drawing.symbols import in_symbols
from analysis.results.errors import NoData
from analysis.results.results import Results
from analysis.study.select import as_written, final_means, problems, reference
from analysis.study.statistics import score
from analysis.study.tuning import at_best, setting_of

MOST = 3
"""Settings that have a sentence each; more are counted."""


def outcome(results: Results, wanted: str | None = None) -> list[str]:
    """Which method ends best where, and how far the reference is from it; nothing where there is nothing to compare."""
    try:
        finals = results.finals
    except NoData:
        return []
    compared = []
    for key, runs in problems(results, finals):
        means = final_means(results, runs)
        if len(means) > 1:
            compared.append((f"{name_of(key['dataset'])}, {key['topology']}", runs, means))
    if not compared:
        return []
    against = reference(results, wanted)
    look = {algo: style.label for algo, style in styles(finals["algo"].unique(), results).items()}
    if len(compared) <= MOST:
        return [_one(results, where, runs, means, look, against) for where, runs, means in compared]
    wins = Counter(str(means.index[0]) for _, _, means in compared)
    counted = ", ".join(f"{look[algo]} on {count}" for algo, count in wins.most_common())
    out = [f"Which method ends best, on {len(compared)} settings with two methods or more: {counted}."]
    gaps = [_gap(runs, means, against) for _, runs, means in compared if against in means.index]
    if against and gaps:
        losses = [gap for gap in gaps if gap > 0]
        worst = f"; at its worst it ends {_in_words(max(losses))}" if losses else ""
        out.append(
            f"{look[against]} is the best of all on {len(gaps) - len(losses)} of its {len(gaps)} settings{worst}."
        )
    return out


def _one(
    results: Results, where: str, runs: pd.DataFrame, means: pd.Series, look: dict[str, str], against: str | None
) -> str:
    name, written = score(runs)[0], as_written(results, runs)[0]
    _, chosen = at_best(results, written, compared=True)
    several = runs.groupby("algo")["schedule"].nunique() if "schedule" in runs else pd.Series(dtype=int)
    kind = written.drop_duplicates("algo").set_index("algo")["schedule"] if "schedule" in runs else {}

    def told(algo: str) -> str:
        how = in_symbols(setting_of(chosen, algo)) or "without a stepsize"
        if several.get(algo, 1) > 1:  # of several, one is compared
            how += f", {kind[algo]}"
        number = f"{means[algo]:.2f} %" if name == "test_accuracy" else f"{means[algo]:.4g}"
        return f"{look[algo]} ({how}) at {number}"

    first = str(means.index[0])
    rest = str(against if against in means.index and against != first else means.index[1])
    what = metric_name(name).removesuffix(" (%)")
    word = "highest" if name == "test_accuracy" else "lowest"
    return f"On {where}, {told(first)} ends with the {word} {what}; {told(rest)}."


def _in_words(percent: float) -> str:
    """A loss that is many times the best one is no percentage."""
    return f"{percent:.2g} % behind the best" if percent < 100 else f"at {percent / 100 + 1:.3g} times the best loss"


def _gap(runs: pd.DataFrame, means: pd.Series, against: str | None) -> float:
    """How far the reference ends behind the best, in percent of it."""
    return float(abs(means[against] - means.iloc[0]) / max(abs(means.iloc[0]), np.finfo(float).tiny) * 100)
