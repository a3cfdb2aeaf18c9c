"""Consensus and tracking error, with the theoretical bound if it is known."""

from collections import defaultdict

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from analysis.drawing.lines import DRAWN, curve
from analysis.drawing.panels import Picture, legend, legend_entry, letter_panel, log_scale, panels
from analysis.drawing.style import INK, Style, styles
from analysis.drawing.symbols import with_values
from analysis.figures import figure
from analysis.results.columns import with_columns
from analysis.results.labels import metric_name, name_of
from analysis.results.results import Results
from analysis.results.rho import mixing_of, rho_in_words, rho_text
from analysis.study.figure_options import FigureOptions
from analysis.study.select import as_written, first, metrics, problems, refuse_unless
from analysis.study.settings import WATCHED, Apart, Setting, apart
from analysis.study.tuning import at_best, columns_of, rule_in_words, setting_of

MOST = 4
FREE = ("topology", "nodes", "steps", *WATCHED)
"""Labels that may differ between panels; titles and notes state them."""
SHOWN = ("consensus", "tracking_error")
BOUND = "consensus_bound"


@figure(
    "consensus",
    "Consensus and tracking error",
    "python bench/run.py -m algo=dsgd,dsgt topology=ring,complete",
    uses=("metric", "tune_by"),
    along=FREE,
)
def draw(results: Results, request: FigureOptions) -> Picture:
    shown, among = _graphs(results)
    ends, notes = among.side_by_side([key for key, _ in shown], also=("nodes", "steps"))
    letters = {"nodes": "n", "steps": "T"}
    same = [f"{letter} = {shown[0][0][c]}" for c, letter in letters.items() if len({key[c] for key, _ in shown}) == 1]
    notes = [", ".join([name_of(shown[0][0]["dataset"]), *same]), *notes]
    look = styles(set().union(*(set(runs["algo"]) for _, runs in shown)), results)
    notes += rho_in_words(results, set().union(*(runs["run_id"] for _, runs in shown)))
    names = metrics(results.of(pd.concat([runs for _, runs in shown])), request.metrics, SHOWN)
    figure, axes = panels(len(names), len(shown), 1.65, look=look, sharey="row", sharex="col")
    drawn, used, bounded, settings = [], set(), set(), defaultdict(list)
    for column, (key, runs) in enumerate(shown):
        rho, network = runs["rho"].iloc[0], mixing_of(results, runs["run_id"].iloc[0])
        runs, omitted = as_written(results, runs, request)
        best, chosen = at_best(results, runs, request)
        notes += [*omitted, *rule_in_words(results, runs, chosen, f"{key['topology']} graph: ", request)]
        rows = results.curves(best[["algo", *DRAWN]])
        for ax, metric in zip(axes[:, column], names, strict=True):
            log = log_scale(ax, rows[metric], metric)
            for algo, style in look.items():
                table = curve(ax, rows[rows["algo"] == algo], "step", metric, style, 0, log, results)
                drawn.append(with_columns(table, {"algo": algo, **columns_of(chosen, algo), **key}))
            ax.set_ylabel(metric_name(metric, results) if column == 0 else "")
        for algo in look:
            settings[algo].append(setting_of(chosen, algo))
        axes[-1, column].set_xlabel("iterations")
        known = f", {rho_text(network, rho)}" if pd.notna(rho) else ""  # unknown for some networks with packet loss
        letter_panel(axes[0, column], f"{key['topology']} graph{ends[column]}{known}")
        used |= set(best["run_id"])
        if "consensus" in names:
            bounds, shares = _draw_bounds(axes[names.index("consensus"), column], rows, look)
            bounded |= {*bounds}
            drawn += [with_columns(table, {"algo": algo, **key}) for algo, table in bounds.items()]
            notes += [f"{key['topology']} graph: {sentence}" for sentence in shares]
    table = pd.concat(drawn, ignore_index=True)
    refuse_unless("metric" in table, f"no evaluation after the start has the metric {' or '.join(map(repr, names))}")
    if "tracking_error" in names:
        lacks = {*table["algo"]} - {*table.loc[table["metric"] == "tracking_error", "algo"]}
        lacking = [style.label for algo, style in look.items() if algo in lacks]
        notes += [f"without a tracker, and so without a tracking error: {', '.join(lacking)}"] if lacking else []
    title = "Consensus and tracking error" if names == list(SHOWN) else " and ".join(metric_name(m) for m in names)
    entries = [legend_entry(style, with_values(style.label, settings[algo])) for algo, style in look.items()]
    if of := [style for algo, style in look.items() if algo in bounded]:
        title += ", with the upper bound b_t² on the consensus error"
        notes.append("upper bound: b_(t+1) = ρ (b_t + η_t), where b_0² is the initial consensus error")
        named = f"upper bound for {', '.join(style.label for style in of)}" + ", each in its color" * (len(of) > 1)
        entries.append(Line2D([], [], color=of[0].color if len(of) == 1 else INK, lw=0.8, ls="--", label=named))
    legend(figure, entries)
    return Picture(figure, table, used, notes, title)


