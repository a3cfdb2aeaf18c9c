"""What an algorithm is: a start, a step, and a declaration of what it costs and assumes.

An algorithm never knows where its nodes live. Its states have shape (R, k, P): R independent runs,
k nodes hosted by this process, P parameters. It touches the world through two callables:

* ``grad(x, s, stream=0)``: mini-batch gradients of the hosted nodes at x on sample number s.
  The same s is the same sample.
* ``mix(*tensors)``: one communication round; every tensor is multiplied by W across nodes.

What they return belongs to the algorithm; nothing is ever modified in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.options import Option, Options, Positive, attribute_options, keyword_options
from bench.base.registry import algorithms
from bench.method.schedules import Kind, Schedule

INFORMATION = ("smoothness", "variance", "heterogeneity", "topology")
"""What a stepsize may need to know of the problem. n and T are free."""


class Grad(Protocol):
    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor: ...


class Mix(Protocol):
    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]: ...


@dataclass(frozen=True)
class Declaration:
    """What a method promises; the contract tests hold it to every word."""

    name: str
    sends: int  # vectors of P numbers a node sends to each neighbour per step
    rounds: int  # calls of mix per step
    samples: int  # sample numbers a step uses up, per node
    start_samples: int  # the same for the start
    needs: tuple[str, ...]  # of INFORMATION, to choose its stepsizes
    assumes: tuple[str, ...]  # beyond smoothness and bounded variance
    estimates: str | None  # the state whose mean estimates the gradient
    bounded: bool  # every node moves by at most eta[t] before mixing
    pooled: bool  # on the complete graph, from one start, the mean does what one node that knows f would
    lambda_min: float | None  # W must be static with eigenvalues above this
    cite: str
    label: str  # what figures and tables call it
    family: str  # methods of one family share a colour


class Algorithm:
    """Base of all methods. Annotated class attributes with a value are options of the method;
    so are the keyword parameters of ``stepsizes``, which may differ between replicas."""

    declaration: ClassVar[Declaration]
    layout: Layout
    eta: Schedule
    alpha: Schedule

    def __init__(self, layout: Layout, schedules: Mapping[str, Schedule], **options: Any) -> None:
        self.layout = layout
        for name, value in {**schedules, **options}.items():
            setattr(self, name, value)
        self.promise = self.declare_for(options)

    @staticmethod
    def stepsizes(kind: Kind, n: int, h: np.ndarray, eta: Positive = 0.01) -> dict[str, Any]:
        """η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant."""
        return {"eta": eta if kind == "constant" else eta * np.sqrt(n / h)}

    def start(self, x: Tensor, grad: Grad) -> Any:
        """The state after 0 steps: a NamedTuple of tensors with a field x."""
        raise NotImplementedError

    def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
        """The state after step t + 1, from the state ``s`` after step t."""
        raise NotImplementedError

    @classmethod
    def declare(cls, **options: Any) -> Declaration:
        """What is promised with these options; for a method with an option that changes it."""
        return cls.declaration

    @classmethod
    def declare_for(cls, given: Mapping[str, Any]) -> Declaration:
        """What is promised in a run with these options, whichever kind they are, and the defaults of all others."""
        structure = cls.structure_options()
        return cls.declare(**{name: given.get(name, option.default) for name, option in structure.items()})

    @classmethod
    def stepsize_options(cls) -> Options:
        return {"schedule": Option(Kind, "diminishing"), **keyword_options(cls.stepsizes)}

    @classmethod
    def structure_options(cls) -> Options:
        return attribute_options(cls)


A = TypeVar("A", bound=Algorithm)


def algorithm(
    name: str,
    *,
    sends: int,
    rounds: int = 1,
    samples: int = 1,
    start_samples: int = 0,
    needs: Iterable[str] = (),
    assumes: Iterable[str] = (),
    estimates: str | None = None,
    bounded: bool = False,
    pooled: bool = False,
    lambda_min: float | None = None,
    cite: str,
    label: str | None = None,
    family: str | None = None,
) -> Callable[[type[A]], type[A]]:
    """Register an algorithm under ``name`` together with its declaration.

    ``label`` is what figures and tables call it; ``family`` is the name of the method that it is a form of, whose
    colour it shares in figures. Both are its own name unless given.
    """
    needs, assumes = tuple(sorted(needs)), tuple(sorted(assumes))
    if unknown := set(needs) - set(INFORMATION):
        raise UserError(f"{name} needs {sorted(unknown)}; what can be needed is {list(INFORMATION)}.")

    def decorate(cls: type[A]) -> type[A]:
        costs, shown = (sends, rounds, samples, start_samples), (label or name, family or name)
        cls.declaration = Declaration(
            name, *costs, needs, assumes, estimates, bounded, pooled, lambda_min, cite, *shown
        )
        algorithms.add(name, cls)
        return cls

    return decorate


def unit(z: Tensor) -> Tensor:
    """z_i/‖z_i‖ over the last axis, the whole vector of each node; 0 where the norm is 0.

    The squares are summed in float64: in float32 they would vanish or overflow at scales where z does not.
    """
    norm = torch.linalg.vector_norm(z, dim=-1, keepdim=True, dtype=torch.float64).to(z.dtype)
    return z / norm.clamp_min(torch.finfo(z.dtype).tiny)
