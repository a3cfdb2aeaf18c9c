"""Final values against the stepsize, for every dataset or every graph."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis.drawing.lines import draw_against_setting, draw_without_setting
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels, under
from analysis.drawing.style import Style, styles, variant
from analysis.drawing.symbols import in_symbols, symbol, what_is_tuned, with_values
from analysis.figures import OVERLAYS, Overlay, figure
from analysis.results.columns import with_columns
from analysis.results.labels import method_name, metric_name, name_of
from analysis.results.numbers import with_numbers
from analysis.results.results import Results
from analysis.results.rho import mixing_of, rho_in_words, rho_text
from analysis.results.wording import many
from analysis.study.figure_options import FigureOptions
from analysis.study.select import (
    as_written,
    first,
    first_ones,
    metrics,
    one_per_dataset,
    problems,
    refuse_unless,
    with_accuracies,
)
from analysis.study.settings import Setting, apart
from analysis.study.statistics import best_setting, score
from analysis.study.tuning import criterion, gone_in_words, score_in_words, sensitive_to, tuned_over

COMMAND = "python bench/run.py -m algo=dsgd,dsgt algo.eta=0.1,0.3,1,3,10 seed=0,1,2,3,4"
GRAPHS = ("ring", "random", "ladder", "complete")
"""The order of the panels."""


@figure("stepsize", "Final results against the stepsize", COMMAND, uses=("over", "metric", "tune_by"))
def draw(results: Results, request: FigureOptions) -> Picture:
    finals, without = grids(results, results.finals, request.over)
    finals, omitted = with_accuracies(finals) if not request.metrics else (finals, [])
    settings, notes = one_per_dataset(results, finals)
    titles = [f"{name_of(key['dataset'])}, {key['topology']} graph" for key, _ in settings]
    return against_option(
        results, request, settings, titles, [*notes, *without, *omitted], min(3, len(settings)), sharex="col"
    )


@figure(
    "topology",
    "Final results against the stepsize, graph by graph",
    f"{COMMAND} topology=ring,complete",
    uses=("over", "metric", "tune_by"),
    along=("topology", "steps"),
)
def draw_topology(results: Results, request: FigureOptions) -> Picture:
    finals, without = grids(results, results.finals, request.over)
    everything, families = list(problems(results, finals)), []
    among = apart(everything)
    for _, runs in problems(results, finals, but=("topology", "steps")):
        found = list(problems(results, runs))
        each = [[one for one in found if one[0]["topology"] == name] for name in runs["topology"].unique()]
        graphs = {some[0][0]["topology"]: first(some, among, lambda key, _: key["steps"]) for some in each}
        count = sum(len(some) for _, some in graphs.values())
        families.append((-len(graphs), -count, among.place(found[0][0]), graphs))
    most, _, _, graphs = min(families, key=lambda family: family[:3])
    refuse_unless(-most >= 2, "no dataset was run on two graphs or more with several stepsizes")
    order = sorted(graphs, key=lambda name: (GRAPHS.index(name) if name in GRAPHS else len(GRAPHS), name))
    order, cut = first_ones(order, "topology")
    settings = [graphs[name] for name in order]
    ends, notes = among.side_by_side([key for key, _ in settings], also=["nodes"])
    notes += [*rho_in_words(results, set().union(*(runs["run_id"] for _, runs in settings))), *without, *cut]
    titles = [f"{_title(results, key, runs)}{end}" for (key, runs), end in zip(settings, ends, strict=True)]
    columns = 2 if len(settings) in (2, 4) else 3
    share = {"sharey": True, "sharex": "col"}
    return against_option(results, request, settings, titles, notes, columns, ", graph by graph", **share)


def _title(results: Results, key: dict[str, Any], runs: pd.DataFrame) -> str:
    rho, network = runs["rho"].iloc[0], mixing_of(results, runs["run_id"].iloc[0])
    known = f" ({rho_text(network, rho)})" if pd.notna(rho) else ""  # unknown for some networks with packet loss
    return f"{name_of(key['dataset'])}, {key['topology']}{known}, T = {key['steps']}"


def grids(results: Results, finals: pd.DataFrame, option: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs of problems on which a method was run with several values of an option, of methods with several
    values or without the option, and a note on the other runs."""
    name, plural = ("a stepsize", "stepsizes") if option == "eta" else (f"an option {option}", f"values of {option}")
    refuse_unless(option in finals, f"no method was run with {name}")
    finals = with_numbers(finals, option)
    keys = [c for c in results.problem if c in finals and not finals[c].isna().all()]
    widths = finals.groupby([*keys, "algo"], dropna=False)[option].transform("nunique")
    groups = [finals[key].astype(object).where(finals[key].notna(), "") for key in keys]
    several = widths.groupby(groups).transform("max")
    refuse_unless(bool((several >= 2).any()), f"no method was run with two {plural} or more")
    wide, notes = several >= 2, []
    drawn = wide & ((widths >= 2) | finals[option].isna())
    if names := [method_name(algo, results) for algo in finals.loc[wide & ~drawn, "algo"].unique()]:
        notes.append(f"not drawn, because they were run with one of the {plural}: {', '.join(names)}")
    if others := finals[~wide].groupby(keys, dropna=False).ngroups:
        notes.append(f"not drawn: {many(others, 'other setting')}, where no method was run with two {plural}")
    return finals[drawn], notes