def _draw_bounds(ax: Axes, rows: pd.DataFrame, look: dict[str, Style]) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Draw the bound of every method that has one; return the plotted numbers by method, and notes."""
    drawn, notes = dict[str, pd.DataFrame](), list[str]()
    if BOUND not in rows:
        return drawn, notes
    for algo, mine in rows[rows["step"] > 0].dropna(subset=BOUND).groupby("algo"):
        bounds = mine.pivot(index="step", columns="run_id", values=BOUND)
        different = bounds.T.drop_duplicates().T  # seeds differ only if each draws its own graph
        ax.plot(bounds.index, different, color=look[algo].color, lw=0.8, ls="--", marker="")
        ends = {"mean": bounds.mean(axis=1), "low": bounds.min(axis=1), "high": bounds.max(axis=1)}
        line = {"step": bounds.index, "x": bounds.index, **ends, "runs": bounds.count(axis=1)}
        drawn[str(algo)] = pd.DataFrame({**line, "metric": BOUND})
        part = (mine["consensus"] / mine[BOUND]).max()
        notes.append(f"the consensus error of {look[algo].label} is at most {part:.3g} times its bound")
    return drawn, notes


def _graphs(results: Results) -> tuple[list[Setting], Apart]:
    """Return one setting per graph of the problem with most graphs other than the complete one, with bounds if any run
    has them, and the labels that distinguish all settings."""
    finals = results.finals
    refuse_unless("consensus" in finals and bool(finals["consensus"].notna().any()), "no run has a consensus error")
    known = BOUND in finals and bool(finals[BOUND].notna().any())
    everything = list(problems(results, finals))
    among = apart(everything)
    families: dict[str, list[Setting]] = {}
    for key, runs in everything:
        if not runs["rho"].iloc[0] <= 1e-9 and (not known or runs[BOUND].notna().any()):
            family = {c: v for c, v in key.items() if c.partition(".")[0] not in FREE}
            families.setdefault(str(family), []).append((key, runs))
    refuse_unless(bool(families), "all runs are on a complete graph, where one round reaches consensus")
    most = max(map(_size, families.values()))
    equals = [some for some in families.values() if _size(some) == most]
    settings = min(equals, key=lambda some: min(among.place(key) for key, _ in some))
    names = dict.fromkeys(key["topology"] for key, _ in settings)
    graphs = [first([one for one in settings if one[0]["topology"] == name], among) for name in names]
    return sorted(graphs, key=lambda item: item[1]["rho"].fillna(1).iloc[0])[:MOST], among


def _size(family: list[Setting]) -> tuple[int, int]:
    return len({key["topology"] for key, _ in family}), sum(len(runs) for _, runs in family)
