"""What rounds alone do to an average: the loss of mass that a method would take for a gradient."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bench.base.randomness import EVERYONE, generator
from bench.network.mixing import Mixing, Operator
from bench.training.mixers import make_mixer

ROUNDS = 1000


def moved(networks: Sequence[Mixing], by: Operator = "mix", rounds: int = ROUNDS) -> float:
    """How far the average is from where it was, as the root of the mean square over the networks, one for each seed.

    The nodes begin with numbers of mean 1 and standard deviation 1. Of what is pushed it is push-sum's estimate u/w
    that is looked at, at the node where it is farthest.
    """
    mixer = make_mixer(networks, torch.float64, torch.device("cpu"))
    x = start(networks[0].nodes).expand(len(networks), -1, 1)
    w = torch.ones_like(x)
    for t in range(rounds):
        if by == "push":
            x, w = mixer(t, t, (x, w), "push")
        else:
            (x,) = mixer(t, t, (x,), by)
    off = (x / w - 1).abs().amax(dim=1) if by == "push" else x.mean(dim=1) - 1
    return float(off.square().mean().sqrt())


def start(nodes: int) -> Tensor:
    """(n, 1) of mean 1 and standard deviation 1."""
    x = generator(0, EVERYONE, "averages", 0).standard_normal((nodes, 1))
    return torch.as_tensor(1 + (x - x.mean()) / max(x.std(), 1e-300))