def others_at_best(
    results: Results, runs: pd.DataFrame, request: FigureOptions, option: str
) -> tuple[pd.DataFrame, dict[str, dict[str, float | str]], list[str]]:
    """Return the runs of every method with all values of the option and its other options at their best, these best
    values, and notes."""
    kept, others, notes = [], {}, []
    for algo, mine in runs.groupby("algo", sort=False):
        name = method_name(algo, results)
        over = tuned_over(results, mine, option)
        if not {*over} - {option}:
            kept.append(mine)
            continue
        best = best_setting(mine, over, criterion(results, runs, request))
        if best is None:
            notes.append(f"{name} not drawn: every setting {gone_in_words(mine)} for some seed")
            continue
        kept.append(best.of(mine, but=option))
        values = others[str(algo)] = {key: value for key, value in best.values.items() if key != option}
        score = f"the best mean final {score_in_words(results, runs, request)} among the settings with all seeds"
        notes.append(f"{name}, {in_symbols(values)}: its best {what_is_tuned(values)}, the one with {score}")
    refuse_unless(bool(kept), f"every setting {gone_in_words(runs)} for some seed")
    return pd.concat(kept), others, notes


@dataclass(frozen=True)
class Panel:
    """One problem: every method with all values of the option and its other options at their best."""

    key: dict[str, Any]
    title: str
    metric: str
    runs: pd.DataFrame
    others: dict[str, dict[str, float | str]]  # the best values, by method
    multiplied: dict[str, pd.DataFrame]  # runs of methods whose multiplier was swept in place of a stepsize
    notes: list[str]


