"""Heterogeneous quadratics with exact gradients and a known minimizer, on a lazy ring."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.contracts.simulate import simulate
from bench.network.mixing import Mixing, build_mixing
from bench.problem.problem import Setting
from datasets.quadratics import Quadratics

N, SEEDS = 8, tuple(range(8))


def ring() -> Mixing:
    return build_mixing("ring", N, lazy=True)


def quadratics(nodes: int = N) -> Quadratics:
    """Eight independent problems, each strongly heterogeneous: ‖∇f_i(x*)‖ is far from 0."""
    setting = Setting(nodes, range(nodes), SEEDS, 1, torch.float64, torch.device("cpu"))
    return Quadratics(setting, condition=2.0, spread=3.0)


def error(cls, steps: int, **options: object) -> float:
    """Root mean square of ‖x̄ − x*‖ over the problems after ``steps`` steps."""
    f = quadratics()
    w = torch.as_tensor(ring().matrices[0])
    x = simulate(cls, w, f.grad, f.start(), steps, options, keep=False).states[-1].x
    return distance(x, f)


def distance(x: Tensor, f: Quadratics) -> float:
    return float((x.mean(1) - f.minimizer).square().sum(-1).mean().sqrt())
