"""Figure 4: the graphs and their ρ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyArrowPatch

from analysis.drawing.palette import COLORS
from analysis.drawing.panels import Picture, panels
from analysis.drawing.style import COLUMN, INK, PAGE
from analysis.figures import figure
from analysis.results.results import Results
from analysis.results.rho import rho_in_words, rho_text
from analysis.study.figure_options import FigureOptions
from analysis.study.select import refuse_unless
from bench.network.drawing import Graph, edges_of, positions

PAPER = ("ring", "random", "ladder", "complete")
MOST = 12


@figure(
    "graphs",
    "The communication graphs",
    "python bench/run.py -m topology=ring,random,ladder,complete",
    uses=(),
    along=None,
)
def draw(results: Results, request: FigureOptions) -> Picture:
    unlisted: set[str] = set()
    looked: dict[int, bool] = {}

    def listed(mixing: dict[str, Any]) -> bool:
        """True if a picture is possible. Thousands of runs share one record of their network, so check it once."""
        if id(mixing) not in looked:
            looked[id(mixing)] = {"rho", "hash"} <= mixing.keys() and edges_of(mixing) is not None
        return looked[id(mixing)]

    found: dict[tuple[Any, ...], tuple[str, dict[str, Any], set[str]]] = {}
    for run, topology in zip(results.runs.get("run_id", []), results.runs.get("topology", []), strict=True):
        mixing = results.facts.get(run, {}).get("mixing")
        if mixing and "edges_by" in mixing:
            unlisted.add(f"{topology} of {mixing.get('nodes')} nodes")
        if mixing and listed(mixing):
            # a network drawn in each round has one distribution for all seeds
            key = (topology, mixing["nodes"], mixing["rho"]) if mixing.get("drawn") else (mixing["hash"],)
            known = found.setdefault(key, (topology, mixing, set()))
            known[2].add(run)
            if mixing.get("period") is not None and known[1].get("period") is None:  # prefer one without packet loss
                found[key] = topology, mixing, known[2]
    refuse_unless(bool(found), "no run records the edges of its graph")
    graphs = sorted(found.values(), key=_place)
    rest = ", ".join(f"{name} (n = {mixing['nodes']})" for name, mixing, _ in graphs[MOST:])
    notes = [f"drawn: {MOST} of {len(graphs)} graphs, without {rest}"] if rest else []
    graphs = graphs[:MOST]
    notes += [*rho_in_words(results, set().union(*(runs for _, _, runs in graphs))), "n: number of nodes"]
    if large := sorted(unlisted):
        notes.append(f"not drawn, since the results do not record the edges of such large graphs: {', '.join(large)}")
    if any(mixing.get("drawn") for _, mixing, _ in graphs):
        notes.append("of networks that are random in each round, the figure shows the first round of one run")
    columns = min(4, len(graphs))
    width = PAGE if columns > 2 else COLUMN
    figure, axes = panels(-(-len(graphs) // columns), columns, width / columns, width)
    for ax in axes.flat:
        ax.set_axis_off()
    data = []
    for ax, (name, mixing, runs) in zip(axes.flat, graphs, strict=False):
        edges = edges_of(mixing) or []
        graph = Graph(name, mixing["nodes"], edges, bool(mixing.get("directed")), bool(mixing.get("drawn")))
        places = positions(graph)
        _edges(ax, graph, places)
        ax.scatter(*places.T, s=42, color=[COLORS[1]], zorder=2, edgecolor="white", lw=0.6)
        ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.12, 1.12))
        alike = [mine for other, beside, mine in graphs if (other, beside["nodes"]) == (name, mixing["nodes"])]
        title = f"{name}, n = {mixing['nodes']}{', round 0' if graph.drawn else ''}"
        ax.set_title("\n".join(filter(None, [title, _options(results, runs, alike), _rho(mixing)])))
        data.append({"topology": name, **{k: mixing.get(k) for k in ("nodes", "edges", "diameter", "rho", "hash")}})
    return Picture(figure, pd.DataFrame(data), set().union(*(runs for _, _, runs in graphs)), notes)


def _options(results: Results, runs: set[str], alike: list[set[str]]) -> str:
    """Options that distinguish a graph from others of the same name and size, for example: weights = metropolis."""
    table = results.runs.set_index("run_id")
    columns = [c for c in table if c.startswith("topology.")]
    values = [
        {c: sorted({str(v) for v in table.loc[list(some), c].astype(object).fillna("usual")}) for c in columns}
        for some in alike
    ]
    here = values[alike.index(runs)]
    differ = [c for c in columns if len(here[c]) == 1 and any(other[c] != here[c] for other in values)]
    return ", ".join(f"{c.removeprefix('topology.')} = {here[c][0]}" for c in differ)


def _place(item: tuple[str, dict[str, Any], set[str]]) -> tuple[Any, ...]:
    name, mixing, _ = item
    return PAPER.index(name) if name in PAPER else len(PAPER), name, mixing["nodes"], mixing["hash"]


def _edges(ax: Axes, graph: Graph, places: np.ndarray) -> None:
    if not graph.directed:
        ax.add_collection(LineCollection([places[list(edge)] for edge in graph.edges], colors=INK, lw=0.7, alpha=0.7))
        return
    for i, j in graph.edges:
        look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 7, "shrinkA": 0, "shrinkB": 3.4, "lw": 0.7}
        ax.add_patch(FancyArrowPatch(places[i], places[j], color=INK, alpha=0.7, zorder=1, **look))


def _rho(mixing: dict[str, Any]) -> str:
    if mixing["rho"] is None:
        return "ρ unknown"
    meaning = str(mixing.get("rho_is", ""))
    loss = ", with packet loss" if not mixing.get("static", True) and "E[W²]" in meaning else ""
    return f"{rho_text(mixing, mixing['rho'])}{loss}"