def against_option(
    results: Results,
    request: FigureOptions,
    settings: list[Setting],
    titles: list[str],
    notes: list[str],
    columns: int,
    rest: str = "",
    **share: Any,
) -> Picture:
    """Draw final values against the option ``request.over``, a panel per setting; ``rest`` ends the caption."""
    option = request.over
    flat = {algo for _, runs in settings for algo, some in runs.groupby("algo") if some[option].isna().all()}
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)), results)
    found = [_panel(results, request, *setting, title) for setting, title in zip(settings, titles, strict=True)]
    figure, axes = panels(-(-len(settings) // columns), columns, 1.9, look=look, **share)
    drawn, overlays = list[pd.DataFrame](), dict[Overlay, None]()
    metrics_shown = dict.fromkeys(panel.metric for panel in found)
    for ax, panel in zip(axes.flat, found, strict=False):
        drawn += _draw_panel(ax, panel, look, option, results)
        labeled = ax in axes[:, 0] or len(metrics_shown) > 1
        ax.set_ylabel(metric_name(panel.metric, results) if labeled else "")
        overlays |= {one: None for one in OVERLAYS if one.draw(ax, panel.key, look, panel.metric, option)}
    for ax in list(axes.flat)[len(settings) :]:
        ax.set_visible(False)
    multiplied = [algo for algo in look if any(algo in panel.multiplied for panel in found)]
    names = ", ".join(look[algo].label for algo in multiplied)
    factor = f" ({names}: multiplier of its stepsizes)" if multiplied else ""
    under(axes, f"stepsize η{factor}" if option == "eta" else symbol(option))
    beside = {algo: [p.others.get(algo, {}) for p in found if algo in set(p.runs["algo"])] for algo in look}
    entries = [legend_entry(style, with_values(style.label, beside[a]), a not in flat) for a, style in look.items()]
    entries += [legend_entry(variant(look[algo], 1), f"{look[algo].label}, scaled stepsizes") for algo in multiplied]
    legend(figure, entries, [one.entry for one in overlays])
    notes = [*notes, *(f"{panel.title}: {sentence}" for panel in found for sentence in panel.notes)]
    if multiplied:
        notes.append(
            f"{names} has no stepsize to tune: the horizontal line is for its prescribed stepsizes, the curve for "
            "these stepsizes multiplied by the value on the x axis"
        )
    notes += [one.note for one in overlays]
    shown = [metric_name(m, results) if m != "test_accuracy" else "test accuracy" for m in metrics_shown]
    caption = f"Final {' and '.join(shown)} against {'the stepsize' if option == 'eta' else symbol(option)}{rest}"
    used = {run for p in found for runs in (p.runs, *p.multiplied.values()) for run in runs["run_id"]}
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, notes, caption)


def _panel(results: Results, request: FigureOptions, key: dict[str, Any], runs: pd.DataFrame, title: str) -> Panel:
    """Select the runs of one panel."""
    multiplied, more = {}, []
    for algo, mine in runs.groupby("algo", sort=False):
        swept = sensitive_to(mine, request.over)
        if swept is not None and swept != request.over:
            mine, omitted = as_written(results, mine, request, swept)
            multiplied[str(algo)], _, best = others_at_best(results, mine, request, swept)
            more += [*omitted, *best]
    runs, omitted = as_written(results, runs, request, request.over)
    drawn = tuple(f"{method_name(algo, results)}:" for algo in multiplied)  # their variants are drawn too
    runs, others, best = others_at_best(results, runs, request, request.over)
    notes = [*(sentence for sentence in omitted if not sentence.startswith(drawn)), *best, *more]
    metric = metrics(results, request.metrics[:1], [score(runs)[0]])[0]
    return Panel(key, title, metric, runs, others, multiplied, notes)


def _draw_panel(
    ax: Axes, panel: Panel, look: dict[str, Style], option: str, results: Results
) -> Iterator[pd.DataFrame]:
    """Draw one panel, and yield the plotted numbers."""
    log_scale(ax, panel.runs[panel.metric], panel.metric)
    for algo, style in look.items():
        mine = panel.runs[panel.runs["algo"] == algo]
        if mine.empty:
            continue
        if mine[option].isna().all():
            table = draw_without_setting(ax, mine, panel.metric, style, results)
        else:
            table = draw_against_setting(ax, mine, option, panel.metric, style, results)
        yield with_columns(table, {"algo": algo, **panel.others.get(algo, {}), **panel.key})
    for algo, mine in panel.multiplied.items():
        table = draw_against_setting(ax, mine, "multiplier", panel.metric, variant(look[algo], 1), results)
        yield with_columns(table, {"algo": algo, **panel.key})
    values = panel.runs[option]
    if option == "eta" or (values.min() > 0 and values.max() >= 10 * values.min()):
        ax.set(xscale="log")
    letter_panel(ax, panel.title)
