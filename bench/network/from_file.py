"""Graphs and mixing matrices from files, and a biased matrix as a negative example."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated
from zipfile import is_zipfile

import networkx as nx
import numpy as np

from bench.base import npy
from bench.base.errors import UserError
from bench.base.options import Neutral, Part
from bench.network.graphs import random, topology

LARGEST, LONGEST, PER_PAIR = 1 << 25, 1 << 20, 64
"""The largest sizes of a file and of a line in bytes, and the bytes for each pair of nodes if these are more."""
NUMBERS = 1 << 20
"""The largest matrix for another number of nodes that is read, so that a message can state its size, and the largest
number of lines without an edge."""


@topology("edges")
def edges(
    nodes: int, file: Path | None = None, directed: Annotated[bool, Neutral(False)] = False
) -> nx.Graph | nx.DiGraph:
    """A graph from a text file: two node numbers per line, from 0; # starts a comment. Directed: from → to."""
    path = _existing(file, "edges", nodes)
    graph = nx.empty_graph(nodes, create_using=nx.DiGraph if directed else nx.Graph)
    blank = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if words := line.partition("#")[0].replace(",", " ").split(maxsplit=2):
                _add_edge(graph, words, f"{path.name}, line {number}")
            elif (blank := blank + 1) > NUMBERS:
                raise UserError(f"{path.name} has more than {NUMBERS} lines without an edge. Remove them.")
    if not graph.edges and nodes > 1:
        raise UserError(f"{path.name} has no edges; expected two node numbers per line, from 0.")
    if lonely := list(nx.isolates(graph)) if nodes > 1 else []:
        few = ", ".join(map(str, lonely[:5])) + (" and others" if len(lonely) > 5 else "")
        last = max(max(edge) for edge in graph.edges)
        remedy = f"set nodes={last + 1} or " if lonely == list(range(last + 1, nodes)) else ""
        raise UserError(
            f"{path.name} has no edge for {len(lonely)} of the {nodes} nodes: {few}; {remedy}add edges for them."
        )
    return graph


def _add_edge(graph: nx.Graph, words: list[str], where: str) -> None:
    if len(words) != 2 or not all(word.isdecimal() and len(word) < 16 for word in words):
        raise UserError(f"{where}: expected two node numbers, got '{' '.join(words)[:60]}'.")
    i, j = int(words[0]), int(words[1])
    if max(i, j) >= len(graph):
        raise UserError(
            f"{where}: node {max(i, j)} is out of range; with nodes={len(graph)}, nodes are 0 … {len(graph) - 1}."
        )
    if i == j:
        raise UserError(f"{where}: node {i} has an edge to itself. Remove it; the weight rule sets the diagonal.")
    if graph.has_edge(i, j):
        raise UserError(f"{where}: the edge {i} {'→' if graph.is_directed() else '–'} {j} is a duplicate.")
    graph.add_edge(i, j)


@topology("matrix", weights=None)
def matrix(nodes: int, file: Path | None = None) -> np.ndarray:
    """A mixing matrix from a .csv (commas or spaces) or .npy file."""
    path = _existing(file, "matrix", nodes)
    try:
        w = np.asarray(_array(path, nodes) if path.suffix == ".npy" else _table(path, nodes), dtype=np.float64)
        if w.size == 0:
            raise ValueError("the file is empty")
        if w.ndim == 0:
            raise ValueError("it has one number without rows and columns; save an array of shape (n, n)")
    except (ValueError, OSError, EOFError) as error:
        raise UserError(f"Cannot read a matrix from {path.name}: {error}.") from error
    if w.ndim == 2 and w.shape[0] == w.shape[1] and len(w) != nodes:
        raise UserError(f"{path.name} is a matrix for {len(w)} nodes, but nodes={nodes}. Set nodes={len(w)}.")
    return w


def _table(path: Path, nodes: int) -> list[list[float]]:
    """Return the rows of a text file."""
    rows, count, longest = [], 0, max(LONGEST, PER_PAIR * nodes)
    with path.open(encoding="utf-8") as lines:
        while line := lines.readline(longest + 1):
            if len(line) > longest:
                raise ValueError(f"a line has more than {longest} characters")
            words = line.replace(",", " ").split()
            _must_fit(count := count + (len(words) or 1), nodes)  # also empty lines take time
            rows += [[float(word) for word in words]] if words else []
    return rows


def _array(path: Path, nodes: int) -> np.ndarray:
    if is_zipfile(path):
        raise ValueError("it is an npz file; save its array on its own, with np.save")
    with path.open("rb") as file:
        shape, dtype = npy.header(file)
    if dtype.kind not in "biuf":  # such as texts, which may have no bytes
        raise ValueError(f"it has values of the type {dtype}; save real numbers")
    if dtype.itemsize * math.prod(shape) > path.stat().st_size:  # before numpy allocates the array
        raise ValueError(f"the file is too short for an array of the shape {shape}")
    _must_fit(max((math.prod(shape), *shape)), nodes)
    return np.asarray(np.load(path, allow_pickle=False))


def _must_fit(count: int, nodes: int) -> None:
    if count > max(NUMBERS, nodes**2):
        raise ValueError(f"it has more than {max(NUMBERS, nodes**2)} numbers; for nodes={nodes}, save {nodes**2}")


@topology("row_stochastic", weights=None)
def row_stochastic(nodes: int, p: Part = 0.8, seed: int | None = None) -> np.ndarray:
    """A negative example: the random graph with 1/(d_i + 1) in row i, so that only the rows sum to one."""
    a = nx.to_numpy_array(random(nodes, p, seed), nodelist=range(nodes), weight=None) + np.eye(nodes)
    return a / a.sum(axis=1, keepdims=True)


def _existing(file: Path | None, name: str, nodes: int) -> Path:
    if file is None:
        raise UserError(f"topology={name} needs topology.file=PATH.")
    if not file.is_file():
        raise UserError(f"topology.file={file} does not exist.")
    if (size := file.stat().st_size) > (most := max(LARGEST, PER_PAIR * nodes**2)):
        raise UserError(
            f"topology.file={file} has {size / 1e6:.3g} MB; for nodes={nodes}, it may have {most / 1e6:.3g} MB."
        )
    return file
