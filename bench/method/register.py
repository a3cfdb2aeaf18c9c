"""The decorator that registers a method and declares its properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, TypeVar

from bench.base import renamed
from bench.base.errors import UserError, closest
from bench.base.registry import algorithms
from bench.method.algorithm import Algorithm
from bench.method.properties import INFORMATION, Properties

A = TypeVar("A", bound=Algorithm)


def algorithm(
    name: str,
    *,
    needs: Iterable[str] = (),
    assumes: Iterable[str] = (),
    zero_sum: Iterable[str] = (),
    diagnostic_states: Iterable[str] = (),
    tracks: Mapping[str, str] = MappingProxyType({}),
    samples: int = 1,
    gradients: int | None = None,
    label: str | None = None,
    family: str | None = None,
    **words: Any,
) -> Callable[[type[A]], type[A]]:
    """Register a method under a name, together with its properties.

    A decorator for a subclass of ``Algorithm``. ``python bench/contract.py NAME`` checks the declared properties.

    Args:
        name: The name on the command line, ``algo=NAME``.
        needs: Problem parameters that the stepsizes need, from ``INFORMATION``.
        assumes: Assumptions beyond smoothness and bounded variance, as short phrases.
        zero_sum: States that sum to zero over the nodes; one name or several.
        diagnostic_states: States that do not influence x; one name or several.
        tracks: Pairs of states whose means over the nodes are equal, such as ``{"u": "v"}``.
        samples: Sample numbers that one step uses.
        gradients: Mini-batch gradients that one step evaluates. Default: ``samples``.
        label: The name in figures and tables. Default: ``name``.
        family: The method that this one is a variant of, whose color it shares. Default: ``name``.
        **words: Further fields of ``Properties``. ``vectors_per_step`` and ``cite`` are required. ``fixed_point``
            is ``"near"`` by default if the method assumes bounded heterogeneity, or is ``bounded_step`` or
            ``scale_free``; else ``"exact"``.

    Returns:
        A decorator that sets ``cls.properties``, registers the class and returns it.

    Raises:
        UserError: A property is unknown, renamed or missing, or the name is already registered.

    Example:
        >>> @algorithm("gossip", vectors_per_step=1, samples=0, cite="Boyd et al. 2006")
        ... class Gossip(Algorithm):
        ...     '''Average with the neighbors, without gradients.'''
    """
    if unknown := set(needs) - set(INFORMATION):
        raise UserError(f"{name} needs {sorted(unknown)}; what can be needed is {list(INFORMATION)}.")
    known = {item.name: item for item in fields(Properties)}
    for word in words:
        if word in renamed.PROPERTIES:
            raise UserError(f"{name} declares '{word}', which is now called {renamed.PROPERTIES[word]}.")
        if word not in known:
            raise UserError(f"{name} declares '{word}', which is not a property of a method.{closest(word, known)}")
    for word in ("vectors_per_step", "cite"):
        if word not in words:
            raise UserError(
                f"{name} must declare {word}={'…' if word == 'vectors_per_step' else repr('where the rule is from')}."
            )

    near = "bounded heterogeneity" in assumes or words.get("bounded_step") or words.get("scale_free")
    words.setdefault("fixed_point", "near" if near else "exact")

    def decorate(cls: type[A]) -> type[A]:
        cls.properties = Properties(
            name=name,
            needs=tuple(sorted(needs)),
            assumes=tuple(sorted(assumes)),
            zero_sum=(zero_sum,) if isinstance(zero_sum, str) else tuple(sorted(zero_sum)),
            diagnostic_states=(diagnostic_states,)
            if isinstance(diagnostic_states, str)
            else tuple(sorted(diagnostic_states)),
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
