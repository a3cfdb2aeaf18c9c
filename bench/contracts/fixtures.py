"""Small networks, objectives and assertions for the checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from bench.contracts.simulate import ALL_DATA, Gradient, Trace, simulate
from bench.method import Algorithm, Properties
from bench.method.schedules import Schedule, stepsize_tables
from bench.network.mixing import Mixing, build_mixing

C = TypeVar("C")
NODES, DIMENSION, STEPS = 6, 4, 12

KINDS = ("diminishing", "fixed", "constant")
CONSTANT = {"schedule": "constant"}
ALONE = torch.ones(1, 1, dtype=torch.float64)
Check = Callable[[type[Algorithm]], str | None]
SKIP = "SKIP"
"""The return value of a check that does not apply to a method with these properties."""


class CheckFailed(Exception):
    """A check failed; the message names the property and the measured value."""


class Malformed(CheckFailed):
    """A state has the wrong type or shape, so that the other checks cannot read it."""


def must(holds: object, sentence: str) -> None:
    """Raise ``CheckFailed`` unless the condition holds. Comparisons with NaN do not hold."""
    if not holds:
        raise CheckFailed(sentence)


def equal(a: Tensor, b: Tensor, sentence: str, hint: str = "") -> None:
    off = ((a - b).abs().max() / a.abs().max().clamp_min(1e-300)).item()
    must(off <= 1e-12, f"{sentence} (relative difference {off:.2g}){hint}")


def applies_to(which: Callable[[Properties], object]) -> Callable[[Check], Check]:
    """Decorate a check so that it returns ``SKIP`` for methods without the declared property."""

    def decorate(check: Check) -> Check:
        @wraps(check)
        def checked(cls: type[Algorithm]) -> str | None:
            return check(cls) if which(cls.declare_for({})) else SKIP

        return checked

    return decorate


def ring(nodes: int = NODES) -> Tensor:
    """Return the lazy matrix of a ring, whose eigenvalues are positive as some methods require."""
    return torch.as_tensor(build_mixing("ring", nodes, lazy=True).matrices[0])


class Network(NamedTuple):
    """The matrix of ``mix`` and ``push``, and the matrix of ``pull``."""

    w: Tensor
    pull: Tensor

    @classmethod
    def of(cls, mixing: Mixing) -> Network:
        """Return the matrices of the first round."""
        return cls(*(torch.as_tensor(w.dense()) for w in mixing.at(0)[1:] if w is not None))


def network(cls: type[Algorithm]) -> Network:
    """Return a ring, or a directed graph for methods that push or pull."""
    doubly = cls.declare_for({}).mixes == "doubly"
    mixing = build_mixing("ring", NODES, lazy=True) if doubly else build_mixing("random_digraph", NODES, p=0.4)
    return Network.of(mixing)


def close(cls: type[Algorithm]) -> Network:
    """Return a network with fast mixing (ρ = 0.2), or the exact average for methods that require it."""
    properties = cls.declare_for({})
    if properties.mixes != "doubly":
        return network(cls)
    w = torch.full((NODES, NODES), 1 / NODES, dtype=torch.float64)
    if not properties.exact_average:
        own = torch.eye(NODES, dtype=torch.float64)
        w = sum((own.roll(hops, 1) / 5 for hops in (-2, -1, 1, 2)), own / 5)
        w = w if properties.lambda_min is None else (own + w) / 2
    return Network(w, w)


def run_close(cls: type[Algorithm], gradient: Gradient, x: Tensor, steps: int = STEPS, **options: Any) -> Trace:
    """Simulate a method on the network ``close``, with a constant stepsize and equal seeds for all replicas."""
    w, pull = close(cls)
    return simulate(cls, w, gradient, x, steps, CONSTANT, pull=pull, seeds=[0] * len(x), **options)


def with_options(cls: type[C], given: Mapping[str, Any]) -> type[C]:
    """Return a method or a compressor with other defaults; raise a UserError if it rejects them."""
    if not issubclass(cls, Algorithm):
        return type(cls.__name__, (cls,), dict(given))
    steps = cls.stepsize_options()
    own = {name: replace(option, default=given.get(name, option.default)) for name, option in steps.items()}
    values = {name: value for name, value in given.items() if name not in steps}
    made: Any = type(cls.__name__, (cls,), {**values, "stepsize_options": classmethod(lambda cls: own)})
    made.declare_for({})
    return made


def has_stepsize(cls: type[Algorithm]) -> bool:
    """Return whether the method has a stepsize ``eta``."""
    return "eta" in stepsizes(cls, 1)


def stepsizes(cls: type[Algorithm], steps: int, **options: Any) -> dict[str, Schedule]:
    """Return the stepsize tables of the method; missing options have their defaults."""
    defaults = {k: o.default for k, o in cls.stepsize_options().items()}
    return stepsize_tables(cls.stepsizes, [{**defaults, **options}], NODES, steps, torch.float64)


def quadratics(nodes: int = NODES, noise: float = 0.3) -> Gradient:
    """Return noisy gradients of a different quadratic on every node; the noise depends on (s, stream, node)."""
    g = torch.Generator().manual_seed(nodes)
    scale = 1 + torch.rand(nodes, DIMENSION, generator=g, dtype=torch.float64)
    center = torch.randn(nodes, DIMENSION, generator=g, dtype=torch.float64)
    table = noise * torch.randn(2, 8 * STEPS, nodes, DIMENSION, generator=g, dtype=torch.float64)

    def gradient(x: Tensor, s: int, stream: int) -> Tensor:
        noise = 0 if s == ALL_DATA else table[stream, s % (8 * STEPS)]
        return (scale * (x - center) + noise).to(x.dtype)

    return gradient


def start(replicas: int = 1, nodes: int = NODES, dtype: torch.dtype = torch.float64) -> Tensor:
    g = torch.Generator().manual_seed(1)
    return torch.randn(replicas, nodes, DIMENSION, generator=g, dtype=torch.float64).to(dtype)
