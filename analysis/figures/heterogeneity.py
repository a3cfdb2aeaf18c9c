"""Final values against the heterogeneity of the data."""

import pandas as pd

from analysis.drawing.bars import draw_with_error_bars
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.figures import figure
from analysis.results.labels import metric_name, name_of
from analysis.results.results import Results
from analysis.study.families import one_setting, uneven_splits
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, metrics, what_else

SHOWN = ("test_accuracy", "stationarity", "consensus")


@figure(
    "heterogeneity",
    "Final results against the heterogeneity of the data",
    "python bench/run.py -m algo=dsgd,dsgt dataset=a9a partition=even,by_label",
    uses=("metric", "tune_by"),
    along=("partition",),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    splits = uneven_splits(results)
    look = styles(set().union(*(set(runs["algo"]) for runs in splits.values())), results)
    finals = pd.concat([runs.assign(split=split) for split, runs in splits.items()])
    finals, omitted = as_written(results, finals, request)
    finals, notes = one_setting(results, finals, request)
    order = finals.groupby("split")["heterogeneity"].mean().sort_values()
    finals["x"] = finals["split"].map({split: place for place, split in enumerate(order.index)})
    names = metrics(results.of(finals), request.metrics, SHOWN)
    figure, axes = panels(1, len(names), 1.9, look=look)
    drawn = []
    for ax, metric in zip(axes[0], names, strict=True):
        log_scale(ax, finals[metric], metric)
        for number, (algo, style) in enumerate(look.items()):
            aside = min(0.08, 0.8 / len(look)) * (number - (len(look) - 1) / 2)
            mine = finals[finals["algo"] == algo]
            table = draw_with_error_bars(ax, mine, "x", metric, style, results, aside, elinewidth=0.8, capsize=0)
            drawn.append(table.assign(algo=algo, metric=metric))
        ax.set_xticks(range(len(order)), [f"{split}\nζ² = {zeta:.2g}" for split, zeta in order.items()])
        ax.set_xlabel("partition of the data")
        letter_panel(ax, metric_name(metric, results))
    legend(figure, [legend_entry(style) for style in look.values()])
    key = finals.iloc[0]
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    first = f"{setting}; heterogeneity at the initial point: ζ² = (1/n) Σ ‖∇f_i − ∇f‖²"
    data = pd.concat(drawn, ignore_index=True)
    data["split"] = data["x"].map(dict(enumerate(order.index)))
    notes += what_else(results, finals, but=["partition"])
    return Picture(figure, data, set(finals["run_id"]), [first, *notes, *omitted])
