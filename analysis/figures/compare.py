"""Curves of all methods and variants, for any sweep."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from analysis.drawing.lines import DRAWN, curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import Style, styles, variant
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.columns import with_columns
from analysis.results.labels import metric_name, name_of
from analysis.results.results import Results
from analysis.study.clock_notes import clock_note
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, counted, metrics, problems
from analysis.study.settings import Setting, apart
from analysis.study.tuning import (
    Chosen,
    at_best,
    columns_of,
    judged_by,
    numbers_tuned,
    one_rule,
    rule_in_words,
    setting_of,
    tuned_over,
    what_was_tuned,
)
from analysis.study.variants import shown_values

Looks = dict[tuple[str, str], Style]
"""Styles by method and variant."""
FORM = "variant"
"""The column of the variant, which may also be the name of an option."""
MOST, MOST_LINES = 4, 16
FROM_THE_FIRST_STEP = ("test_accuracy", "consensus")
"""Metrics whose initial value is not drawn: it would compress the axis, or is 0 since all nodes start together."""
AFTER = ["accuracies and consensus errors are drawn from the first evaluation after step 0"]
ZEROS = "0 at every step"
SLASHES = "values separated by / belong to the panels that contain this line, from left to right"
SELDOM = "runs of {} steps were evaluated only at their start and end; a smaller eval_every gives curves"


@dataclass(frozen=True)
class Line:
    """One variant of one method in one setting, at its best stepsize, or at all of them if there is no best one."""

    algo: str
    form: str  # the options of the variant: ", gossip=twice"
    parts: list[tuple[dict[str, Any], pd.DataFrame]]  # tuned values, and the runs at them
    chosen: Chosen
    notes: list[str]  # the chosen values, or why there are none
    rules: list[str]


@figure(
    "compare",
    "Learning curves of the methods, by setting",
    "python bench/run.py -m algo=dsgd,dsgt topology=ring,complete",
    uses=("x", "metric", "tune_by"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    settings, ends, notes = _settings(results, request)
    differ = _differing(results, settings)
    columns = [_lines(results, runs, request, differ) for _, runs in settings]
    lines = [line for column in columns for line in column]
    look = styles({line.algo for line in lines}, results)
    looks: Looks = {}
    for line in lines:
        known = sum(algo == line.algo for algo, _ in looks)
        looks.setdefault((line.algo, line.form), variant(look[line.algo], known))
    shared = len({key["dataset"] for key, _ in settings}) == 1
    usual = [(judged_by(results, runs, request)[0], "grad_norm", "consensus") for _, runs in settings]
    names = [metrics(results, request.metrics, some) for some in usual]
    share: Any = {"sharey": "row" if shared else False, "sharex": "col"}
    figure, axes = panels(len(names[0]), len(settings), 1.4, look=look, **share)
    drawn, notes_of = [], dict[str, list[str]]()
    for column, (key, runs) in enumerate(settings):
        title = f"{name_of(key['dataset'])}, {key['topology']} graph{ends[column]}"
        notes_of.setdefault(title, []).extend(note for line in columns[column] for note in line.notes)
        rows = results.curves(runs[DRAWN])
        notes += [SELDOM.format(key["steps"])] if rows["step"].nunique() <= 2 else []
        x = request.x if request.x and rows[request.x].notna().any() else "step"  # on a stream there are no epochs
        for ax, metric in zip(axes[:, column], names[column], strict=True):
            ax.set_ylabel(metric_name(metric, results) if column == 0 or not shared else "")
            tables = _panel(ax, rows, columns[column], looks, x, metric, results)
            drawn += [with_columns(table, key) for table in tables]
        axes[-1, column].set_xlabel(metric_name(x, results))
        letter_panel(axes[0, column], title)
    _without_numbers(axes.flat)
    entries: dict[str, tuple[Style, list[dict[str, float | str]]]] = {}
    for line in lines:
        style = looks[line.algo, line.form]
        entries.setdefault(f"{style.label}{_in_words(line.form)}", (style, []))[1].append(
            setting_of(line.chosen, line.algo)
        )
    names_shown = {with_values(name, each, True): style for name, (style, each) in entries.items()}
    legend(figure, [legend_entry(style, name) for name, style in names_shown.items()])
    notes += [SLASHES] if any(" / " in name for name in names_shown) else []
    notes += [*_gathered(notes_of), *(rule for line in lines for rule in line.rules)]
    notes += dict.fromkeys(note for _, runs in settings for note in shown_values(results, runs))
    used = {run for line in lines for _, runs in line.parts for run in runs["run_id"]}
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, one_rule(notes))


def _settings(results: Results, request: FigureOptions) -> tuple[list[Setting], list[str], list[str]]:
    """Return the settings with most runs, the ends of their titles, and notes."""
    finals, notes = counted(results.finals, request.x or "step")
    everything = list(problems(results, finals))
    among = apart(everything)
    settings = sorted(everything, key=lambda item: (-len(item[1]), among.place(item[0])))[:MOST]
    notes += [f"drawn: the {MOST} settings with the most runs, of {len(everything)}"] if len(everything) > MOST else []
    ends, shared = among.side_by_side([key for key, _ in settings], also=("nodes", "steps"))
    notes += [
        *shared,
        *AFTER,
        *clock_note(results, request.x or "step", pd.concat([runs for _, runs in settings]), request.metrics),
    ]
    differ = _differing(results, settings)
    if sum(len(_forms(mine, differ[algo])) for _, runs in settings for algo, mine in runs.groupby("algo")) > MOST_LINES:
        notes.append("only the published form of the methods is drawn, since all variants would be too many lines")
        settings = [(key, _same_form(results, as_written(results, runs, request)[0])) for key, runs in settings]
    return settings, ends, notes


def _lines(results: Results, runs: pd.DataFrame, request: FigureOptions, differ: Mapping[str, list[str]]) -> list[Line]:
    """Return the lines of one setting, one for each variant of each method."""
    out = []
    for algo, style in styles(runs["algo"].unique(), results).items():
        for form, some in _forms(runs[runs["algo"] == algo], differ[algo]):
            best, chosen = at_best(results, some, request)
            name = f"{style.label}{_in_words(form)}"
            if best.empty:
                none = f"{name} has no {what_was_tuned(chosen)} that ended well for every seed; all its runs are drawn"
                out.append(Line(algo, form, _by_setting(results, some), chosen, [none], []))
                continue
            tuned: Chosen = {method: choice for method, choice in chosen.items() if choice is None or not choice.alone}
            rules = rule_in_words(results, some, tuned, request=request)
            choice = [words.replace(style.label, name, 1) for words in rules[:1]]
            out.append(Line(algo, form, [(columns_of(chosen, algo), best)], chosen, choice, rules[1:2]))
    return out


def _by_setting(results: Results, runs: pd.DataFrame) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """Split the runs of a method by their tuned values: runs with the same seed have no mean."""
    over = tuned_over(results, runs)
    groups = runs.groupby(over, dropna=False)
    return [({"eta": None, **dict(zip(over, values, strict=True))}, some) for values, some in groups]


def _panel(
    ax: Axes, rows: pd.DataFrame, lines: list[Line], looks: Looks, x: str, metric: str, results: Results
) -> Iterator[pd.DataFrame]:
    """Draw one metric of one setting, and yield the plotted numbers."""
    log = log_scale(ax, rows[metric], metric)
    for line in lines:
        style, after = looks[line.algo, line.form], 0 if metric in FROM_THE_FIRST_STEP else -1
        for values, runs in line.parts:
            table = curve(ax, results.curves(runs[DRAWN]), x, metric, style, after, log, results)
            tuned = {f"algo.{o}" if o == FORM else o: value for o, value in values.items()}
            yield with_columns(table, {"algo": line.algo, FORM: line.form.removeprefix(", "), **tuned})
    if log and not (rows[metric] > 0).any():
        ax.text(0.5, 0.5, ZEROS, ha="center", va="center", transform=ax.transAxes)


def _without_numbers(panels: Iterable[Axes]) -> None:
    """Remove the ticks of panels that have zeros only, unless they share them with a panel that needs them."""
    for ax in panels:
        together = ax.get_shared_y_axes().get_siblings(ax)
        if all(ZEROS in [text.get_text() for text in each.texts] for each in together):
            ax.set_yticks([])


def _gathered(notes_of: dict[str, list[str]]) -> list[str]:
    """Join the notes of each panel, and the panels with the same notes."""
    panels_of: dict[str, list[str]] = defaultdict(list)
    for title, words in notes_of.items():
        if words:
            panels_of["; ".join(words)].append(title)
    return [f"{' and '.join(titles)}: {words}" for words, titles in panels_of.items()]


def _in_words(form: str) -> str:
    """, fixed schedule"""
    return re.sub(r"\bschedule=(\w+)", r"\1 schedule", form)


def _same_form(results: Results, runs: pd.DataFrame) -> pd.DataFrame:
    """Give runs that lack an option the only value that their method has: a missing option makes no variant."""
    for option in (c for c in results.options if c in runs):
        known = runs.groupby("algo")[option]
        filled = runs[option].where(known.transform("nunique") != 1, known.transform("first"))
        runs = with_columns(runs, {option: filled})
    return runs


def _differing(results: Results, settings: Sequence[Setting]) -> dict[str, list[str]]:
    """Return the options of every method that differ between its drawn runs, in one panel or in several, and over which
    it was not tuned. An option that is missing in a whole panel does not differ there."""
    out: dict[str, list[str]] = {}
    everywhere = pd.concat([runs for _, runs in settings])
    for algo, mine in everywhere.groupby("algo"):
        parts = [runs[runs["algo"] == algo] for _, runs in settings]
        tuned = {option for part in parts for option in numbers_tuned(results, part)}
        known = [option for option in results.several_in(mine) if option not in tuned]
        inside = {option for option in known if any(part[option].nunique(dropna=False) > 1 for part in parts)}
        out[str(algo)] = [option for option in known if option in inside or mine[option].nunique() > 1]
    return out


def _forms(runs: pd.DataFrame, differ: list[str]) -> list[tuple[str, pd.DataFrame]]:
    """Split the runs of a method by these options; the label is empty if there are none."""
    if not differ:
        return [("", runs)]
    out = []
    for values, some in runs.groupby(differ, dropna=False, sort=False):
        known = [(c, value) for c, value in zip(differ, values, strict=True) if pd.notna(value)]
        short = [f", {c}={value:g}" if isinstance(value, float) else f", {c}={value}" for c, value in known]
        out.append(("".join(short), some))
    return out
