"""Graphs as pictures: in the terminal and as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Braille: a character is a grid of 4 × 2 dots, one bit each."""


class Drawable(Protocol):
    """What a drawing needs to know; a Mixing has it."""

    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> int: ...

    @property
    def edges(self) -> list[tuple[int, int]]: ...


@dataclass(frozen=True)
class Graph:
    """A graph as a run's manifest describes it."""

    name: str
    nodes: int
    edges: list[tuple[int, int]]


def positions(mixing: Drawable) -> np.ndarray:
    """(n, 2) in the unit square, y upwards: on a circle, unless the graph is a tree or that has many crossings."""
    import networkx as nx  # a quarter of a second, and more for its springs

    graph = nx.empty_graph(mixing.nodes)
    graph.add_edges_from(mixing.edges)
    circle = on_a_circle(mixing)
    xy = circle
    if 3 <= mixing.nodes <= 64:
        first = _array(nx.spectral_layout(graph)) + circle / 10  # apart, where the spectrum puts nodes on one point
        springs = _array(nx.kamada_kawai_layout(graph, pos=dict(enumerate(first))))
        tree = len(mixing.edges) < mixing.nodes
        if tree or _crossings(springs, mixing.edges) < _crossings(circle, mixing.edges) / 3:
            xy = springs
    centred = xy - (xy.min(axis=0) + xy.max(axis=0)) / 2
    return 0.5 + centred / max(2 * np.abs(centred).max(), 1e-9)


def on_a_circle(mixing: Drawable) -> np.ndarray:
    """(n, 2): every node at its hour."""
    angle = 2 * np.pi * np.arange(mixing.nodes) / mixing.nodes
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _array(places: dict[int, np.ndarray]) -> np.ndarray:
    return np.array([places[i] for i in range(len(places))])


def _crossings(xy: np.ndarray, edges: list[tuple[int, int]]) -> int:
    """Pairs of edges that cross in the plane."""
    a, b = (xy[[edge[end] for edge in edges]] for end in (0, 1))

    def side(p: np.ndarray) -> np.ndarray:
        """On which side of each edge (rows) each point (columns) lies."""
        d, e = (b - a)[:, None], p[None] - a[:, None]
        return np.sign((d[..., 0] * e[..., 1] - d[..., 1] * e[..., 0]).round(9))

    split = side(a) * side(b) < 0
    return int((split & split.T).sum()) // 2


def text(mixing: Drawable, width: int = 44, height: int = 16) -> str:
    """Edges in braille dots, nodes by number."""
    xy = positions(mixing)
    scale = np.array([width * 2 - 5, height * 4 - 4])
    dots = np.column_stack([xy[:, 0], 1 - xy[:, 1]]) * scale + [2, 2]
    bits = np.zeros((height, width), dtype=int)
    for i, j in mixing.edges:
        count = int(np.abs(dots[j] - dots[i]).max()) + 1
        for x, y in np.linspace(dots[i], dots[j], 2 * count).round().astype(int):
            bits[y // 4, x // 2] |= DOTS[y % 4, x % 2]
    canvas = [[chr(0x2800 + cell) if cell else " " for cell in row] for row in bits]
    for i, (x, y) in enumerate(dots.round().astype(int)):
        label = str(i)
        column = min(x // 2, width - len(label))
        canvas[y // 4][column : column + len(label)] = label
    return "\n".join("".join(row).rstrip() for row in canvas).strip("\n")


def svg(mixing: Drawable, size: int = 96, places: np.ndarray | None = None) -> str:
    """A small drawing that stands on light and dark pages."""
    margin, radius = 8, 3.5 if mixing.nodes <= 32 else 2
    unit = positions(mixing) if places is None else places
    xy = np.column_stack([unit[:, 0], 1 - unit[:, 1]]) * (size - 2 * margin) + margin
    lines = [
        f'<line x1="{xy[i, 0]:.1f}" y1="{xy[i, 1]:.1f}" x2="{xy[j, 0]:.1f}" y2="{xy[j, 1]:.1f}"/>'
        for i, j in mixing.edges
    ]
    nodes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in xy]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {size} {size}">'
        f"<title>{mixing.name}, {mixing.nodes} nodes</title>"
        f'<g stroke="#7f7f7f" stroke-width="1">{"".join(lines)}</g><g fill="#0173b2">{"".join(nodes)}</g></svg>\n'
    )
