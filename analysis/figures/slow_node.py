"""Learning curves over the seconds on each run's own network, with a panel per factor of the slow node."""

from collections import defaultdict
from typing import Any

import pandas as pd

from analysis.drawing.lines import curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import styles
from analysis.drawing.symbols import what_is_tuned, with_values
from analysis.figures import figure
from analysis.figures.bias import SLOW
from analysis.results.labels import metric_name, name_of
from analysis.results.results import NETWORK_S, Results
from analysis.results.seconds import on_own_networks
from analysis.study.families import split_in_words
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, first, metrics, problems, refuse_unless
from analysis.study.settings import apart
from analysis.study.tuning import at_best, columns_of, one_rule, rule_in_words, setting_of

SPLIT = "split in words"
"""A column of this figure. The blanks prevent a clash with an option of a method."""
CLOCK = (
    "seconds on the network of each run: of synchronous methods until all nodes have completed the step, of "
    "asynchronous ones the time of the events"
)


@figure(
    "slow_node",
    "Learning curves over seconds, by the factor of the slow node",
    "python bench/run.py -m algo=dsgd,swift network=lan network.slow=1,4",
    uses=("metric", "tune_by"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    key, found = most_factors(results)
    timed, untimed = on_own_networks(results.of(found))
    metric = metrics(results, request.metrics[:1], ["train_loss"])[0]
    look = styles(found["algo"].unique(), results)
    splits, factors = list(dict.fromkeys(found[SPLIT])), sorted(found[SLOW].unique())
    figure, axes = panels(len(splits), len(factors), 1.75, look=look, sharey="row", sharex=True)
    drawn, used, notes, values = [], set[str](), list[str](), defaultdict(list)
    for row, split in zip(axes, splits, strict=True):
        for ax, slow in zip(row, factors, strict=True):
            runs = found[(found[SPLIT] == split) & (found[SLOW] == slow)]
            runs, omitted = as_written(results, runs, request)
            best, chosen = at_best(results, runs, request)
            where = f"{split}, slow factor {slow:g}"
            notes += [*omitted, *rule_in_words(results, runs, chosen, f"{where}: ", request)]
            rows = timed.curves(best)
            for algo, style in look.items():
                table = curve(ax, rows[rows["algo"] == algo], NETWORK_S, metric, style, after=0, results=results)
                drawn.append(table.assign(algo=algo, split=split, slow=slow, **columns_of(chosen, algo)))
                values[algo].append(setting_of(chosen, algo))
            log_scale(ax, rows[metric], metric)
            ax.set_xscale("log")
            letter_panel(ax, where if len(splits) > 1 else f"slow factor {slow:g}")
            used |= set(best["run_id"])
        row[0].set_ylabel(metric_name(metric, results))
    for ax in axes[-1]:
        ax.set_xlabel("seconds on the network")
    legend(figure, [legend_entry(style, with_values(style.label, values[algo])) for algo, style in look.items()])
    setting = f"{name_of(key['dataset'])}, {key['topology']} graph, n = {key['nodes']}, T = {key['steps']}"
    what = what_is_tuned(option for settings in values.values() for chosen_of in settings for option in chosen_of)
    title = f"Learning curves over seconds, every method at its best {what}, by the factor of the slow node"
    data = pd.concat(drawn, ignore_index=True)
    return Picture(figure, data, used, [setting, CLOCK, *one_rule(notes), *untimed], title)


def most_factors(results: Results) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the problem with most runs with at least two factors of the slow node; its partitions may differ."""
    finals, sentence = results.finals, "no problem was run with two values of network.slow or more"
    refuse_unless(SLOW in finals, sentence)
    settings = []
    for key, runs in problems(results, finals.dropna(subset=[SLOW]), but=("network", "partition")):
        if runs[SLOW].nunique() >= 2:
            settings.append((key, runs.assign(**{SPLIT: [split_in_words(row) for row in runs.to_dict("records")]})))
    refuse_unless(bool(settings), sentence)
    return first(settings, apart(settings))
