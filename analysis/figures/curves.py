"""Figures 6 and 7: how the best of every method gets there."""

from __future__ import annotations

import pandas as pd

from analysis.choose import as_written, at_best, need, one_per_dataset, rule_in_words
from analysis.draw import Picture, curve, entry, legend, letter, log_ticks, panels
from analysis.figures import Ask
from analysis.results import Results
from analysis.style import METRICS, PAGE, name_of, styles

TITLE = "Loss, accuracy and stationarity on the way, baselines at their best stepsize"
COMMAND = "python bench/run.py experiment=paper/curves_a9a"
SHOWN = ("train_loss", "test_loss", "test_accuracy", "stationarity")


def draw(results: Results, ask: Ask) -> Picture:
    finals = results.finals
    finals = finals[finals["test_accuracy"].notna() | (finals["state"] == "diverged")]
    finals = finals[finals.groupby("dataset")["test_accuracy"].transform("count") > 0]
    need(not finals.empty, "no run has test accuracies")
    settings, notes = one_per_dataset(results, finals)
    look = styles(set().union(*(set(runs["algo"]) for _, runs in settings)))
    figure, axes = panels(len(settings), 4, 1.55, PAGE)
    drawn, used = [], set()
    for row, (key, runs) in zip(axes, settings, strict=True):
        runs, said = as_written(results, runs)
        best, chosen = at_best(runs)
        notes += [*said, *rule_in_words(runs, chosen, f"{name_of(key['dataset'])}: ")]
        rows = results.curves(best)
        x = ask.x if ask.x != "epoch" or rows["epoch"].notna().any() else "step"
        if ask.x == "wall_s":
            notes += _one_machine(results, best)
        for ax, metric in zip(row, SHOWN, strict=True):
            for algo, style in look.items():
                table = curve(ax, rows[rows["algo"] == algo], x, metric, style)
                drawn.append(table.assign(algo=algo, **key))
            ax.set(xlabel=METRICS[x], ylabel="", yscale="linear" if metric == "test_accuracy" else "log")
            letter(ax, METRICS[metric])
            if metric != "test_accuracy":
                log_ticks(ax.yaxis)
        _away_from_the_start(row[SHOWN.index("test_accuracy")], rows)
        row[0].set_ylabel(f"{name_of(key['dataset'])}, {key['topology']}", fontsize=8)
        used |= set(best["run_id"])
    legend(figure, [entry(style) for style in look.values()])
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, list(dict.fromkeys(notes)))


def _away_from_the_start(ax: object, rows: pd.DataFrame) -> None:
    """The accuracies after the first evaluations: the start would flatten all differences."""
    later = rows[rows["step"] >= rows["step"].max() / 20]["test_accuracy"].dropna()
    if len(later):
        low, high = later.min(), later.max()
        margin = 0.05 * max(high - low, 0.5)
        ax.set_ylim(low - margin, high + margin)  # type: ignore[attr-defined]


def _one_machine(results: Results, finals: pd.DataFrame) -> list[str]:
    """Seconds only compare between runs of one engine, device and number of ranks."""
    made = {
        tuple(str(results.facts.get(run, {}).get(k)) for k in ("engine", "device", "ranks", "replicas", "host"))
        for run in finals["run_id"]
    }
    return ["seconds of runs made in different ways or places: they do not compare"] if len(made) > 1 else []
