"""Figure 4: the graphs, with their ρ."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.collections import LineCollection

from analysis.drawing.panels import Picture, panels
from analysis.drawing.style import INK, PAGE, PALETTE
from analysis.figures import figure
from analysis.results.results import Results
from analysis.study.ask import Ask
from analysis.study.select import refuse_unless
from bench.network.drawing import Graph, positions

PAPER = ("ring", "random", "ladder", "complete")
MOST = 12


@figure("graphs", "The graphs and their ρ", "python bench/run.py -m topology=ring,random,ladder,complete")
def draw(results: Results, ask: Ask) -> Picture:
    found: dict[str, tuple[str, dict[str, Any], set[str]]] = {}
    for run, topology in zip(results.runs.get("run_id", []), results.runs.get("topology", []), strict=True):
        mixing = results.facts.get(run, {}).get("mixing")
        if mixing and "edge_list" in mixing:
            found.setdefault(mixing["hash"], (topology, mixing, set()))[2].add(run)
    refuse_unless(bool(found), "no run says which graph it used")
    graphs = sorted(found.values(), key=_place)
    notes = [f"the first {MOST} of {len(graphs)} graphs"] if len(graphs) > MOST else []
    graphs = graphs[:MOST]
    columns = min(4, len(graphs))
    width = PAGE * columns / 4
    figure, axes = panels(-(-len(graphs) // columns), columns, width / columns, width)
    for ax in axes.flat:
        ax.set_axis_off()
    data = []
    for ax, (name, mixing, _) in zip(axes.flat, graphs, strict=False):
        graph = Graph(name, mixing["nodes"], [(i, j) for i, j in mixing["edge_list"]])
        places = positions(graph)
        ax.add_collection(LineCollection([places[list(edge)] for edge in graph.edges], colors=INK, lw=0.7, alpha=0.7))
        ax.scatter(*places.T, s=42, color=[PALETTE[0]], zorder=2, edgecolor="white", lw=0.6)
        ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.12, 1.12))
        word = "second |λ|" if mixing.get("biased") else "ρ"
        ax.set_title(f"{name}, n = {mixing['nodes']}\n{word} = {max(mixing['rho'], 0):.3f}")
        data.append({"topology": name, **{k: mixing.get(k) for k in ("nodes", "edges", "diameter", "rho", "hash")}})
    return Picture(figure, pd.DataFrame(data), set().union(*(runs for _, _, runs in graphs)), notes)


def _place(item: tuple[str, dict[str, Any], set[str]]) -> tuple[Any, ...]:
    name, mixing, _ = item
    return PAPER.index(name) if name in PAPER else len(PAPER), name, mixing["nodes"], mixing["hash"]
