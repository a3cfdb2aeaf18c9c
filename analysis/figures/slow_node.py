"""Learning curves over the seconds on each run's own network, with a panel per factor of the slow node."""

from collections import defaultdict

import pandas as pd

from analysis.drawing.lines import curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.columns import with_columns
from analysis.results.labels import metric_name, name_of
from analysis.results.results import NETWORK_S, Results
from analysis.results.seconds import on_own_networks
from analysis.study.figure_options import FigureOptions
from analysis.study.select import metrics, what_else
from analysis.study.slow_node import CLOCK, CONTENT, SLOW, SPLIT, by_factor, most_factors
from analysis.study.tuning import columns_of, one_rule, setting_of


@figure(
    "slow_node",
    "Learning curves over seconds, by the factor of the slow node",
    "python bench/run.py -m algo=dsgd,swift network=lan network.slow=1,4 algo.eta=0.3",
    uses=("metric", "tune_by"),
    along=(SLOW, CONTENT, "partition"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    key, found = most_factors(results, but=("partition",))
    others = what_else(results, found, but=[SLOW, CONTENT, "partition"])
    timed, untimed = on_own_networks(results.of(found))
    metric = metrics(results, request.metrics[:1], ["train_loss"])[0]
    look = styles(found["algo"].unique(), results)
    several = found[SPLIT].nunique() > 1
    figure, axes = panels(found[SPLIT].nunique(), found[SLOW].nunique(), 1.75, look=look, sharey="row", sharex=True)
    drawn, used, notes, values = [], set[str](), list[str](), defaultdict(list)
    for ax, one in zip(axes.flat, by_factor(results, found, request), strict=True):
        notes += one.notes
        rows = timed.curves(one.best)
        for algo, style in look.items():
            table = curve(ax, rows[rows["algo"] == algo], NETWORK_S, metric, style, after=0, results=results)
            own = {"algo": algo, "split": one.split, "slow": one.slow}
            drawn.append(with_columns(table, {**own, **columns_of(one.chosen, algo)}))
            values[algo].append(setting_of(one.chosen, algo))
        log_scale(ax, rows[metric], metric)
        ax.set_xscale("log")
        letter_panel(ax, one.where if several else f"slow factor {one.slow:g}")
        used |= set(one.best["run_id"])
    for ax in axes[:, 0]:
        ax.set_ylabel(metric_name(metric, results))
    for ax in axes[-1]:
        ax.set_xlabel("seconds on the network")
    legend(figure, [legend_entry(style, with_values(style.label, values[algo])) for algo, style in look.items()])
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    data = pd.concat(drawn, ignore_index=True)
    return Picture(figure, data, used, [setting, *others, CLOCK, *one_rule(notes), *untimed])
