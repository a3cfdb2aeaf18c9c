"""Figure 1: errors with more nodes, and the exponents of n and T compared with theory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from analysis.drawing.bars import draw_with_error_bars
from analysis.drawing.lines import curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, panels
from analysis.drawing.style import INK, Style, styles
from analysis.figures import figure
from analysis.results.errors import NoData
from analysis.results.labels import METRICS, method_name
from analysis.results.results import Results
from analysis.study.figure_options import FigureOptions
from analysis.study.select import what_else
from analysis.study.statistics import slope
from reproduction.study.families import speedup_runs, stepsizes_in_words

THEORY = {("dnasa", "nodes"): -0.25, ("dnasa", "steps"): -0.25, ("dsgt", "steps"): -0.25}
"""Upper bounds on the exponents of the mean gradient norm over all steps, fixed schedule. For D-SGT the theory bounds
the root of the mean square, which is at least the mean."""

LETTERS = {"nodes": "n", "steps": "T"}
FIXED = {"nodes": "steps", "steps": "nodes"}
"""The number that is the same in all runs of a fit."""
LINEAR = "a bound (nT)^(−1/4) on the gradient norm is a linear speed-up: n nodes need 1/n of the iterations of one node"
FITTED = "the exponents are those of the mean of ‖∇f(x̄)‖ over all steps"


@figure(
    "speedup",
    "Linear speed-up: a method with more nodes",
    "python bench/run.py experiment=paper/speedup",
    uses=("reference",),
    along=("nodes", "steps"),
)
def draw(results: Results, request: FigureOptions) -> Picture:
    algo, finals = _leading(results, request.reference)
    mine = finals[finals["algo"] == algo]
    style = styles([algo], results)[algo]
    shades = _shades(sorted(mine["nodes"].unique()), style)
    schedules = [name for name in ("fixed", "diminishing", "constant") if name in set(mine["schedule"])]
    rates = exponents(finals)
    figure, axes = panels(len(schedules), 3 if len(rates) else 2, 2.0)
    drawn, used = [], set()
    for row, schedule in zip(axes, schedules, strict=True):
        longest = mine[mine["schedule"] == schedule]
        longest = longest[longest["steps"] == longest["steps"].max()]
        rows = results.curves(longest)
        used |= set(longest["run_id"])
        for ax, metric in zip(row, ("test_loss", "grad_norm"), strict=False):
            for nodes, shade in shades.items():
                table = curve(ax, rows[rows["nodes"] == nodes], "step", metric, shade)
                drawn.append(table.assign(nodes=nodes, schedule=schedule))
            ax.set(yscale="log", xlabel="iterations", ylabel="")
            letter_panel(ax, f"{METRICS[metric]}, {schedule} schedule")
    notes = [*what_else(results, finals), *stepsizes_in_words(results, finals)]
    notes += [LINEAR, FITTED] if len(rates) else [LINEAR]
    for ax, key in zip(axes[:, 2] if len(rates) else [], ("nodes", "steps"), strict=False):
        used |= _fits(ax, finals, key, rates, drawn, styles(finals["algo"].unique(), results))
    notes += [f"{method_name(rate['algo'], results)}, {_in_words(rate)}" for rate in rates.to_dict("records")]
    notes += ["brackets: 95 % confidence intervals over the seeds (Student's t)"] if rates["low"].notna().any() else []
    legend(figure, [legend_entry(shade, f"{style.label}, {shade.label}", marker=False) for shade in shades.values()])
    title = f"Linear speed-up: {style.label} with more nodes"
    title += ", and the fitted exponents of n and T" if len(rates) else ""
    return Picture(figure, pd.concat([*drawn, rates], ignore_index=True), used, notes, title)


def _in_words(rate: dict[str, Any]) -> str:
    letter = LETTERS[rate["of"]]
    where = f"fitted exponent of {letter} at {rate['at']}"
    if not np.isfinite(rate["exponent"]):
        return f"{where}: none, since a run diverged or a seed lacks a run"
    promised = f"; theory: at most of order {letter}^(−1/4)" if np.isfinite(rate["theory"]) else ""
    span = f" [{rate['low']:+.3f}, {rate['high']:+.3f}]" if np.isfinite(rate["low"]) else ""
    return f"{where}: {rate['exponent']:+.3f}{span}{promised}"


def _at(number: str, value: int) -> str:
    """For example n = 4."""
    return f"{LETTERS[number]} = {value}"


def _leading(results: Results, wanted: str | None) -> tuple[str, pd.DataFrame]:
    """The method to show: the wanted one, else D-NASA, else any method with several numbers of nodes."""
    order = styles(results.finals["algo"].unique(), results)
    for algo in [wanted] if wanted else order:
        try:
            return algo, speedup_runs(results, algo)
        except NoData:
            continue
    who = f"{wanted} has no runs" if wanted else "no method has runs"
    raise NoData(f"{who} on one problem with at least two numbers of nodes")


def exponents(finals: pd.DataFrame) -> pd.DataFrame:
    """Exponents of n at the longest T, and of T at every n, for the fixed schedule."""
    fixed = finals[finals["schedule"] == "fixed"]
    fixed = fixed.assign(grad_norm_mean=fixed["grad_norm_mean"].where(fixed["state"] == "done"))
    out: list[tuple[Any, ...]] = []

    def add(algo: str, of: str, at: str, runs: pd.DataFrame) -> None:
        if runs[of].nunique() >= 2:
            fit = slope(runs[of], runs["grad_norm_mean"], runs["seed"])
            out.append((algo, of, at, fit.value, fit.low, fit.high, fit.count, THEORY.get((algo, of), np.nan)))

    for algo, runs in fixed.groupby("algo"):
        longest = runs["steps"].max()
        add(str(algo), "nodes", _at("steps", longest), runs[runs["steps"] == longest])
        for nodes, some in runs.groupby("nodes"):
            add(str(algo), "steps", _at("nodes", nodes), some)
    return pd.DataFrame(out, columns=["algo", "of", "at", "exponent", "low", "high", "seeds", "theory"])


def _fits(
    ax: Axes, finals: pd.DataFrame, key: str, rates: pd.DataFrame, drawn: list[pd.DataFrame], look: dict[str, Style]
) -> set[str]:
    """Mean gradient norm against n or T on log axes, with the slope of the theory through the first point.

    Against T, the runs are those of the last fit: the largest n with several T.
    """
    fixed = finals[finals["schedule"] == "fixed"]
    used: set[str] = set()
    ax.set(xscale="log", yscale="log", xlabel="number of nodes n" if key == "nodes" else "number of steps T", ylabel="")
    for algo, style in look.items():
        mine = fixed[fixed["algo"] == algo]
        fits = rates[(rates["algo"] == algo) & (rates["of"] == key)]
        if fits.empty:
            continue
        fit, other = fits.iloc[-1], FIXED[key]
        mine = mine[[_at(other, value) == fit["at"] for value in mine[other]]]
        at = "" if key == "nodes" else f", {fit['at']}"
        slope_of = f"slope {fit['exponent']:+.3f}" if np.isfinite(fit["exponent"]) else "no slope"
        label = f"{style.label}{at}: {slope_of}".replace("slope -", "slope −")
        table = draw_with_error_bars(ax, mine, key, "grad_norm_mean", style, capsize=1.5, label=label)
        known = table.dropna(subset="mean")
        if (algo, key) in THEORY and algo == "dnasa" and len(known):
            line = known["mean"].iloc[0] * (table[key] / known[key].iloc[0]) ** THEORY[algo, key]
            ax.plot(table[key], line, color=INK, lw=0.8, ls=":", label=f"theory: slope −{-THEORY[algo, key]:.2f}")
        drawn.append(table.rename(columns={key: "x"}).assign(setting=key, algo=algo, metric="grad_norm_mean"))
        used |= set(mine["run_id"])
    ticks = sorted(fixed[key].unique())
    ax.set_xticks(ticks, [f"{tick}" for tick in ticks])
    ax.minorticks_off()
    letter_panel(ax, f"{METRICS['grad_norm_mean']}, fixed schedule")
    if ax.get_legend_handles_labels()[0]:
        low, high = ax.get_ylim()
        ax.set_ylim(low / (high / low) ** 1.1, high)  # space for the legend below the lines
        ax.legend(handlelength=1.8, loc="lower left")
    return used


def _shades(counts: list[int], style: Style) -> dict[int, Style]:
    """The method's color, darker with more nodes."""
    base = np.array(style.color)
    out = {}
    for place, nodes in enumerate(counts):
        weight = (place + 1) / len(counts)
        color = tuple(weight * base + (1 - weight) * (0.35 * base + 0.6)) if weight < 1 else tuple(0.75 * base)
        out[nodes] = Style(f"n = {nodes}", color, "", ((0, (1, 1)), (0, (4, 1.6)), "-")[min(place, 2)])
    return out
