"""Curves of every method at its best setting."""

from collections import defaultdict

import pandas as pd
from matplotlib.axes import Axes

from analysis.drawing.lines import DRAWN, curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.drawing.symbols import what_is_tuned, with_values
from analysis.figures import figure
from analysis.figures.stepsize import COMMAND
from analysis.results.columns import with_columns
from analysis.results.labels import metric_name, name_of
from analysis.results.results import NETWORK_S, Results
from analysis.study.clock_notes import clock_note
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, counted, metrics, one_per_dataset, with_accuracies
from analysis.study.settings import apart
from analysis.study.statistics import Best
from analysis.study.tuning import at_best, columns_of, one_rule, rule_in_words, setting_of, was_chosen

ACCURACIES = ("test_accuracy", "val_accuracy")
EARLY, LEAST = 0.05, 0.05
"""The fraction of the steps that is the start, and the fraction of later values that may lie below the axis."""
BELOW = (
    f"the axes of accuracies are cut below: they omit values of the first {100 * EARLY:g} % of the steps, and up to "
    f"{100 * LEAST:g} % of the later values; the final value of every run is visible"
)
SHOWN = ("train_loss", "test_loss", "test_accuracy", "stationarity")


@figure("curves", "Learning curves: every method at its best stepsize", COMMAND, uses=("x", "metric", "tune_by"))
def draw(results: Results, request: FigureOptions) -> Picture:
    wanted = request.x or "epoch"
    finals, uncounted = counted(results.finals, wanted)
    finals, omitted = with_accuracies(finals)
    by_network = ("network",) if wanted == NETWORK_S and not request.networks else ()
    settings, notes = one_per_dataset(results, finals, beside=by_network)
    ends, _ = apart(settings).side_by_side([key for key, _ in settings])
    notes += [*omitted, *uncounted]
    names = metrics(results.of(finals), request.metrics, SHOWN)
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)), results)
    figure, axes = panels(len(settings), len(names), 1.55, look=look)
    drawn, used, values = [], set(), defaultdict(list)
    found: list[Best | None] = []
    for row, end, (key, runs) in zip(axes, ends, settings, strict=True):
        runs, omitted = as_written(results, runs, request)
        best, chosen = at_best(results, runs, request)
        found += chosen.values()
        notes += [*omitted, *rule_in_words(results, runs, chosen, f"{name_of(key['dataset'])}: ", request)]
        rows = results.curves(best[["algo", *DRAWN]])
        x = wanted if wanted != "epoch" or rows["epoch"].notna().any() else "step"
        notes += clock_note(results, x, best)
        for ax, metric in zip(row, names, strict=True):
            for algo, style in look.items():
                table = curve(ax, rows[rows["algo"] == algo], x, metric, style, results=results)
                drawn.append(with_columns(table, {"algo": algo, **columns_of(chosen, algo), **key}))
            ax.set(xlabel=metric_name(x, results), ylabel="")
            log_scale(ax, rows[metric], metric)
            letter_panel(ax, metric_name(metric, results))
            if metric in ACCURACIES and _away_from_the_start(ax, rows, metric):
                notes.append(BELOW)
        for algo in look:
            values[algo].append(setting_of(chosen, algo))
        more = end.replace(", ", "\n", 1) if by_network else ""
        row[0].set_ylabel(f"{name_of(key['dataset'])}, {key['topology']} graph{more}", fontsize=8)
        used |= set(best["run_id"])
    legend(figure, [legend_entry(style, with_values(style.label, values[algo])) for algo, style in look.items()])
    what = what_is_tuned(option for chosen_of in values.values() for chosen in chosen_of for option in chosen)
    title = f"Learning curves: every method{f' at its best {what}' if was_chosen(found) else ''}"
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, one_rule(notes), title)


def _away_from_the_start(ax: Axes, rows: pd.DataFrame, metric: str) -> bool:
    """Fit the axis to the accuracies after the start. Return whether values lie below the axis."""
    known = rows.dropna(subset=metric)
    later = known.loc[known["step"] >= EARLY * known["step"].max(), metric]
    if later.empty:
        return False
    ends = known.sort_values("step").drop_duplicates("run_id", keep="last")[metric]
    low, high = min(later.quantile(LEAST), ends.min()), later.max()
    margin = 0.05 * max(high - low, 0.5)
    ax.set_ylim(low - margin, high + margin)
    return bool((known[metric] < low - margin).any())
