"""Graphs as pictures: in the terminal and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph

DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Braille: a character is a grid of 4 × 2 dots, one bit each."""
HEADS = "→↗↑↖←↙↓↘"
"""Arrow heads, an eighth of a turn apart."""
AWAY = 7
"""Dots between a node and the head of an arrow that points to it."""
LARGEST = 100_000
"""Nodes, and edges, of a graph that is drawn: more than any manifest lists."""
SMOOTHING, ROUNDS = 50, 1000
"""Rounds of averaging over neighbours before the springs are let go, and of the springs."""


class Drawable(Protocol):
    """What a drawing needs to know; a Mixing has it."""

    @property
    def name(self) -> str: ...

    @property
    def nodes(self) -> int: ...

    @property
    def edges(self) -> list[tuple[int, int]]: ...

    @property
    def directed(self) -> bool: ...

    @property
    def drawn(self) -> bool: ...


@dataclass(frozen=True)
class Graph:
    """A graph as a run's manifest describes it."""

    name: str
    nodes: int
    edges: list[tuple[int, int]]
    directed: bool = False
    drawn: bool = False  # anew each round: these are the edges of one


def edges_of(mixing: Mapping[str, Any]) -> list[tuple[int, int]] | None:
    """The edges that a manifest lists; None where it lists none, or what cannot be those of a graph."""
    edges, nodes = mixing.get("edge_list"), mixing.get("nodes", 0)
    if not isinstance(edges, list) or max(len(edges), nodes) > LARGEST:
        return None
    good = all(type(edge) in (list, tuple) and len(edge) == 2 and {*map(type, edge)} == {int} for edge in edges)
    return [(i, j) for i, j in edges] if good and all(0 <= i < nodes for edge in edges for i in edge) else None


def caption(graph: Drawable) -> str:
    """What a picture is of."""
    return f"{graph.name}, {graph.nodes} nodes{', round 0' if graph.drawn else ''}"


def positions(mixing: Drawable) -> np.ndarray:
    """(n, 2) in the unit square, y upwards: on a circle, unless the graph is a tree or that has many crossings."""
    xy = circle = on_a_circle(mixing)
    edges = sorted({(min(edge), max(edge)) for edge in mixing.edges})
    if 3 <= mixing.nodes <= 64 and edges:
        hops = _hops(mixing.nodes, edges)
        if np.isfinite(hops).all():
            springs = relaxed(first_places(hops == 1), hops)
            tree = len(edges) < mixing.nodes
            if tree or _crossings(springs, edges) < _crossings(circle, edges) / 3:
                xy = _level(springs)
    centred = xy - (xy.min(axis=0) + xy.max(axis=0)) / 2
    return 0.5 + centred / max(2 * np.abs(centred).max(), 1e-9)


def on_a_circle(mixing: Drawable) -> np.ndarray:
    """(n, 2): every node at its hour."""
    angle = 2 * np.pi * np.arange(mixing.nodes) / mixing.nodes
    return np.column_stack([np.cos(angle), np.sin(angle)])


def first_places(neighbours: np.ndarray) -> np.ndarray:
    """(n, 2), neighbours near each other: by averaging over them, from fixed places without any symmetry.

    Eigenvectors would do the same, but where several have one eigenvalue every machine finds others.
    """
    number = np.arange(1.0, len(neighbours) + 1)
    fixed = np.column_stack([np.sin(number), np.sin(np.sqrt(2) * number**1.5)])
    step = np.eye(len(neighbours)) + neighbours / neighbours.sum(axis=1, keepdims=True)
    xy = fixed
    for _ in range(SMOOTHING):
        xy = step @ xy
        xy = xy - xy.mean(axis=0)
        x = xy[:, 0] / np.linalg.norm(xy[:, 0])
        y = xy[:, 1] - (x @ xy[:, 1]) * x
        xy = np.column_stack([x, y / np.linalg.norm(y)])
    return xy + fixed / 100  # apart, where the averages put nodes on one point


