"""Invariance of every method to rescaling f: c·f, and c²·f(x/c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.drawing.lines import draw_against_setting, spread
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.figures import figure
from analysis.results.labels import metric_name, name_of
from analysis.results.results import Results
from analysis.study.families import at_most
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, first, metrics, problems, refuse_unless, what_else
from analysis.study.settings import apart
from analysis.study.statistics import score
from analysis.study.tuning import criterion

SAME = 1e-3
"""Largest relative difference that counts as invariant."""


@dataclass(frozen=True)
class Units:
    """A rescaling of the objective."""

    label: str  # column of the runs
    power: int  # power of c by which losses grow
    f: str


LOSSES = ("train_loss", "test_loss", "val_loss", "node_loss", "suboptimality")
"""Metrics with the unit of f."""
COMMON = "the title compares the seeds that were run with every c"
"""The note if other runs are drawn."""
SCALE, STRETCH = Units("scale", 1, "c·f"), Units("input_scale", 2, "c²·f(x/c)")


@figure(
    "scale",
    "Every method minimizing c·f instead of f",
    "python bench/run.py experiment=extra/scale",
    uses=("metric", "tune_by"),
    along=("scale",),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    return _draw(results, request, SCALE)


@figure(
    "stretch",
    "Every method minimizing c²·f(x/c) instead of f",
    "python bench/run.py experiment=extra/stretch",
    uses=("metric", "tune_by"),
    along=("input_scale",),
)
def draw_stretch(results: Results, request: FigureOptions) -> Picture:
    return _draw(results, request, STRETCH)


def _draw(results: Results, request: FigureOptions, units: Units) -> Picture:
    finals, label = results.finals, units.label
    settings: list[tuple[dict, pd.DataFrame]] = []
    for key, runs in problems(results, finals, but=(label,)) if label in finals else ():
        spans = runs.groupby("algo")[label].transform("nunique")
        if (spans >= 2).any():
            settings.append((key, runs[spans >= 2]))
    refuse_unless(bool(settings), f"no method has runs with at least two values of {label}")
    key, runs = first(settings, apart(settings))
    runs, notes = as_written(results, runs, request)
    notes += what_else(results, runs, but=[label])
    losses = [name for name in LOSSES if name in runs]
    runs = runs.assign(**{name: runs[name] / runs[label] ** units.power for name in losses})
    runs, _, rule = at_most(label, results, runs, request)
    metric = metrics(results, request.metrics[:1], [score(runs)[0]])[0]
    look = styles(runs["algo"].unique(), results)
    figure, axes = panels(1, 1, 2.1, look=look)
    ax, drawn = axes[0, 0], []
    log_scale(ax, runs[metric], metric)
    for algo, style in look.items():
        mine = runs[runs["algo"] == algo]
        drawn.append(draw_against_setting(ax, mine, label, metric, style, results).assign(algo=algo, **key))
    notes += rule
    divided = "c" if units.power == 1 else "c²"
    words, loss = metric_name(metric, results), f" of {units.f}, divided by {divided}"
    ax.set(xscale="log", xlabel="factor c", ylabel=words + loss * (metric in losses))
    if criterion(results, runs, request)[0] in losses:
        notes.append(f"losses are divided by {divided} before they are compared")
    letter_panel(ax, f"{name_of(key['dataset'])}, {key['topology']} graph: minimizing {units.f}")
    data = pd.concat(drawn, ignore_index=True)
    legend(figure, [legend_entry(style) for style in look.values()])
    whole = {algo: _of_common_seeds(runs[runs["algo"] == algo], label) for algo in look}
    start = f"Every method minimizing {units.f} with the same stepsizes for every c"
    claim = _claim({look[a].label: _invariant(mine, label, metric, results) for a, mine in whole.items()})
    notes += [COMMON] if claim and sum(map(len, whole.values())) < len(runs) else []
    return Picture(figure, data, set(runs["run_id"]), notes, start + claim)


def _of_common_seeds(runs: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return the runs of one method with the seeds that were run with every c: others would add an effect of seeds."""
    return runs[runs.groupby("seed")[label].transform("nunique") == runs[label].nunique()]


def _invariant(runs: pd.DataFrame, label: str, metric: str, results: Results) -> bool | None:
    """Return whether the mean of one method is the same for every c; None without two values of c."""
    if runs[label].nunique() < 2:
        return None
    ends = spread(runs, label, metric, results)["mean"].to_numpy(float)
    return bool(np.isfinite(ends).all() and np.ptp(ends) <= SAME * abs(ends).max())


def _claim(invariant: dict[str, bool | None]) -> str:
    """Name the only method that is invariant to c, or the only one that is not; nothing if one is unknown."""
    same = [name for name, even in invariant.items() if even]
    other = [name for name, even in invariant.items() if even is False]
    if len(same) + len(other) < max(len(invariant), 2):
        return ""
    if len(same) == 1:
        return f": only the results of {same[0]} do not depend on c"
    return f": only the results of {other[0]} depend on c" if len(other) == 1 else ""
