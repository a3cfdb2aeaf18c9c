"""The base class of all methods.

A method is a ``start`` and a ``step`` over states of shape (R, k, P): R independent runs (replicas), k nodes hosted by
this process, P parameters. It reaches data and neighbors only through ``grad`` and ``mix``
(bench/method/protocols.py), so that the same method runs on every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from bench.base.errors import UserError
from bench.base.layout import Layout
from bench.base.options import Option, Options, Positive, attribute_options, keyword_options
from bench.base.prox import Prox
from bench.base.randomness import EVERYONE, generator
from bench.base.registry import schedules
from bench.method.properties import Properties
from bench.method.protocols import Grad, Mix
from bench.method.schedules import Schedule, Steps


class Algorithm:
    """Base class of all methods. Subclass it, define ``start`` and ``step``, and decorate with ``@algorithm``.

    Annotated class attributes with a value are options of the method, ``algo.NAME`` on the command line. So are the
    keyword parameters of ``stepsizes``. A ``float`` option is a tensor (R, 1, 1), because replicas may differ in it.
    A method must not keep anything outside its state, nor modify tensors in place.

    Attributes:
        properties: The declared properties; on an instance, those with its options.
        defaults: The declared defaults of the schedule and of options of ``stepsizes``. ``bench/contract.py`` uses the
            values of the signature instead.
        layout: Where each tensor of the model lies in the vector of P parameters.
        n: Nodes of the whole network.
        prox: ``prox(x, η)``, the proximal step of a nonsmooth regularizer; returns x if there is none.
        eta: The stepsizes, ``eta[t]`` of shape (R, 1, 1). Every key that ``stepsizes`` returns is such an attribute.
        alpha: As ``eta``, if ``stepsizes`` returns it.

    Example:
        >>> class State(NamedTuple):
        ...     x: Tensor
        >>> @algorithm("mine", vectors_per_step=1, assumes={"bounded heterogeneity"}, cite="folklore")
        ... class Mine(Algorithm):
        ...     def start(self, x, grad, mix):
        ...         return State(x)
        ...     def step(self, s, t, grad, mix):
        ...         (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
        ...         return State(x)
    """

    properties: ClassVar[Properties]
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    layout: Layout
    n: int
    prox: Prox
    eta: Schedule
    alpha: Schedule

    def __init__(
        self,
        layout: Layout,
        attributes: Mapping[str, Any],
        properties: Properties,
        seeds: Sequence[int],
        knows: Mapping[str, Tensor],
        device: torch.device | str,
        n: int,
        prox: Prox,
    ) -> None:
        self.layout, self._device, self.n, self.prox = layout, device, n, prox
        for name, value in {**attributes, "properties": properties}.items():
            setattr(self, name, value)
        self._seeds = tuple(seeds)
        self._knows = knows if "topology" in properties.needs else {}

    @staticmethod
    def stepsizes(at: Steps, eta: Positive = 0.01) -> dict[str, Any]:
        """η√(n/h), with h = t (diminishing) or T (fixed); η alone when constant.

        Args:
            at: The steps, nodes and schedule that a stepsize may depend on.
            eta: The multiplier η > 0. Its default suits no problem in particular; a method declares its own with
                ``@algorithm(…, defaults={"eta": 0.3})``. Override the method for other stepsizes: every parameter with
                a default is an option, and ``python bench/methods.py NAME`` prints the docstring up to its arguments.

        Returns:
            Stepsizes by name, each a number or an array over t, (T,). Each becomes an attribute of the method.

        Example:
            >>> DSGD.stepsizes(Steps.of("fixed", n=4, T=100), eta=0.5)["eta"][0]
            0.1
        """
        return {"eta": eta * at.root}

    def start(self, x: Tensor, grad: Grad, mix: Mix) -> Any:
        """Return the state after 0 steps. Every method defines it.

        Args:
            x: The initial points of the hosted nodes, (R, k, P).
            grad: Gradients of the hosted nodes.
            mix: Communication with the neighbors.

        Returns:
            A NamedTuple of tensors with a field ``x``, the models, (R, k, P).

        Example:
            >>> return State(x, m=torch.zeros_like(x))
        """
        raise NotImplementedError

    def step(self, s: Any, t: int, grad: Grad, mix: Mix) -> Any:
        """Return the state after t + 1 steps. Every method defines it.

        Args:
            s: The state after t steps, as ``start`` or ``step`` returned it.
            t: The number of steps already made, 0, …, T−1.
            grad: Gradients of the hosted nodes. Use a new sample number in every step.
            mix: Communication with the neighbors.

        Returns:
            A new state of the same type and shapes.

        Example:
            >>> (x,) = mix(s.x - self.eta[t] * grad(s.x, t))
            >>> return State(x)
        """
        raise NotImplementedError

    def coin(self, t: int, p: float | Tensor) -> Tensor:
        """Flip one coin for all nodes, independently in each replica and step.

        Args:
            t: The step. Calls with the same t return the same coin.
            p: The probability of True, a number or (R, 1, 1).

        Returns:
            A boolean tensor (R, 1, 1).

        Example:
            >>> (x,) = mix(s.x, when=self.coin(t, 0.2))  # communicate in one of five steps
        """
        draws = [generator(seed, EVERYONE, "coin", t).random() for seed in self._seeds]
        heads = torch.tensor(draws, dtype=torch.float64)[:, None, None] < torch.as_tensor(p, dtype=torch.float64).cpu()
        return heads.to(self._device)

    @property
    def rho(self) -> Tensor:
        """The second largest absolute eigenvalue of W, max(|λ₂|, |λ_n|), (R, 1, 1).

        Raises:
            UserError: The method does not declare ``needs={"topology"}``, or the network has no such number.

        Example:
            >>> gamma = 1 - self.rho
        """
        return self._known("rho")

    @property
    def lambda_2(self) -> Tensor:
        """The second largest eigenvalue of W, (R, 1, 1), under the conditions of ``rho``."""
        return self._known("lambda_2")

    @property
    def lambda_n(self) -> Tensor:
        """The smallest eigenvalue of W, (R, 1, 1), under the conditions of ``rho``."""
        return self._known("lambda_n")

    def _known(self, what: str) -> Tensor:
        if what not in self._knows:
            if "topology" not in self.properties.needs:
                raise UserError(f"{self.properties.name} uses {what} of W. Declare needs={{'topology'}}.")
            raise UserError(f"{self.properties.name} uses {what} of W, which this network does not have.")
        return self._knows[what]

    @classmethod
    def declare(cls, **options: Any) -> Properties:
        """Return the properties with these options. Override it if an option changes them.

        Args:
            **options: All options of the method that are class attributes, by name.

        Returns:
            ``cls.properties``, or a copy of it that ``dataclasses.replace`` changed.

        Raises:
            UserError: In an override, if options exclude each other.

        Example:
            >>> def declare(cls, *, gossip, **others):
            ...     return cls.properties if gossip == "once" else replace(cls.properties, rounds=2)
        """
        return cls.properties

    @classmethod
    def declare_for(cls, given: Mapping[str, Any]) -> Properties:
        """Return the properties of a run with these options of any kind, and defaults for all others."""
        structure = cls.structure_options()
        return cls.declare(**{name: given.get(name, option.default) for name, option in structure.items()})

    @classmethod
    def stepsize_options(cls) -> Options:
        """Return the schedule and the options of ``stepsizes``."""
        return {"schedule": Option(Literal[tuple(schedules)], "diminishing"), **keyword_options(cls.stepsizes)}

    @classmethod
    def structure_options(cls) -> Options:
        """Return the options that are class attributes."""
        return attribute_options(cls)

    @classmethod
    def options(cls) -> Options:
        """Return all options of a run, with the defaults that the decorator declares."""
        options = {**cls.stepsize_options(), **cls.structure_options()}
        return {name: replace(one, default=cls.defaults.get(name, one.default)) for name, one in options.items()}

    @classmethod
    def number_options(cls) -> list[str]:
        """Return the names of the options in which replicas may differ."""
        return [*cls.stepsize_options(), *(name for name, o in cls.structure_options().items() if o.is_number)]
