"""The decorator that registers a method and declares its properties."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from bench.base import renamed
from bench.base.errors import UserError, closest
from bench.base.options import Options, convert
from bench.base.provenance import PROVENANCE
from bench.base.registry import algorithms
from bench.method.algorithm import Algorithm
from bench.method.properties import INFORMATION, Properties

A = TypeVar("A", bound=Algorithm)
NAMES = ("needs", "assumes", "zero_sum", "diagnostic_states")
"""Properties that are tuples of names."""


def algorithm(
    name: str, *, defaults: Mapping[str, Any] | None = None, **properties: Any
) -> Callable[[type[A]], type[A]]:
    """Register a method under a name, together with its properties.

    A decorator for a subclass of ``Algorithm``. ``python bench/contract.py NAME`` checks the declared properties.

    Args:
        name: The name on the command line, ``algo=NAME``.
        defaults: Defaults of inherited options, such as ``{"eta": 0.3, "schedule": "fixed"}``.
        **properties: Fields of ``Properties``. ``vectors_per_step`` and ``cite`` are required. A tuple of names may
            be any iterable, or one name. Defaults that depend on other properties: ``gradients`` is ``samples``;
            ``label`` and ``family`` are ``name``; ``fixed_point`` is ``"near"`` if the method assumes
            ``"bounded heterogeneity"`` or is ``bounded_step`` or ``scale_free``, else ``"exact"``.

    Returns:
        A decorator that sets ``cls.properties``, registers the class and returns it.

    Raises:
        UserError: A property is unknown, renamed or missing, ``defaults`` has an unknown option or an invalid value, an
            option has a name that is not available, or the name is already registered.

    Example:
        >>> @algorithm("gossip", vectors_per_step=1, samples=0, cite="Boyd et al. 2006")
        ... class Gossip(Algorithm):
        ...     '''Average with the neighbors, without gradients.'''
    """
    known = {item.name for item in fields(Properties)} - {"name"}
    for word in properties:
        if word in renamed.PROPERTIES:
            raise UserError(f"{name} declares '{word}', which is now called {renamed.PROPERTIES[word]}.")
        if word not in known:
            raise UserError(f"{name} declares '{word}', which is not a property of a method.{closest(word, known)}")
    for word, example in (("vectors_per_step", "1"), ("cite", "'Author et al. 2024'")):
        if word not in properties:
            raise UserError(f"{name} lacks the property {word}. Add {word}={example}.")
    for word in NAMES:
        names = properties.get(word, ())
        properties[word] = (names,) if isinstance(names, str) else tuple(sorted(names))
    if unknown := set(properties["needs"]) - set(INFORMATION):
        raise UserError(f"{name} declares needs={sorted(unknown)}; allowed are {list(INFORMATION)}.")
    if (status := properties.get("provenance", "unstated")) not in PROVENANCE:
        raise UserError(f"{name} declares provenance={status!r}; allowed are {list(PROVENANCE)}.")
    near = "bounded heterogeneity" in properties["assumes"] or any(map(properties.get, ("bounded_step", "scale_free")))
    usual = {
        "gradients": properties.get("samples", 1),
        "label": name,
        "family": name,
        "fixed_point": "near" if near else "exact",
    }

    def decorate(cls: type[A]) -> type[A]:
        _check_options(cls, name)
        cls.properties = Properties(name=name, **usual | properties)
        cls.defaults = {}  # not those of a registered base class
        if defaults:
            cls.defaults = _checked(defaults, cls.stepsize_options(), name)
        algorithms.add(name, cls)
        return cls

    return decorate


NOT_OPTIONS = frozenset(
    {"name", "properties", *(word for word in vars(Algorithm) if not word.startswith("_"))}
    - {"coin", "rho", "lambda_2", "lambda_n"}
)
"""Names that are not available as options: configurations and the base class use them."""


def _check_options(cls: type[Algorithm], name: str) -> None:
    """Raise ``UserError`` if an option has a name that is not available."""
    bases = cls.__mro__[: cls.__mro__.index(Algorithm)]
    words = {word for base in bases for word in inspect.get_annotations(base) if word in vars(base)}
    words = words & NOT_OPTIONS or {"name"} & inspect.signature(cls.stepsizes).parameters.keys()
    if words:
        word = min(words)
        raise UserError(
            f"{name} has an option '{word}', which hearsay uses itself. Rename the option, such as my_{word}."
        )


def _checked(defaults: Mapping[str, Any], options: Options, name: str) -> dict[str, Any]:
    """Return the declared defaults with the types of their options; raise ``UserError`` if one is invalid."""
    for option in defaults:
        if option not in options:
            raise UserError(
                f"{name} declares defaults={{'{option}': …}}, which is not its schedule or an option of its stepsizes."
                f"{closest(option, options)}"
            )
    return {
        option: convert(value, options[option].type, f"{option} in defaults of {name}")
        for option, value in defaults.items()
    }
