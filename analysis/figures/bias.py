"""Final distances from the minimizers of Σ f_i and of Σ r_i f_i against the factor of the slow node."""

from typing import Any

import pandas as pd

from analysis.drawing.lines import draw_against_setting
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import Style, styles, variant
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.labels import name_of
from analysis.results.results import Results
from analysis.study.families import at_most
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, what_else
from analysis.study.slow_node import CONTENT, SLOW, most_factors

EQUAL = "equal_weights"
DISTANCES = {
    "minimizer_distance": r"distance from the minimizer of $\Sigma\,f_i$",
    "weighted_minimizer_distance": r"distance from the minimizer of $\Sigma\,r_i f_i$",
}
NOTE = "r_i: gradients per second of node i; without a slow node, both minimizers are the same"


@figure(
    "bias",
    "Final distance of the mean model from two minimizers, by the factor of the slow node",
    "python bench/run.py experiment=extra/unequal_speeds",
    uses=("tune_by",),
    along=(SLOW, CONTENT),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    key, found = most_factors(results, needs=tuple(DISTANCES))
    weighted = (found[EQUAL] == True) if EQUAL in found else pd.Series(False, index=found.index)  # noqa: E712
    look = styles(found["algo"].unique(), results)
    figure, axes = panels(1, len(DISTANCES), 2.3, look=look, sharey=True)
    drawn, used, notes, rules = [], set[str](), what_else(results, found, but=[SLOW, CONTENT]), list[str]()
    entries: list[tuple[Style, str, dict[str, float | str]]] = []
    for ax, metric in zip(axes[0], DISTANCES, strict=True):
        log_scale(ax, found[metric], metric)
    for form, runs in ((0, found[~weighted]), (1, found[weighted])):
        if runs.empty:
            continue
        runs, omitted = as_written(results, runs, request)
        runs, values, rule = at_most(SLOW, results, runs, request)
        notes, rules, used = [*notes, *omitted], [*rules, *rule], used | set(runs["run_id"])
        for algo, style in look.items():
            if (mine := runs[runs["algo"] == algo]).empty:
                continue
            line = variant(style, form)
            for ax, metric in zip(axes[0], DISTANCES, strict=True):
                table = draw_against_setting(ax, mine, SLOW, metric, line, results)
                drawn.append(table.assign(algo=algo, equal_weights=bool(form)))
            entries.append((line, f"{line.label}, equal weights" if form else line.label, values.get(algo, {})))
    for ax, title in zip(axes[0], DISTANCES.values(), strict=True):
        factors_axis(ax, found[SLOW])
        letter_panel(ax, title)
    axes[0, 0].set_ylabel("final distance of x̄")
    alike = len({value for _, _, values in entries for value in values.items()}) == 1  # the caption has it
    legend(figure, [legend_entry(line, with_values(label, [{} if alike else v])) for line, label, v in entries])
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, [setting, NOTE, *notes, *rules])


def factors_axis(ax: Any, factors: pd.Series) -> None:
    """Show the factors of the slow node on a logarithmic axis, with a tick at each."""
    values = sorted(factors.unique())
    ax.set_xscale("log", base=2)
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()
    ax.set_xlabel("compute time of the slow node, relative to the others")
