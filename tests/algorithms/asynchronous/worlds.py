"""Fixed tapes, noisy quadratics and comparisons for the tests of asynchronous methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.base.registry import algorithms
from bench.contracts.play import Pace, Played, play
from bench.network.mixing import build_mixing
from tests.algorithms.literal.asynchronous import Event, World

ASYNCHRONOUS = ("adpsgd", "swift", "osgp", "rasgp", "asy_sonata", "acid")
N, D, T = 6, 3, 15
_g = np.random.default_rng(11)
_M = _g.standard_normal((9, D, D))
A = np.einsum("nij,nkj->nik", _M, _M) / D + np.eye(D)
B = _g.standard_normal((9, D))
NOISE = 0.2 * _g.standard_normal((400, 9, D))
START = _g.standard_normal((9, D))


def G(i: int, x: np.ndarray, number: int) -> np.ndarray:
    """The gradient of node i on its sample."""
    return A[i] @ (x - B[i]) + NOISE[number, i]


def exact(i: int, x: np.ndarray, number: int) -> np.ndarray:
    return A[i] @ (x - B[i])


def gradient(x: Tensor, numbers: np.ndarray) -> Tensor:
    """The same for all nodes and replicas."""
    return exact_gradient(x, numbers) + torch.as_tensor(NOISE[numbers, np.arange(x.shape[1])])


def exact_gradient(x: Tensor, numbers: np.ndarray) -> Tensor:
    n = x.shape[1]
    return (torch.as_tensor(A[:n]) * (x - torch.as_tensor(B[:n])).unsqueeze(-2)).sum(-1)


def start(replicas: int = 1, nodes: int = N) -> Tensor:
    return torch.as_tensor(START[:nodes]).repeat(replicas, 1, 1)


def minimizer(weights: np.ndarray) -> np.ndarray:
    """Of Σ weights_i f_i."""
    n = len(weights)
    return np.linalg.solve(np.einsum("n,nij->ij", weights, A[:n]), np.einsum("n,nij,nj->i", weights, A[:n], B[:n]))


def literal(rule: Any, run: Played, pace: Pace, options: Mapping[str, Any], T: int = T) -> np.ndarray:
    """The rule on the events of a run, after 0, 1, … gradients and pairs."""
    graph, unit = pace.graph(), run.tape.unit
    events = [Event(e.t, e.time / unit, e.kind, e.node, e.peer, e.number) for e in run.events]

    def a(t: int) -> float:
        if options["schedule"] == "constant":
            return options["eta"]
        if options["schedule"] == "fixed":
            return options["eta"] * math.sqrt(pace.nodes / T)
        return options["eta"] * math.sqrt(pace.nodes / t) if t else 0.0

    slow = [pace.slow] + [1.0] * (pace.nodes - 1)
    arcs = list(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    w = build_mixing(pace.topology, pace.nodes).matrices[0]
    out = rule(events, World(START[: pace.nodes], w, arcs, slow, G, a, dict(options)))
    acts = [0, *(place + 1 for place, e in enumerate(events) if e.kind != 0)]
    return np.stack([out[place] for place in acts])


def replicas_of(name: str, variant: Mapping[str, Any] = {}) -> list[dict[str, Any]]:
    """Constant and diminishing stepsizes, of two sizes."""
    cls = algorithms[name]
    known = {key: o.default for key, o in {**cls.stepsize_options(), **cls.structure_options()}.items()}
    cases = [("constant", 0.05), ("diminishing", 0.02), ("fixed", 0.04)]
    return [{**known, **variant, "schedule": kind, "eta": eta} for kind, eta in cases]


def differences(cls: Any, rule: Any, pace: Pace, options: Sequence[Mapping[str, Any]]) -> list[float]:
    """The largest relative difference of each replica between a method and a rule."""
    run = play(cls, gradient, start(len(options), pace.nodes), T, options, pace)
    ours = run.x().numpy()
    assert len(run.events) > 4 * pace.nodes
    out = []
    for r, given in enumerate(options):
        theirs = literal(rule, run, pace, given)
        assert np.abs(theirs[-1] - theirs[0]).max() > 1e-2  # something happened
        out.append(float(np.abs(ours[:, r] - theirs).max() / np.abs(theirs).max()))
    return out
