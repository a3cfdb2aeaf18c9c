"""Figure 2: the spike model, in both readings of the paper."""

from __future__ import annotations

from collections import defaultdict

import pandas as pd

from analysis.drawing.lines import curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, panels
from analysis.drawing.style import styles
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.labels import METRICS
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, first, problems, refuse_unless, what_else
from analysis.study.settings import apart
from analysis.study.tuning import at_best, columns_of, rule_in_words, setting_of

MODEL = (
    "the spike model is least squares with independent normal inputs of standard deviation 1, except the first (the "
    "spike), whose standard deviation is much larger"
)


@figure(
    "spike",
    "The spike model: test loss and gradient norm, baselines at their best stepsize",
    "python bench/run.py experiment=paper/spike",
    uses=("tune_by",),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    finals = results.finals
    finals = finals[finals["dataset"] == "spike"]
    refuse_unless(not finals.empty, "no run on dataset spike has finished")
    found, readings = list(problems(results, finals)), {}
    for sd in finals["dataset.spike_sd"].unique():
        readings[sd] = first([one for one in found if one[0]["dataset.spike_sd"] == sd], apart(found))[1]
    look = styles(finals["algo"].unique(), results)
    figure, axes = panels(2, len(readings), 1.7, look=look, sharex="col")
    drawn, used, notes, settings = [], set(), [], defaultdict(list)
    for column, sd in enumerate(sorted(readings)):
        runs, said = as_written(results, readings[sd], request)
        best, chosen = at_best(results, runs, request)
        notes += [f"standard deviation {sd:g}: {words}" for words in what_else(results, runs, but=["dataset"])]
        notes += [*said, *rule_in_words(results, runs, chosen, f"standard deviation {sd:g}: ", request)]
        rows = results.curves(best)
        for ax, metric in zip(axes[:, column], ("test_loss", "grad_norm"), strict=True):
            for algo, style in look.items():
                table = curve(ax, rows[rows["algo"] == algo], "step", metric, style)
                drawn.append(table.assign(algo=algo, **columns_of(chosen, algo), spike_sd=sd))
                settings[algo].append(setting_of(chosen, algo))
            ax.set(
                yscale="log",
                xlabel="iterations" if metric == "grad_norm" else "",
                ylabel=METRICS[metric] if column == 0 else "",
            )
        letter_panel(axes[0, column], f"standard deviation {sd:g} along the spike")
        used |= set(best["run_id"])
    legend(figure, [legend_entry(style, with_values(style.label, settings[algo])) for algo, style in look.items()])
    notes = [MODEL, *notes]
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, notes)
