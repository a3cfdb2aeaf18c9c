"""Events of methods that average pairs: ``pairs`` after a gradient of an active node, ``meetings`` at random times."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from bench.base.keyed import EVERYONE, generator
from bench.events.arcs import BLOCK, TimedArcs, uniform
from bench.events.messages import gradients
from bench.events.rows import Drawn, Kind, Rows


def pairs(arcs: TimedArcs, durations: list[np.ndarray], seed: int, end: int) -> Drawn:
    """Return the events of active nodes that average with a random neighbor after every gradient.

    The neighbor has the key (seed, node, k). It serves one exchange at a time, in the order of the requests. An active
    node completes its gradient at the end of the exchange. A passive node completes its gradient when it has computed
    it, or at the end of an exchange that has begun before.
    """
    active, near, edges = arcs.active(), arcs.neighbors, arcs.edges
    lasted = [each.tolist() for each in durations]
    chosen = {
        a: (uniform(seed, a, "peer", len(lasted[a])) * len(near[a])).astype(np.int64).tolist()
        for a in range(arcs.nodes)
        if active[a]
    }
    takes = {(a, p): edges[min(a, p), max(a, p)] for a in chosen for p in near[a]}
    met = dict.fromkeys(takes, 0)
    locks: list[list[tuple[int, int]]] = [[] for _ in active]
    pending = [each[0] for each in lasted]
    free, began, done = [0] * arcs.nodes, [0] * arcs.nodes, [0] * arcs.nodes
    averaged, completed = [], []
    requests = [(pending[a], a) for a in chosen if pending[a] <= end]
    heapify(requests)
    while requests:
        computed, a = requests[0]
        k = done[a]
        p = near[a][chosen[a][k]]
        begin = max(computed, free[p])
        time = free[p] = begin + takes[a, p]
        locks[p].append((begin, time))
        if time > end:
            heappop(requests)
            continue
        averaged.append((time, a, p, met[a, p], begin))
        completed.append((time, a, k, began[a], computed))
        met[a, p] += 1
        began[a], done[a] = time, k + 1
        pending[a] = time + lasted[a][k + 1]
        if pending[a] <= end:
            heapreplace(requests, (pending[a], a))
        else:
            heappop(requests)
    for p in range(arcs.nodes):
        if not active[p]:
            pending[p] = _passive(p, lasted[p], locks[p], end, completed)
    time, node, peer, number, begins = _columns(averaged)
    rows = [Rows(Kind.PAIR, time, node, peer, number, begins)]
    time, node, number, begins, computed_at = _columns(completed)
    rows.append(Rows(Kind.GRADIENT, time, node, -1, number, begins, computed_at))
    return _drawn(rows, np.array(pending))


def _passive(
    p: int, lasted: list[int], locks: list[tuple[int, int]], end: int, completed: list[tuple[int, int, int, int, int]]
) -> int:
    """Append the gradients of a passive node, which its exchanges delay; return when it has computed the next one."""
    began = place = 0
    for k, duration in enumerate(lasted):
        time = computed = began + duration
        if computed > end:
            return computed
        while place < len(locks) and locks[place][1] < computed:
            place += 1
        if place < len(locks) and locks[place][0] < computed:
            time = locks[place][1]
        if time > end:
            return computed
        completed.append((time, p, k, began, computed))
        began = time
    raise AssertionError("The compute times of a node must reach beyond the end.")


def meetings(arcs: TimedArcs, durations: list[np.ndarray], seed: int, end: int, unit: int, rate: float) -> Drawn:
    """Return the events of nodes that compute without waiting, and of edges that average at random times.

    The times of an edge {i, j} are a Poisson process with the key (seed, i, j) and the rate
    ``rate / unit * (1/deg_i + 1/deg_j) / 2``. A node takes part in one exchange at a time, in the order of these times.
    """
    ends = [np.cumsum(each) for each in durations]
    rows = [gradients(i, each[:-1], durations[i][:-1]) for i, each in enumerate(ends)]
    degree = [len(each) for each in arcs.neighbors]
    points = []
    for i, j in arcs.edges:
        mean = unit / (rate * (1 / degree[i] + 1 / degree[j]) / 2)
        times = _poisson(seed, i, j, mean, end)
        points.append(np.stack([times, np.full_like(times, i), np.full_like(times, j), np.arange(len(times))]))
    time, first, second, number = np.concatenate([np.zeros((4, 0), dtype=np.int64), *points], axis=1)
    order = np.lexsort([second, first, time])
    free, averaged = [0] * arcs.nodes, []
    columns = (each[order].tolist() for each in (time, first, second, number))
    for asked, i, j, m in zip(*columns, strict=True):
        begin = max(asked, free[i], free[j])
        free[i] = free[j] = until = begin + arcs.edges[i, j]
        if until <= end:
            averaged.append((until, i, j, m, begin))
    time, first, second, number, begins = _columns(averaged)
    rows.append(Rows(Kind.PAIR, time, first, second, number, begins))
    return _drawn(rows, np.array([each[-1] for each in ends]))


def _poisson(seed: int, i: int, j: int, mean: float, end: int) -> np.ndarray:
    """Return the points of the Poisson process of an edge until the end, in nanoseconds."""
    blocks, reached = [np.zeros(0)], 0.0
    while reached * mean <= end:
        gaps = generator(seed, EVERYONE, f"meetings {i} {j}", len(blocks) - 1).standard_exponential(BLOCK)
        gaps[0] += reached
        blocks.append(np.cumsum(gaps))
        reached = float(blocks[-1][-1])
    times = np.concatenate(blocks) * mean
    return np.rint(times[times < end + 1]).astype(np.int64)


def _columns(rows: list[tuple[int, int, int, int, int]]) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, 5).T


def _drawn(rows: list[Rows], pending: np.ndarray) -> Drawn:
    """Return the events of a pattern without messages."""
    none = np.zeros(0, dtype=np.int64)
    return Drawn(rows, pending, np.zeros(len(pending), dtype=np.int64), none, none, none)
