"""A sensible picture of any sweep whatsoever."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.choose import at_best, problems, rule_in_words
from analysis.draw import Picture, curve, entry, legend, letter, panels
from analysis.figures import Ask
from analysis.results import Results
from analysis.statistics import score
from analysis.style import METRICS, PAGE, Style, name_of, styles

TITLE = "Everything side by side"
COMMAND = "python bench/run.py -m algo=dnasa,dsgt topology=ring,complete"
MOST = 4
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def draw(results: Results, ask: Ask) -> Picture:
    finals = results.finals
    settings = sorted(problems(results, finals), key=lambda item: -len(item[1]))
    notes = [f"the {MOST} settings with most runs, of {len(settings)}"] if len(settings) > MOST else []
    settings = settings[:MOST]
    differ = (
        [c for c in settings[0][0] if len({str(key.get(c)) for key, _ in settings}) > 1] if len(settings) > 1 else []
    )
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)))
    width = PAGE if len(settings) > 2 else 2.3 * len(settings) + 1.2
    figure, axes = panels(3, len(settings), 1.4, max(width, 3.35), sharey="row")
    entries: dict[str, tuple[Style, Any]] = {}
    drawn, used = [], set()
    for column, (key, runs) in enumerate(settings):
        metric = score(runs)[0]
        for algo, mine in runs.groupby("algo", sort=False):
            for number, (label, some) in enumerate(_variants(results, mine)):
                best, chosen = at_best(some)
                notes += rule_in_words(
                    some,
                    {a: b for a, b in chosen.items() if b is None or len(b.grid) > 1},
                    f"{_title(key, differ)}{label}: ",
                )
                style, dash = look[str(algo)], DASHES[number % len(DASHES)] if label else None
                rows = results.curves(best)
                rows = rows[rows["step"] > 0] if len(rows) > len(best) else rows
                entries[f"{style.label}{label}"] = (style, dash)
                for ax, name in zip(axes[:, column], (metric, "grad_norm", "consensus"), strict=True):
                    positive = rows if name == "test_accuracy" else rows[rows[name] > 0]
                    drawn.append(curve(ax, positive, "step", name, style, dash).assign(algo=algo, variant=label, **key))
                    ax.set(yscale="linear" if name == "test_accuracy" else "log")
                    ax.set_ylabel(METRICS[name].replace(" (1/n)", "\n(1/n)") if column == 0 else "")
                used |= set(some["run_id"])
        axes[2, column].set_xlabel("iterations")
        letter(axes[0, column], _title(key, differ) or name_of(key["dataset"]))
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


def _title(key: dict[str, Any], differ: list[str]) -> str:
    short = [c for c in differ if not any(c.startswith(f"{other}.") for other in differ)]
    return ", ".join(str(key[c]) if c in ("topology", "dataset") else f"{c} {key[c]}" for c in short[:3])


def _entry(label: str, style: Style, dash: Any) -> Any:
    made = entry(style, label)
    if dash is not None:
        made.set_linestyle(dash)
    return made
