"""Checks of communication: locality, symmetry between nodes, and the declared kind of mixing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.contracts.fixtures import (
    ALONE,
    DIMENSION,
    KINDS,
    NODES,
    STEPS,
    CheckFailed,
    applies_to,
    equal,
    must,
    network,
    quadratics,
    ring,
    start,
    stepsizes,
)
from bench.contracts.form import must_keep_invariants
from bench.contracts.mathematics import must_average
from bench.contracts.simulate import Gradient, simulate
from bench.method.algorithm import Algorithm
from bench.network.compressors import TopK
from bench.network.mixing import build_mixing


def network_use(cls: type[Algorithm]) -> None:
    """the method uses only the declared kind of mixing and compression"""
    properties, trace = cls.declare_for({}), simulate(cls, ring(), quadratics(), start(), STEPS)
    allowed = set(USES[properties.mixes]) | ({"compressed"} if properties.compresses != "no" else set())
    for t, calls in enumerate(trace.calls):
        for call in calls:
            declared = f"mixes='{properties.mixes}', compresses='{properties.compresses}'"
            must(call in allowed, f"{'start' if t == 0 else f'step {t - 1}'} calls {call}; declared {declared}")
    does = properties.compresses == "no" or any("compressed" in calls for calls in trace.calls)
    must(does, f"declared compresses='{properties.compresses}', but mix.compressed is never called")


USES = {"doubly": ("mix",), "push": ("push",), "pull": ("pull",), "push and pull": ("push", "pull", "push_pull")}
"""The calls of ``mix`` that each value of ``mixes`` allows."""


@applies_to(lambda properties: properties.compresses != "no")
def compression(cls: type[Algorithm]) -> None:
    """if compresses: with top_k, the declared states keep their properties and the nodes converge to their average"""
    compressor = TopK(k=DIMENSION - 1)
    try:
        must_keep_invariants(cls, compressor)
        must_average(cls, compressor)
    except CheckFailed as error:
        raise CheckFailed(f"with top_k of {compressor.k} of {DIMENSION} entries: {error}") from error


def permutation(cls: type[Algorithm]) -> None:
    """permuting the nodes permutes the trajectory"""
    (w, pull), gradient, x = network(cls), quadratics(), start()
    order = torch.tensor([3, 0, 4, 1, 5, 2])
    back = order.argsort()
    ours = simulate(cls, w, gradient, x, STEPS, pull=pull).x()

    def renamed(x: Tensor, s: int, stream: int) -> Tensor:
        return gradient(x[:, back], s, stream)[:, order]

    w, pull = (matrix[order][:, order] for matrix in (w, pull))
    theirs = simulate(cls, w, renamed, x[:, order], STEPS, pull=pull).x()
    equal(ours[:, :, order], theirs, "permuting the nodes changes more than their order")


def locality(cls: type[Algorithm]) -> None:
    """information travels only through mix, one hop per round"""
    nodes = 2 * NODES
    gradient, x = quadratics(nodes), start(nodes=nodes)

    def other(x: Tensor, s: int, stream: int) -> Tensor:
        """Change the direction of the gradient of node 0, not only its norm, which some methods ignore."""
        g = gradient(x, s, stream)
        return torch.cat([1 - 2 * g[:, :1].roll(1, -1), g[:, 1:]], dim=1)

    for where, w in (("with W = I", torch.eye(nodes, dtype=torch.float64)), ("on a ring", ring(nodes))):
        one, two = (simulate(cls, w, each, x, NODES) for each in (gradient, other))
        knows = torch.arange(nodes) == 0
        for t, (a, b) in enumerate(zip(one.states, two.states, strict=True)):
            for _ in one.calls[t]:
                knows = (w.ne(0) & knows).any(1)
            if not knows.all():
                early = f"{where}, a node depends on the gradient of another node after {t} steps without communication"
                equal(a.x[:, ~knows], b.x[:, ~knows], early, PER_NODE)


PER_NODE = ". x has shape (R, k, P): runs, nodes, parameters; the norm of a node is g.norm(dim=-1, keepdim=True)"


def replicas(cls: type[Algorithm]) -> None:
    """R replicas with different stepsizes and graphs equal R separate runs"""
    gradient, x = quadratics(), start(3)
    known = {**cls.stepsize_options(), **cls.structure_options()}
    numbers = {k: o.default for k, o in known.items() if o.is_number}
    options: list[dict[str, Any]] = [
        {"schedule": "fixed"},
        {"schedule": "diminishing"},
        {k: v / 2 for k, v in numbers.items()},
    ]
    w = torch.stack([ring(), torch.full((NODES, NODES), 1 / NODES, dtype=torch.float64), ring() @ ring()])
    together = simulate(cls, w, gradient, x, STEPS, options).x()
    for r in range(3):
        alone = simulate(cls, w[r], gradient, x[r : r + 1], STEPS, options[r], seeds=[r]).x()
        equal(together[:, r : r + 1], alone, f"replica {r} of 3 differs from the same run alone")


def one_node(cls: type[Algorithm]) -> None:
    """a network of one node works and stays finite"""
    x = simulate(cls, ALONE, quadratics(1), start(nodes=1), STEPS).x()
    must(torch.isfinite(x).all(), "with a single node the iterates are not finite")


def one_voice(cls: type[Algorithm]) -> None:
    """nodes with equal initial points and gradients stay equal, and follow a single node"""
    x, g = start()[:, :1], quadratics(1)
    for kind in KINDS:
        one = simulate(cls, ALONE, g, x, STEPS, {"schedule": kind}, schedule_nodes=NODES, known=ring()).x()
        many = simulate(cls, ring(), _echo(g), x.expand(-1, NODES, -1), STEPS, {"schedule": kind}).x()
        equal(many, one.expand_as(many), f"nodes with equal gradients differ from a single node (schedule {kind})")


def _echo(gradient: Gradient) -> Gradient:
    """Give every node the same function."""
    return lambda x, s, stream: torch.cat([gradient(part, s, stream) for part in x.split(1, dim=1)], dim=1)


@applies_to(lambda properties: properties.bounded_step)
def bound(cls: type[Algorithm]) -> None:
    """if bounded_step: the consensus error never exceeds b², b⁺ = ρ (b + η_t)"""
    mixing = build_mixing("ring", NODES, lazy=True)
    rho = mixing.certificate.rho or 0.0
    slowest = torch.as_tensor(np.linalg.eigh(mixing.matrices[0])[1][:, -2:-1].copy())

    def tug(x: Tensor, s: int, stream: int) -> Tensor:
        """Separate the nodes along the eigenvector of λ₂, for which the bound is tight."""
        return slowest.expand_as(x)

    for gradient in (tug, quadratics()):
        x = torch.zeros(1, NODES, DIMENSION, dtype=torch.float64)
        trace = simulate(cls, torch.as_tensor(mixing.matrices[0]), gradient, x, STEPS)
        b, etas = 0.0, [*stepsizes(cls, STEPS)["eta"].values[:, 0].tolist(), 0.0]
        for t, (state, eta) in enumerate(zip(trace.states, etas, strict=True)):
            consensus = (state.x - state.x.mean(1, keepdim=True)).square().sum().item() / NODES
            within = consensus <= b**2 * (1 + 1e-12) + 1e-28
            must(within, f"consensus {consensus:.3g} after step {t} exceeds the bound {b**2:.3g}")
            b = rho * (b + eta)
