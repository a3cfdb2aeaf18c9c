"""Final values against the probability of packet loss, for each way to handle lost messages."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from analysis.drawing.lines import draw_against_setting
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.labels import metric_name, name_of
from analysis.results.results import Results
from analysis.study.families import at_most, most_run
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, first, metrics, problems, refuse_unless, what_else
from analysis.study.settings import apart

SEMANTICS = ("reabsorb", "renormalise", "zero_fill")
KINDS = {"lossy": "probability that a link is down in a step", "outages": "probability that a node fails in a step"}
HANDLING = {
    "reabsorb": "reabsorb: the receiver adds the weight of a lost message to its own",
    "renormalise": "renormalise: the receiver divides by the sum of the weights that arrived",
    "zero_fill": "zero fill: the receiver uses 0 instead of a lost message",
}
P, HOW = "links.p", "links.semantics"


@figure(
    "packet_loss",
    "Final results against packet loss, by the handling of lost messages",
    "python bench/run.py -m algo=dsgd,dsgt links=lossy links.p=0,0.1,0.3",
    uses=("metric", "tune_by"),
    along=("links",),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    key, runs = most_losses(results)
    runs, others = most_run(runs, "links", (P, HOW))
    runs, notes = as_written(results, runs, request)
    notes += others
    notes += what_else(results, runs, but=["links"])
    runs, values, rule = at_most(P, results, runs, request)
    metric = metrics(results, request.metrics[:1], ["grad_norm"])[0]
    look = styles(runs["algo"].unique(), results)
    kinds, forms = _found(runs["links"], KINDS), _found(runs[HOW], SEMANTICS)
    figure, axes = panels(len(kinds), len(forms), 1.9, look=look, sharey=True, sharex="row")
    drawn = []
    for row, kind in enumerate(kinds):
        for ax, form in zip(axes[row], forms, strict=True):
            log_scale(ax, runs[metric], metric)
            some = runs[(runs["links"] == kind) & (runs[HOW] == form)]
            for algo, style in look.items():
                if not (mine := some[some["algo"] == algo]).empty:
                    table = draw_against_setting(ax, mine, P, metric, style, results)
                    drawn.append(table.assign(algo=algo, links=kind, semantics=form))
            letter_panel(ax, f"lost messages: {form.replace('_', ' ')}")
            ax.set_xlabel(KINDS.get(kind, P))
        axes[row, 0].set_ylabel(metric_name(metric, results))
    legend(figure, [legend_entry(style, with_values(style.label, [values.get(a, {})])) for a, style in look.items()])
    notes += [HANDLING[form] for form in forms if form in HANDLING]
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    return Picture(figure, pd.concat(drawn, ignore_index=True), set(runs["run_id"]), [setting, *notes, *rule])


def most_losses(results: Results) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the problem with most runs of methods and semantics with at least two values of p."""
    finals = results.finals
    sentence = "no method was run with two values of links.p or more of links=lossy or links=outages"
    refuse_unless({P, HOW} <= set(finals), sentence)
    settings = []
    for key, runs in problems(results, finals, but=("links",)):
        lossy = runs[runs[P].notna() & runs[HOW].notna()]
        spans = lossy.groupby(["algo", "links", HOW])[P].transform("nunique")
        if (spans >= 2).any():
            settings.append((key, lossy[spans >= 2]))
    refuse_unless(bool(settings), sentence)
    return first(settings, apart(settings))


def _found(values: pd.Series, known: Iterable[str]) -> list[str]:
    """Return the distinct values, the known ones first."""
    return [name for name in known if name in set(values)] + sorted(set(values) - set(known))
