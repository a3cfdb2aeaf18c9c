"""Causes of the speed-up: exponents of n when only one factor changes with n."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis.drawing.panels import Picture, legend, letter_panel, panels
from analysis.drawing.style import INK, PAGE, styles
from analysis.figures import figure
from analysis.results.labels import METRICS, method_name
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.select import refuse_unless
from analysis.study.statistics import exponents, mean
from reproduction.study.controls import CONTROLS, controls, means_over_steps
from reproduction.study.families import stepsizes_in_words

PARTS = {1.0: ("mean over all steps", "o"), 0.2: ("mean over the last 20 % of the steps", "D")}
THEORY = -0.25


@figure(
    "controls",
    "Causes of the speed-up: exponents of n when only one factor changes with n",
    "python bench/run.py experiment=extra/controls",
    uses=("reference",),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    algo = request.reference or "dnasa"
    found, choices = controls(results, algo)
    refuse_unless(bool(found), f"{method_name(algo, results)} has no runs with the stepsizes of other numbers of nodes")
    look = styles([algo], results)[algo]
    schedules = [
        name for name in ("fixed", "diminishing") if any(name in set(runs["schedule"]) for runs in found.values())
    ]
    figure, axes = panels(1, len(schedules), 0.5 + 0.4 * len(found), PAGE, sharey=True)
    data, used = [], set()
    for ax, schedule in zip(axes[0], schedules, strict=True):
        for place, (name, runs) in enumerate(found.items()):
            mine = runs[runs["schedule"] == schedule]
            for last in PARTS if len(mine) else ():
                values = mine["run_id"].map(means_over_steps(results, mine, "grad_norm", last))
                fit = mean(np.array(exponents(mine["n"], values, mine["seed"])))
                y = place + (0.14 if last == 1 else -0.14)
                ax.plot([fit.low, fit.high], [y, y], color=look.color, lw=1.2)
                ax.plot(fit.value, y, color=look.color, ls="", **_shape(last))
                row = {"control": name, "schedule": schedule, "part": last, "exponent": fit.value}
                data.append({**row, "low": fit.low, "high": fit.high, "seeds": fit.count})
            used |= set(mine["run_id"])
        ax.axvline(0, color=INK, lw=0.6)
        if schedule == "fixed":
            ax.axvline(THEORY, color=INK, lw=0.8, ls=":")
        ax.set(
            xlabel=f"exponent of n in the mean of {METRICS['grad_norm']}",
            yticks=range(len(found)),
            yticklabels=[CONTROLS[name].replace(", ", ",\n") for name in found],
            ylim=(len(found) - 0.5, -0.5),
        )
        letter_panel(ax, f"{schedule} schedule")
    entries = [
        Line2D([], [], ls="", color=look.color, label=words, **_shape(last)) for last, (words, _) in PARTS.items()
    ]
    theory = Line2D([], [], color=INK, lw=0.8, ls=":", label="theory: −1/4 (fixed schedule, all steps)")
    legend(figure, [*entries, theory])
    notes = [
        *choices,
        *stepsizes_in_words(results, pd.concat(found.values())),
        "the exponent is the slope of a least-squares fit in logarithms, one fit per seed",
        "horizontal bars show 95 % confidence intervals over the seeds (Student's t)",
    ]
    return Picture(figure, pd.DataFrame(data), used, notes, f"Causes of the speed-up of {look.label}")


def _shape(last: float) -> dict[str, Any]:
    return {"marker": PARTS[last][1], "ms": 4.5, "fillstyle": "full" if last == 1 else "none"}
