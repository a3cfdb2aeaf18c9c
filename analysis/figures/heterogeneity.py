"""Final values against the heterogeneity of the data."""

import pandas as pd

from analysis.drawing.lines import BAND_FROM, edge, spread
from analysis.drawing.panels import NONFINITE, Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.figures import figure
from analysis.results.labels import metric_name, more_is_better, name_of
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
        for number, (algo, style) in enumerate(look.items()):
            table = spread(finals[finals["algo"] == algo], "x", metric, results)
            x = table["x"] + min(0.08, 0.8 / len(look)) * (number - (len(look) - 1) / 2)
            ax.errorbar(
                x, table["mean"], [table["mean"] - table["low"], table["high"] - table["mean"]], color=style.color,
                ls=style.dash, marker=style.marker, lw=1, elinewidth=0.8, capsize=0,
            )  # fmt: skip
            for place in x[table["nonfinite"] > 0]:
                edge(ax, place, style, NONFINITE, bottom=more_is_better(metric, results))
            few = finals[(finals["algo"] == algo) & (finals["state"] == "done")]
            few = few[few["x"].isin(table.loc[(table["runs"] < BAND_FROM) | (table["nonfinite"] > 0), "x"])]
            ax.plot(few["x"], few[metric], color=style.color, ls="", marker=style.marker, ms=2, alpha=0.6)
            drawn.append(table.assign(algo=algo, metric=metric))
        ax.set_xticks(range(len(order)), [f"{split}\nζ² = {zeta:.2g}" for split, zeta in order.items()])
        ax.set_xlabel("partition of the data")
        log_scale(ax, finals[metric], metric)
        letter_panel(ax, metric_name(metric, results))
    legend(figure, [legend_entry(style) for style in look.values()])
    key = finals.iloc[0]
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    first = f"{setting}; heterogeneity at the initial point: ζ² = (1/n) Σ ‖∇f_i − ∇f‖²"
    data = pd.concat(drawn, ignore_index=True)
    data["split"] = data["x"].map(dict(enumerate(order.index)))
    notes += what_else(results, finals, but=["partition"])
    return Picture(figure, data, set(finals["run_id"]), [first, *notes, *omitted])
