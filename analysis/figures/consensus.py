"""Disagreement and tracking, with what D-NASA's theory allows drawn in."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from analysis.choose import as_written, at_best, in_words, need, problems, rule_in_words
from analysis.draw import Picture, curve, entry, legend, letter, panels
from analysis.figures import Ask
from analysis.results import Results
from analysis.style import INK, METRICS, PAGE, styles

TITLE = "Consensus and tracking error, with the sharp bound b_t², b⁺ = ρ (b + η_t)"
COMMAND = "python bench/run.py -m algo=dnasa,dsgt topology=ring,complete"
MOST = 4


def draw(results: Results, ask: Ask) -> Picture:
    finals = results.finals
    need("consensus_bound" in finals and bool(finals["consensus_bound"].notna().any()), "no run has a consensus bound")
    families: dict[str, list[tuple[dict, pd.DataFrame]]] = {}
    for key, runs in problems(results, finals):
        if runs["consensus_bound"].notna().any() and runs["rho"].iloc[0] > 1e-9:
            families.setdefault(key["dataset"], []).append((key, runs))
    need(bool(families), "on a complete graph there is nothing to see: one round makes all agree")
    settings = max(
        families.values(),
        key=lambda some: (len({key["topology"] for key, _ in some}), sum(len(runs) for _, runs in some)),
    )
    graphs: dict[str, tuple[dict, pd.DataFrame]] = {}
    for key, runs in settings:
        if key["topology"] not in graphs or len(runs) > len(graphs[key["topology"]][1]):
            graphs[key["topology"]] = (key, runs)
    shown = sorted(graphs.values(), key=lambda item: item[1]["rho"].iloc[0])[:MOST]
    look = styles(set().union(*(set(runs["algo"]) for _, runs in shown)))
    figure, axes = panels(
        2, len(shown), 1.65, max(3.35, PAGE * len(shown) / 3 if len(shown) < 3 else PAGE), sharey="row"
    )
    drawn, used, notes = [], set(), []
    for column, (key, runs) in enumerate(shown):
        runs, said = as_written(results, runs)
        best, chosen = at_best(runs)
        notes += [*said, *rule_in_words(runs, chosen, f"{in_words(key)}: ")]
        rows = results.curves(best)
        for ax, metric in zip(axes[:, column], ("consensus", "tracking_error"), strict=True):
            for algo, style in look.items():
                mine = rows[rows["algo"] == algo]
                drawn.append(curve(ax, mine, "step", metric, style, after=0, positive=True).assign(algo=algo, **key))
            ax.set(
                yscale="log",
                xlabel="iterations" if metric != "consensus" else "",
                ylabel=METRICS[metric] if column == 0 else "",
            )
        rows = rows[rows["step"] > 0]
        bound = rows.dropna(subset="consensus_bound").groupby("step")["consensus_bound"].max()
        axes[0, column].plot(bound.index, bound, color=INK, lw=0.8, ls=":")
        drawn.append(
            pd.DataFrame(
                {"step": bound.index, "x": bound.index, "mean": bound.to_numpy(), "metric": "consensus_bound", **key}
            )
        )
        letter(axes[0, column], f"{key['topology']}, ρ = {runs['rho'].iloc[0]:.3f}")
        used |= set(best["run_id"])
        over = rows["consensus"] / rows["consensus_bound"]
        notes.append(f"{key['topology']}: consensus at most {np.nanmax(over):.3g} of the bound")
    legend(
        figure,
        [*(entry(style) for style in look.values()), Line2D([], [], color=INK, ls=":", label="bound for D-NASA")],
    )
    return Picture(figure, pd.concat(drawn, ignore_index=True), used, list(dict.fromkeys(notes)))