def relaxed(xy: np.ndarray, hops: np.ndarray) -> np.ndarray:
    """The places where springs as long as the hops between two nodes come to rest (Kamada and Kawai), by majorisation:
    rounds that are all alike, without a search, so that every machine ends at the same."""
    n = len(hops)
    weights = 1 / np.where(hops == 0, np.inf, hops) ** 2
    inverse = np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + 1 / n)
    for _ in range(ROUNDS):
        apart = np.linalg.norm(xy[:, None] - xy[None], axis=2)
        pull = weights * hops / np.maximum(apart, 1e-9)
        xy = inverse @ (pull.sum(axis=1)[:, None] * xy - pull @ xy)
    return xy


def _level(xy: np.ndarray) -> np.ndarray:
    """Turned until it is widest from left to right, where it is wider in one direction."""
    xy = xy - xy.mean(axis=0)
    spread = xy.T @ xy
    if np.ptp(np.linalg.eigvalsh(spread)) < 0.01 * np.trace(spread):
        return xy
    turn = 0.5 * np.arctan2(2 * spread[0, 1], spread[0, 0] - spread[1, 1])
    return xy @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


def _hops(nodes: int, edges: list[tuple[int, int]]) -> np.ndarray:
    """(n, n), infinite where there is no way."""
    ends = np.array(edges).T
    return csgraph.dijkstra(sp.csr_array((np.ones(len(edges)), ends), (nodes, nodes)), directed=False, unweighted=True)


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
    """Edges in braille dots, nodes by number, an arrow before the node that an arc points to."""
    xy = positions(mixing)
    scale = np.array([width * 2 - 5, height * 4 - 4])
    dots = np.column_stack([xy[:, 0], 1 - xy[:, 1]]) * scale + [2, 2]
    bits = np.zeros((height, width), dtype=int)
    for i, j in mixing.edges:
        count = int(np.abs(dots[j] - dots[i]).max()) + 1
        for x, y in np.linspace(dots[i], dots[j], 2 * count).round().astype(int):
            bits[y // 4, x // 2] |= DOTS[y % 4, x % 2]
    canvas = [[chr(0x2800 + cell) if cell else " " for cell in row] for row in bits]
    for i, j in mixing.edges if mixing.directed else []:
        (x, y), head = _head(dots[i], dots[j])
        canvas[y // 4][x // 2] = head
    for i, (x, y) in enumerate(dots.round().astype(int)):
        label = str(i)
        column = min(x // 2, width - len(label))
        canvas[y // 4][column : column + len(label)] = label
    return "\n".join("".join(row).rstrip() for row in canvas).strip("\n")


def _head(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, str]:
    """Where the head of an arrow stands, in dots from the upper left, and which it is."""
    way = target - source
    length = max(float(np.linalg.norm(way)), 1e-9)
    turn = np.arctan2(-way[1], way[0]) / (2 * np.pi)
    return (target - way / length * min(AWAY, length / 2)).round().astype(int), HEADS[round(8 * turn) % 8]


def beside(drawings: Sequence[tuple[str, str]], width: int) -> str:
    """Drawings with their titles next to each other, each so many columns wide."""
    blocks = [[title, *drawing.split("\n")] for title, drawing in drawings]
    lines = [[block[k] if k < len(block) else "" for block in blocks] for k in range(max(map(len, blocks)))]
    return "\n".join("".join(f"{part:{width}}" for part in line).rstrip() for line in lines)


def svg(
    mixing: Drawable,
    size: int = 96,
    places: np.ndarray | None = None,
    lost: Sequence[tuple[int, int]] = (),
) -> str:
    """A small drawing that stands on light and dark pages; edges that are ``lost`` are dashed."""
    margin, radius = 8, 3.5 if mixing.nodes <= 32 else 2
    unit = positions(mixing) if places is None else places
    xy = np.column_stack([unit[:, 0], 1 - unit[:, 1]]) * (size - 2 * margin) + margin
    gone = set(lost)
    lines = [_edge(xy[i], xy[j], radius, mixing.directed, (i, j) in gone) for i, j in mixing.edges]
    nodes = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>' for x, y in xy]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {size} {size}">'
        f"<title>{caption(mixing)}</title>"
        f'<g stroke="#7f7f7f" stroke-width="1">{"".join(lines)}</g><g fill="#0173b2">{"".join(nodes)}</g></svg>\n'
    )


def _edge(start: np.ndarray, end: np.ndarray, radius: float, directed: bool, lost: bool) -> str:
    """A line; with a head, that ends where the node begins."""
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
