"""A note on results that are compared although they come from different seeds."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from analysis.results.labels import methods
from analysis.results.results import Results
from analysis.results.wording import ranges
from analysis.study.families import short_name
from analysis.study.select import problems
from analysis.study.settings import Key, follows

MOST = 4
"""The largest number of values of a setting that a note names for a method."""
SEEDS, COUNT = "seeds in words", "number of seeds"
"""Keys of a point; the blanks prevent a clash with labels."""


def different_seeds(results: Results, run_ids: Collection[str], along: Iterable[str] = ()) -> list[str]:
    """Return a note if results that are compared have different seeds among these runs.

    The results of all methods and options of a problem are compared, and those of problems that differ only in the
    labels ``along`` and their options.
    """
    along = tuple(along)
    runs = results.runs[results.runs["run_id"].isin(run_ids)]
    found = [_in_words(results, some, along) for _, some in problems(results, runs, along)] if len(runs) else []
    differ = [words for words in found if words]
    if not differ:
        return []
    where = f" on {len(differ)} of {len(found)} problems" if len(found) > 1 else ""
    return [f"the seeds differ{where}{f': {differ[0]}' if len(set(differ)) == 1 else ''}"]


def _in_words(results: Results, runs: pd.DataFrame, along: tuple[str, ...]) -> str:
    """Return the seeds by method, "D-SGD 0–9 at c=1, else 0–4; D-SGT 0–4"; empty if all are the same."""
    labels = [label for part in along for label in results.problem if part in (label, label.partition(".")[0])]
    labels += [option for option in results.options if option in runs and runs[option].nunique() > 1]
    names: dict[str, list[str]] = {}  # methods by their seeds
    for algo, name in methods(runs["algo"].unique(), results).items():
        mine = runs[runs["algo"] == algo]
        names.setdefault(_seeds(mine, [label for label in labels if label in mine]), []).append(name)
    if len(names) == 1 and ranges(runs["seed"]) in names:
        return ""
    return "; ".join(f"{', '.join(some)} {seeds}" for seeds, some in names.items())


def _seeds(runs: pd.DataFrame, labels: list[str]) -> str:
    """Return the seeds of one method, and where it has them: "5–9 at η=1, else 0–4"."""
    points = [
        {**dict(zip(labels, values, strict=True)), SEEDS: ranges(some["seed"]), COUNT: some["seed"].nunique()}
        for values, some in (runs.groupby(labels, dropna=False) if labels else [((), runs)])
    ]
    told = list(labels)
    for label in reversed(labels):  # name only the labels on which the seeds depend, and of an option also its group
        rest = [other for other in told if other != label]
        named = any(other.startswith(f"{label}.") for other in rest) and not follows(label, [], points)
        told = rest if follows(SEEDS, rest, points) and not named else told
    places: dict[str, list[str]] = {}  # by seeds
    for place, seeds in {_place(point, told): point[SEEDS] for point in points}.items():
        places.setdefault(seeds, []).append(place)
    usual = max(places, key=lambda seeds: len(places[seeds]))
    if len(places) == 1:
        return usual
    others = {seeds: some for seeds, some in places.items() if seeds != usual or len(some) == 1}
    if sum(map(len, others.values())) > MOST:
        least, most = (end(point[COUNT] for point in points) for end in (min, max))
        return f"{most if least == most else f'{least} to {most}'} of the seeds {ranges(runs['seed'])}"
    parts = [f"{seeds} at {' and '.join(some)}" for seeds, some in others.items()]
    return ", ".join(parts if usual in others else [*parts, f"else {usual}"])


def _place(point: Key, labels: list[str]) -> str:
    """Return the values of these labels: "c=1"."""
    known = [(label, point[label]) for label in labels if pd.notna(point[label])]
    known = known or [(label, "null") for label in labels[:1]]
    return " ".join(f"{short_name(c)}={f'{value:g}' if isinstance(value, float) else value}" for c, value in known)
