"""Drawings of graphs as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from bench.network.mixing import Mixing

DRAWN = 64
"""The largest number of nodes for which a layout is computed; larger graphs are drawn on a circle."""
LARGEST = 100_000
"""The largest number of nodes or edges that are read from a manifest."""


@dataclass(frozen=True)
class Graph:
    """A graph from the manifest of a run, with the attributes of ``Mixing`` that a drawing needs."""

    name: str
    nodes: int
    edges: list[tuple[int, int]]
    directed: bool = False
    drawn: bool = False  # in each round; these are the edges of one round


def edges_of(mixing: Mapping[str, Any]) -> list[tuple[int, int]] | None:
    """Return the edges in a manifest; None if it has none or they are invalid."""
    edges, nodes = mixing.get("edge_list"), mixing.get("nodes", 0)
    if not isinstance(edges, list) or max(len(edges), nodes) > LARGEST:
        return None
    good = all(type(edge) in (list, tuple) and len(edge) == 2 and {*map(type, edge)} == {int} for edge in edges)
    return [(i, j) for i, j in edges] if good and all(0 <= i < nodes for edge in edges for i in edge) else None


def caption(graph: Graph | Mixing) -> str:
    """Return the title of a drawing."""
    return f"{graph.name}, {graph.nodes} nodes{', round 0' if graph.drawn else ''}"


def positions(mixing: Graph | Mixing) -> np.ndarray:
    """Return positions in the unit square, (n, 2), y upwards: Kamada–Kawai for planar graphs, else a circle."""
    graph = nx.empty_graph(mixing.nodes)
    graph.add_edges_from(mixing.edges)
    xy = on_a_circle(mixing)
    if 3 <= mixing.nodes <= DRAWN and nx.is_connected(graph) and nx.check_planarity(graph)[0]:
        places = nx.kamada_kawai_layout(graph, pos=nx.planar_layout(graph))
        xy = _level(np.array([places[node] for node in range(mixing.nodes)]))
    centered = xy - (xy.min(axis=0) + xy.max(axis=0)) / 2
    return 0.5 + centered / max(2 * np.abs(centered).max(), 1e-9)


def on_a_circle(mixing: Graph | Mixing) -> np.ndarray:
    """Return positions on the unit circle, (n, 2), counter-clockwise."""
    return np.array([*nx.circular_layout(range(mixing.nodes)).values()])


def _level(xy: np.ndarray) -> np.ndarray:
    """Rotate the widest direction to horizontal; if there is none, put the last node where a circle has it."""
    xy = xy - xy.mean(axis=0)
    spread = xy.T @ xy
    if np.ptp(np.linalg.eigvalsh(spread)) < 0.01 * np.trace(spread):
        turn = np.arctan2(xy[-1, 1], xy[-1, 0]) + 2 * np.pi / len(xy)
    else:
        turn = 0.5 * np.arctan2(2 * spread[0, 1], spread[0, 0] - spread[1, 1])
    return xy @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


def svg(
    mixing: Graph | Mixing,
    size: int = 96,
    places: np.ndarray | None = None,
    lost: Sequence[tuple[int, int]] = (),
) -> str:
    """Return a drawing of ``size`` pixels for light and dark pages; ``lost`` edges are dashed."""
    margin, radius = 8, 3.5 if mixing.nodes <= 32 else 2
    unit = positions(mixing) if places is None else places
    xy = np.column_stack([unit[:, 0], 1 - unit[:, 1]]) * (size - 2 * margin) + margin
    gone = set(lost)
    lines = [_edge(xy[i], xy[j], radius, mixing.directed, (i, j) in gone) for i, j in mixing.edges]
    nodes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in xy]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {size} {size}">'
        f"<title>{escape(caption(mixing))}</title>"
        f'<g stroke="#7f7f7f" stroke-width="1">{"".join(lines)}</g><g fill="#0173b2">{"".join(nodes)}</g></svg>\n'
    )


def _edge(start: np.ndarray, end: np.ndarray, radius: float, directed: bool, lost: bool) -> str:
    """Return a line; if directed, with an arrow head that touches the circle of the target."""
    look = ' stroke="#de8f05" stroke-dasharray="3 3"' if lost else ""
    head = ""
    if directed:
        way = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
        tip, across = end - way * (radius + 0.5), np.array([-way[1], way[0]])
        base = tip - way * 1.7 * radius
        corners = " ".join(
            f"{x:.1f},{y:.1f}" for x, y in (tip, base + 0.7 * radius * across, base - 0.7 * radius * across)
        )
        fill = "#de8f05" if lost else "#7f7f7f"
        head, end = f'<polygon points="{corners}" fill="{fill}" stroke="none"/>', base
    return f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"{look}/>{head}'
