"""Error against bytes sent, for each compressor."""

from dataclasses import replace

import pandas as pd

from analysis.drawing.lines import DRAWN, curve
from analysis.drawing.palette import COLORS
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles, variant
from analysis.figures import figure
from analysis.results.labels import metric_name, name_of
from analysis.results.results import Results
from analysis.study.clock_notes import clock_note
from analysis.study.families import with_options
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, counted, first, metrics, problems, refuse_unless, what_else
from analysis.study.settings import Setting, apart
from analysis.study.statistics import score
from analysis.study.tuning import Chosen, at_best, rule_in_words

COMMAND = (
    "python bench/run.py -m algo=choco algo.gamma=0.1 algo.schedule=constant algo.eta=0.1 dataset=digits steps=2000 "
    "compressor=none,top_k,random_k,qsgd,sign seed=0,1,2 engine=stacked"
)

PACKED = "how it was packed"
"""A column of this figure. The blanks prevent a clash with an option of a method."""


@figure(
    "compression",
    "Learning curves against bytes sent, by compressor",
    COMMAND,
    uses=("x", "metric", "tune_by"),
    along=("compressor",),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    x = request.x or "bytes"
    finals, uncounted = counted(results.finals, x)
    key, runs = _most_compressed(results, finals)
    runs, notes = as_written(results, runs, request)
    notes += [*uncounted, *clock_note(results, x, runs)]
    notes += what_else(results, runs, but=["compressor"])
    names = metrics(results, request.metrics, (score(runs)[0], "consensus"))
    figure, axes = panels(1, len(names), 2.1)
    forms = sorted(runs[PACKED].unique(), key=lambda name: (name != "none", name))
    entries, drawn, used = [], [], set()
    for algo, style in styles(runs["algo"].unique(), results).items():
        for number, form in enumerate(forms):
            mine = runs[(runs["algo"] == algo) & (runs[PACKED] == form)]
            if mine.empty:
                continue
            best, chosen = at_best(results, mine, request)
            several_run: Chosen = {a: b for a, b in chosen.items() if b and not b.alone}
            notes += rule_in_words(results, mine, several_run, f"{form}: ", request)
            if best.empty:
                notes.append(f"{style.label}, {form}: every run diverged")
                continue
            look = variant(style, number)
            if runs["algo"].nunique() == 1:  # colors can show the compressors
                look = replace(look, color=COLORS[number % len(COLORS)])
            entries.append(legend_entry(look, f"{style.label}, {'no compression' if form == 'none' else form}"))
            used |= set(best["run_id"])
            for ax, metric in zip(axes[0], names, strict=True):
                log = log_scale(ax, runs[metric], metric)
                table = curve(ax, results.curves(best[DRAWN]), x, metric, look, 0, log, results)
                drawn.append(table.assign(algo=algo, compressor=form))
    refuse_unless(bool(used), "every run diverged")
    for ax, metric in zip(axes[0], names, strict=True):
        ax.set(xscale="log", xlabel=metric_name(x, results))
        letter_panel(ax, metric_name(metric, results))
    legend(figure, entries)
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, [setting, *notes])


def _most_compressed(results: Results, finals: pd.DataFrame) -> Setting:
    """Return the problem with most runs of methods with at least two compressors."""
    settings = []
    known = "compressor" in finals
    forms = with_options(finals, [*finals["compressor"].astype(str)], "compressor") if known else "none"
    finals = finals.assign(**{PACKED: forms})
    for key, runs in problems(results, finals, but=("compressor",)):
        several = runs.groupby("algo")[PACKED].transform("nunique") >= 2
        if several.any():
            settings.append((key, runs[several]))
    refuse_unless(bool(settings), "no method was run with two compressors or more")
    return first(settings, apart(settings))
