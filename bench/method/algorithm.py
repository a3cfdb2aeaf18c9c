"""What an algorithm is: a start, a step, and a declaration of what it costs and assumes.

An algorithm never knows where its nodes live. Its states have shape (R, k, …): R independent runs,
k nodes hosted by this process, usually P parameters. It touches the world through two callables:

* ``grad(x, s, stream=0)``: mini-batch gradients of the hosted nodes at x on sample number s.
  The same s is the same sample. ``grad.full(x)``: gradients on all data that the nodes hold.
* ``mix(*tensors)``: one communication round; every tensor is multiplied by W across nodes.
  With ``when``, only in the replicas where it is true. On networks that point one way there are
  ``mix.push`` (columns sum to one: mass is kept), ``mix.pull`` (rows sum to one: constants are kept) and
  ``mix.push_pull(push, pull)``, both in one round; ``mix.compressed(*tensors)`` gives C(v) and W C(v) for each v.

Both count what they are asked for. What they return belongs to the algorithm; nothing is ever modified in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import torch
from torch import Tensor

from bench.base.errors import UserError, closest
from bench.base.layout import Layout
from bench.base.options import Option, Options, Positive, attribute_options, keyword_options
from bench.base.prox import Prox, stays
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import algorithms, schedules
from bench.method.declaration import INFORMATION, Declaration
from bench.method.schedules import Schedule, Steps


class Grad(Protocol):
    def __call__(self, x: Tensor, s: int, stream: int = 0) -> Tensor: ...

    def full(self, x: Tensor) -> Tensor: ...


class Mix(Protocol):
    def __call__(self, *tensors: Tensor, when: Tensor | None = None) -> tuple[Tensor, ...]: ...

    def push(self, *tensors: Tensor) -> tuple[Tensor, ...]: ...

    def pull(self, *tensors: Tensor) -> tuple[Tensor, ...]: ...

    def push_pull(
        self, push: tuple[Tensor, ...], pull: tuple[Tensor, ...]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]: ...

    def compressed(self, *tensors: Tensor) -> tuple[tuple[Tensor, Tensor], ...]: ...


class Algorithm:
    """Base of all methods. Annotated class attributes with a value are options of the method, and so are the keyword
    parameters of ``stepsizes``. A ``float`` among them is a tensor (R, 1, 1): replicas may differ in all numbers."""

    declaration: ClassVar[Declaration]
    layout: Layout
    n: int  # nodes of the whole network
    prox: Prox  # x, where the objective has no part without a gradient
    eta: Schedule
    alpha: Schedule

    def __init__(
        self,
        layout: Layout,
        schedules: Mapping[str, Schedule],
        words: Mapping[str, Any],
        numbers: Mapping[str, Tensor],
        promise: Declaration,
        seeds: Sequence[int] = (0,),
        knows: Mapping[str, Tensor] | None = None,
        device: torch.device | str = "cpu",
        n: int = 1,
        prox: Prox = stays,
    ) -> None:
        self.layout, self.promise, self._device, self.n, self.prox = layout, promise, device, n, prox
        for name, value in {**schedules, **words, **numbers}.items():
            setattr(self, name, value)
        self._seeds = tuple(seeds)
        self._knows = dict(knows or {}) if "topology" in promise.needs else {}

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 0.01) -> dict[str, Any]:
        """η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant."""
        return {"eta": eta * at.root}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
        """The state after 0 steps: a NamedTuple of tensors with a field x."""
        raise NotImplementedError

    def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
        """The state after step t + 1, from the state ``s`` after step t."""
        raise NotImplementedError

    def coin(self, t: int, p: float | Tensor) -> Tensor:
        """True with probability p, (R, 1, 1): in each replica one for all nodes, and the same whenever asked."""
        draws = [generator(seed, EVERYONE, "coin", t).random() for seed in self._seeds]
        heads = torch.tensor(draws, dtype=torch.float64)[:, None, None] < torch.as_tensor(p, dtype=torch.float64).cpu()
        return heads.to(self._device)

    @property
    def rho(self) -> Tensor:
        """max(|λ₂|, |λ_n|) of W, (R, 1, 1), for a method that says it needs the topology."""
        return self._known("rho")

    @property
    def lambda_2(self) -> Tensor:
        """The second largest eigenvalue of W, (R, 1, 1), for a method that says it needs the topology."""
        return self._known("lambda_2")

    @property
    def lambda_n(self) -> Tensor:
        """The smallest eigenvalue of W, (R, 1, 1), for a method that says it needs the topology."""
        return self._known("lambda_n")

    def _known(self, what: str) -> Tensor:
        if what not in self._knows:
            if "topology" not in self.promise.needs:
                raise UserError(f"{self.promise.name} asks for {what} of W: declare that it needs={{'topology'}}.")
            raise UserError(f"{self.promise.name} asks for {what} of W, which this network does not have.")
        return self._knows[what]

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
        return {"schedule": Option(Literal[tuple(schedules)], "diminishing"), **keyword_options(cls.stepsizes)}

    @classmethod
    def structure_options(cls) -> Options:
        return attribute_options(cls)

    @classmethod
    def number_options(cls) -> list[str]:
        """The options in which the replicas of a program may differ."""
        return [*cls.stepsize_options(), *(name for name, o in cls.structure_options().items() if o.is_number)]


A = TypeVar("A", bound=Algorithm)


def algorithm(
    name: str,
    *,
    needs: Iterable[str] = (),
    assumes: Iterable[str] = (),
    zero_sum: Iterable[str] = (),
    unread: Iterable[str] = (),
    tracks: Mapping[str, str] = MappingProxyType({}),
    samples: int = 1,
    gradients: int | None = None,
    label: str | None = None,
    family: str | None = None,
    **words: Any,
) -> Callable[[type[A]], type[A]]:
    """Register an algorithm under ``name`` together with its declaration, whose ``words`` have their defaults there.

    A step evaluates as many gradients as it uses samples, unless said. ``label`` is what figures and tables call it;
    ``family`` is the name of the method that it is a form of, whose colour it shares. Both are its name unless given.
    It ends at the minimiser unless said, or unless what it assumes, or steps that do not shrink with the gradient, tell
    that it ends near it.
    """
    if unknown := set(needs) - set(INFORMATION):
        raise UserError(f"{name} needs {sorted(unknown)}; what can be needed is {list(INFORMATION)}.")
    known = {item.name: item for item in fields(Declaration)}
    for word in words:
        if word not in known:
            raise UserError(f"{name} declares '{word}', which is no word of a declaration.{closest(word, known)}")
    for word in ("sends", "cite"):
        if word not in words:
            raise UserError(f"{name} must declare {word}={'…' if word == 'sends' else repr('where the rule is from')}.")

    near = "bounded heterogeneity" in assumes or words.get("bounded") or words.get("scale_free")
    words.setdefault("fixed_point", "near" if near else "exact")

    def decorate(cls: type[A]) -> type[A]:
        cls.declaration = Declaration(
            name=name,
            needs=tuple(sorted(needs)),
            assumes=tuple(sorted(assumes)),
            zero_sum=(zero_sum,) if isinstance(zero_sum, str) else tuple(sorted(zero_sum)),
            unread=(unread,) if isinstance(unread, str) else tuple(sorted(unread)),
            tracks=dict(tracks),
            samples=samples,
            gradients=samples if gradients is None else gradients,
            label=label or name,
            family=family or name,
            **words,
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
