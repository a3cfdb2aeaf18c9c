"""Rules of asynchronous methods as printed: node by node over the rows of a tape.

Every rule returns X after 0, 1, … events. ``G(i, x, k)`` is the gradient of node i at x on its sample number k, and
``a(t)`` the stepsize of an event in step t. A gradient belongs to the point at which its node began to compute it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

DELIVER, PAIR, GRADIENT = 0, 1, 2


class Event(NamedTuple):
    """A row of a tape: node ← peer for a message, node – peer for a pair. ``now`` is in gradient times."""

    t: int
    now: float
    kind: int
    node: int
    peer: int
    number: int


class World(NamedTuple):
    """What a rule may use."""

    x: np.ndarray
    W: np.ndarray
    arcs: list[tuple[int, int]]  # sender, receiver
    pace: Sequence[float]
    G: Callable[[int, np.ndarray, int], np.ndarray]
    a: Callable[[int], float]
    options: dict[str, Any]

    def senders(self, i: int) -> list[int]:
        return [j for j, k in self.arcs if k == i]

    def receivers(self, i: int) -> list[int]:
        return [k for j, k in self.arcs if j == i]


def adpsgd(events: Sequence[Event], w: World) -> list[np.ndarray]:
    """x_i, x_j ← (x_i + x_j)/2; x_i ← x_i − a g(where it began); begin again at x_i."""
    X = [row.copy() for row in w.x]
    began, out = [row.copy() for row in w.x], [w.x.copy()]
    for e in events:
        i, j = e.node, e.peer
        if e.kind == PAIR:
            X[i] = X[j] = (X[i] + X[j]) / 2
        else:
            factor = w.pace[i] if w.options["equal_weights"] else 1.0
            X[i] = X[i] - w.a(e.t) * factor * w.G(i, began[i], e.number)
            began[i] = X[i]
        out.append(np.stack(X))
    return out


def swift(events: Sequence[Event], w: World) -> list[np.ndarray]:
    """Send x_i; x_i ← w_ii x_i + Σ w_ij (last x heard from j) − a g(x_i). Other steps are local."""
    X, out = [row.copy() for row in w.x], [w.x.copy()]
    last = {(j, i): w.x[j].copy() for j, i in w.arcs}
    sent: dict[tuple[int, int], np.ndarray] = {}
    for e in events:
        i, j = e.node, e.peer
        if e.kind == DELIVER:
            if (j, e.number) in sent:
                last[j, i] = sent[j, e.number]
        else:
            g, x = w.G(i, X[i], e.number), X[i]
            if (e.number + 1) % w.options["every"] == 0:
                sent[i, e.number] = X[i]
                x = w.W[i, i] * X[i] + sum(w.W[i, k] * last[k, i] for k in w.senders(i))
            X[i] = x - w.a(e.t) * g
        out.append(np.stack(X))
    return out


def osgp(events: Sequence[Event], w: World) -> list[np.ndarray]:
    """u, w += what came; send u/(d+1), w/(d+1) to each receiver and keep as much; u −= a g(u/w).

    The first transfer comes before the first gradient, and arrives while that is computed.
    """
    n, out = len(w.x), [w.x.copy()]
    share = [1 / (len(w.receivers(i)) + 1) for i in range(n)]
    u, v, z = [share[i] * w.x[i] for i in range(n)], list(share), [row.copy() for row in w.x]
    came = [[(share[j] * w.x[j], share[j]) for j in w.senders(i)] for i in range(n)]
    sent: dict[tuple[int, int], tuple[np.ndarray, float]] = {}
    for e in events:
        i, j = e.node, e.peer
        if e.kind == DELIVER:
            came[i].append(sent[j, e.number])
        else:
            u[i] = u[i] - w.a(e.t) * w.G(i, z[i], e.number)
            for r, q in came[i]:
                u[i], v[i] = u[i] + r, v[i] + q
            came[i] = []
            u[i], v[i] = share[i] * u[i], share[i] * v[i]
            sent[i, e.number] = u[i], v[i]
            z[i] = u[i] / v[i]
        out.append(np.stack(z))
    return out


def rasgp(events: Sequence[Event], w: World) -> list[np.ndarray]:
    """x −= a (time since the last event) g(z); x, y /= d+1; σ += (x, y); send σ; x, y += σ − ρ of newer; z = x/y."""
    n = len(w.x)
    x, y, z = [row.copy() for row in w.x], [1.0] * n, [row.copy() for row in w.x]
    sigma = [(np.zeros_like(row), 0.0) for row in w.x]
    seen = {arc: (np.zeros_like(w.x[0]), 0.0) for arc in w.arcs}
    heard: dict[tuple[int, int], tuple[int, tuple[np.ndarray, float]]] = {}
    sent, last, out = {}, [0.0] * n, [w.x.copy()]
    for e in events:
        i, j = e.node, e.peer
        if e.kind == DELIVER:
            if e.number > heard.get((j, i), (-1, None))[0]:
                heard[j, i] = e.number, sent[j, e.number]
        else:
            x[i] = x[i] - w.a(e.t) * (e.now - last[i]) * w.G(i, z[i], e.number)
            last[i] = e.now
            d = len(w.receivers(i))
            x[i], y[i] = x[i] / (d + 1), y[i] / (d + 1)
            sigma[i] = sent[i, e.number] = (sigma[i][0] + x[i], sigma[i][1] + y[i])
            for k in w.senders(i):
                if (k, i) in heard:
                    new = heard[k, i][1]
                    x[i], y[i] = x[i] + new[0] - seen[k, i][0], y[i] + new[1] - seen[k, i][1]
                    seen[k, i] = new
            z[i] = x[i] / y[i]
        out.append(np.stack(z))
    return out


def asy_sonata(events: Sequence[Event], w: World) -> list[np.ndarray]:
    """v = x − a z; x = w_ii v + Σ w_ij (last v); z½ = z + Σ(ρ − ρ̃) + g(x) − g, split among d + 1; send (v, ρ).

    z = g⁰ at the start. An iteration ends when its gradient has ended, and the next one begins at once.
    """
    n, zero = len(w.x), np.zeros_like(w.x[0])
    X, v, z, g, rho = [row.copy() for row in w.x], [zero] * n, [zero] * n, [zero] * n, [zero] * n
    last = {(j, i): w.x[j].copy() for j, i in w.arcs}
    came, seen = dict.fromkeys(w.arcs, zero), dict.fromkeys(w.arcs, zero)
    sent: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = {}
    out = [w.x.copy()]
    for e in events:
        i, j = e.node, e.peer
        if e.kind == DELIVER:
            if e.number > 0:
                last[j, i], came[j, i] = sent[j, e.number]
        else:
            new = w.G(i, X[i], e.number)
            if e.number == 0:
                z[i] = new
            else:
                half = z[i] + new - g[i]
                for k in w.senders(i):
                    half, seen[k, i] = half + came[k, i] - seen[k, i], came[k, i]
                z[i] = half / (len(w.receivers(i)) + 1)
                rho[i] = rho[i] + half / (len(w.receivers(i)) + 1)
                sent[i, e.number] = v[i], rho[i]
            g[i] = new
            v[i] = X[i] - w.a(e.t) * z[i]
            X[i] = w.W[i, i] * v[i] + sum(w.W[i, k] * last[k, i] for k in w.senders(i))
        out.append(np.stack(X))
    return out


def acid_constants(n: int, arcs: Sequence[tuple[int, int]], rate: float) -> tuple[float, float]:
    """η = ½/√(χ₁χ₂) and α̃ = ½√(χ₁/χ₂): χ₁ = 1/λ₂(Λ), χ₂ = max over edges of ½ (e_i−e_j)ᵀ Λ⁺ (e_i−e_j)."""
    degree = [sum(j == i for j, _ in arcs) for i in range(n)]
    laplacian, edges = np.zeros((n, n)), []
    for i, j in arcs:
        if i < j:
            edge = np.eye(n)[i] - np.eye(n)[j]
            edges.append(edge)
            laplacian += rate * (1 / degree[i] + 1 / degree[j]) / 2 * np.outer(edge, edge)
    chi_1 = 1 / np.linalg.eigvalsh(laplacian)[1]
    chi_2 = max(edge @ np.linalg.pinv(laplacian) @ edge / 2 for edge in edges)
    return 0.5 / math.sqrt(chi_1 * chi_2), 0.5 * math.sqrt(chi_1 / chi_2)


def acid(events: Sequence[Event], w: World) -> list[np.ndarray]:
    """Relax (x, x̃) by e = exp(−2ηΔt); gradient: both −= a g; pair: m = x_i − x_j, x ∓= m/2, x̃ ∓= α̃ m."""
    n = len(w.x)
    eta, alpha = acid_constants(n, w.arcs, w.options["rate"])
    if not w.options["accelerate"]:
        eta, alpha = 0.0, 0.5
    X, Y = [row.copy() for row in w.x], [row.copy() for row in w.x]
    began, last, out = [row.copy() for row in w.x], [0.0] * n, [w.x.copy()]
    for event in events:
        i, j = event.node, event.peer
        for k in (i, j) if event.kind == PAIR else (i,):
            e = math.exp(-2 * eta * (event.now - last[k]))
            X[k], Y[k] = ((1 + e) * X[k] + (1 - e) * Y[k]) / 2, ((1 - e) * X[k] + (1 + e) * Y[k]) / 2
            last[k] = event.now
        if event.kind == PAIR:
            m = X[i] - X[j]
            X[i], X[j], Y[i], Y[j] = X[i] - m / 2, X[j] + m / 2, Y[i] - alpha * m, Y[j] + alpha * m
        else:
            g = w.a(event.t) * w.G(i, began[i], event.number)
            X[i], Y[i] = X[i] - g, Y[i] - g
            began[i] = X[i]
        out.append(np.stack(X))
    return out


RULES = {"adpsgd": adpsgd, "swift": swift, "osgp": osgp, "rasgp": rasgp, "asy_sonata": asy_sonata, "acid": acid}
