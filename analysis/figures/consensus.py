"""Disagreement and tracking, with what theory allows drawn in where it is known."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis.drawing.lines import curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import INK, PAGE, metric_name, styles, taller
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import as_written, in_words, metrics, problems, refuse_unless
from analysis.study.tuning import at_best, columns_of, rule_in_words, setting_of

MOST = 4
SHOWN = ("consensus", "tracking_error")


@figure("consensus", "Consensus and tracking error", "python bench/run.py -m algo=dnasa,dsgt topology=ring,complete")
def draw(results: Results, ask: Ask) -> Picture:
    shown = _graphs(results)
    look = styles(set().union(*(set(runs["algo"]) for _, runs in shown)), results)
    names = metrics(results.of(pd.concat([runs for _, runs in shown])), ask.metrics, SHOWN)
    width = max(3.35, PAGE * len(shown) / 3 if len(shown) < 3 else PAGE)
    figure, axes = panels(len(names), len(shown), 1.65 * taller(look), width, sharey="row", sharex="col")
    drawn, used, notes, settings = [], set(), [], defaultdict(list)
    bounded: set[str] = set()
    for column, (key, runs) in enumerate(shown):
        runs, said = as_written(results, runs, ask)
        best, chosen = at_best(results, runs, ask)
        notes += [*said, *rule_in_words(results, runs, chosen, f"{in_words(key)}: ", ask)]
        rows = results.curves(best)
        for ax, metric in zip(axes[:, column], names, strict=True):
            log = log_scale(ax, rows[metric], metric)
            for algo, style in look.items():
                table = curve(
                    ax, rows[rows["algo"] == algo], "step", metric, style, after=0, positive=log, results=results
                )
                drawn.append(table.assign(algo=algo, **columns_of(chosen, algo), **key))
            ax.set_ylabel(metric_name(metric, results) if column == 0 else "")
        for algo in look:
            settings[algo].append(setting_of(chosen, algo))
        axes[-1, column].set_xlabel("iterations")
        letter_panel(axes[0, column], f"{key['topology']}, ρ = {runs['rho'].iloc[0]:.3f}")
        used |= set(best["run_id"])
        rows = rows[rows["step"] > 0]
        if "consensus" in names and (known := rows.dropna(subset="consensus_bound")).size:
            bound = known.groupby("step")["consensus_bound"].max()
            axes[names.index("consensus"), column].plot(bound.index, bound, color=INK, lw=0.8, ls=":")
            line = {"step": bound.index, "x": bound.index, "mean": bound.to_numpy(), "metric": "consensus_bound"}
            drawn.append(pd.DataFrame({**line, **key}))
            over = rows["consensus"] / rows["consensus_bound"]
            notes.append(f"{key['topology']}: consensus at most {np.nanmax(over):.3g} of the bound")
            bounded |= set(known["algo"])
    title = "Consensus and tracking error" if names == list(SHOWN) else " and ".join(metric_name(m) for m in names)
    lines = []
    if bounded:
        title += ", with the sharp bound b_t², b⁺ = ρ (b + η_t)"
        lines = [
            Line2D([], [], color=INK, ls=":", label=f"bound for {', '.join(look[a].label for a in sorted(bounded))}")
        ]
    entries = [legend_entry(style, with_values(style.label, settings[algo])) for algo, style in look.items()]
    legend(figure, [*entries, *lines])
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, notes, title)


def _graphs(results: Results) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    """The dataset on most graphs where agreement takes time, with bounds where any were computed: a setting each."""
    finals = results.finals
    refuse_unless("consensus" in finals and bool(finals["consensus"].notna().any()), "no run has a consensus error")
    known = "consensus_bound" in finals and bool(finals["consensus_bound"].notna().any())
    families: dict[str, list[tuple[dict[str, Any], pd.DataFrame]]] = {}
    for key, runs in problems(results, finals):
        if runs["rho"].iloc[0] > 1e-9 and (not known or runs["consensus_bound"].notna().any()):
            families.setdefault(key["dataset"], []).append((key, runs))
    refuse_unless(bool(families), "on a complete graph there is nothing to see: one round makes all agree")
    settings = max(
        families.values(),
        key=lambda some: (len({key["topology"] for key, _ in some}), sum(len(runs) for _, runs in some)),
    )
    graphs: dict[str, tuple[dict[str, Any], pd.DataFrame]] = {}
    for key, runs in settings:
        if key["topology"] not in graphs or len(runs) > len(graphs[key["topology"]][1]):
            graphs[key["topology"]] = (key, runs)
    return sorted(graphs.values(), key=lambda item: item[1]["rho"].iloc[0])[:MOST]
