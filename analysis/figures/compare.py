"""A sensible picture of any sweep whatsoever."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.choose import as_written, at_best, problems, rule_in_words
from analysis.draw import Picture, curve, entry, legend, letter, panels
from analysis.figures import Ask
from analysis.results import Results
from analysis.statistics import score
from analysis.style import METRICS, PAGE, Style, name_of, styles

TITLE = "Everything side by side"
COMMAND = "python bench/run.py -m algo=dnasa,dsgt topology=ring,complete"
MOST, MOST_LINES = 4, 16
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def draw(results: Results, ask: Ask) -> Picture:
    finals = results.finals
    settings = sorted(problems(results, finals), key=lambda item: -len(item[1]))
    notes = [f"the {MOST} settings with most runs, of {len(settings)}"] if len(settings) > MOST else []
    settings = settings[:MOST]
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)))
    shared = len({key["dataset"] for key, _ in settings}) == 1
    width = PAGE if len(settings) > 2 else 2.3 * len(settings) + 1.2
    figure, axes = panels(3, len(settings), 1.4, max(width, 3.35), sharey="row" if shared else False)
    entries: dict[str, tuple[Style, Any]] = {}
    drawn, used = [], set()
    if sum(len(_variants(results, mine)) for _, runs in settings for _, mine in runs.groupby("algo")) > MOST_LINES:
        notes.append("methods as written: with all their variants there would be too many lines")
        settings = [(key, as_written(results, runs)[0]) for key, runs in settings]
    for column, (key, runs) in enumerate(settings):
        title = _title(key, [other for other, _ in settings])
        metrics = (score(runs)[0], "grad_norm", "consensus")
        for algo in (name for name in look if name in set(runs["algo"])):
            for number, (label, some) in enumerate(_variants(results, runs[runs["algo"] == algo])):
                best, chosen = at_best(some)
                tuned = {name: choice for name, choice in chosen.items() if choice is None or len(choice.grid) > 1}
                notes += rule_in_words(some, tuned, f"{title}{label}: ")
                style, dash = look[algo], DASHES[number % len(DASHES)] if label else None
                entries[f"{style.label}{label}"] = (style, dash)
                rows = results.curves(best)
                for ax, metric in zip(axes[:, column], metrics, strict=True):
                    accuracy = metric == "test_accuracy"
                    after = 0 if accuracy else -1
                    table = curve(ax, rows, "step", metric, style, dash, after=after, positive=not accuracy)
                    drawn.append(table.assign(algo=algo, variant=label, **key))
                used |= set(some["run_id"])
        for ax, metric in zip(axes[:, column], metrics, strict=True):
            ax.set(yscale="linear" if metric == "test_accuracy" else "log", xlabel="")
            ax.set_ylabel(METRICS[metric] if column == 0 or not shared else "")
        axes[2, column].set_xlabel("iterations")
        if not axes[2, column].lines:
            axes[2, column].text(
                0.5, 0.5, "0: all nodes agree", ha="center", va="center", transform=axes[2, column].transAxes
            )
        letter(axes[0, column], title)
    legend(figure, [_entry(label, style, dash) for label, (style, dash) in entries.items()], 4)
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, list(dict.fromkeys(notes)))


def _variants(results: Results, runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """One method's runs by its options other than the stepsize; an empty label where they do not differ."""
    differ = [c for c in results.options if c != "eta" and c in runs and runs[c].nunique(dropna=False) > 1]
    if not differ:
        return [("", runs)]
    groups = runs.groupby(differ, dropna=False, sort=False)
    return [
        (", " + ", ".join(f"{c}={v}" for c, v in zip(differ, values, strict=True)), some) for values, some in groups
    ]


def _title(key: dict[str, Any], keys: list[dict[str, Any]]) -> str:
    """The dataset and the graph, and what else tells the settings apart."""
    title = f"{name_of(key['dataset'])}, {key['topology']}"
    keys = [other for other in keys if (other["dataset"], other["topology"]) == (key["dataset"], key["topology"])]
    differ = [c for c in key if c not in ("dataset", "topology") and len({str(other.get(c)) for other in keys}) > 1]
    return title + "".join(f", {c.rpartition('.')[2]} {key[c]}" for c in differ[:2] if pd.notna(key[c]))


def _entry(label: str, style: Style, dash: Any) -> Any:
    made = entry(style, label)
    if dash is not None:
        made.set_linestyle(dash)
    return made
