"""Options: the keyword parameters of registered functions and classes.

``algo.eta`` exists because the method's ``stepsizes`` takes ``eta``; ``topology.p`` because the graph's function takes
``p``. Types and defaults come from the signature, so that there is no second list. ``Count``, ``Natural``,
``NonNegative``, ``Positive``, ``Part`` and ``Decay`` annotate options with a range.
"""

from __future__ import annotations

import inspect
import math
import shlex
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from bench.base.errors import UserError, closest
from bench.base.home import expanded


@dataclass(frozen=True)
class Neutral:
    """The value at which a run has the same name and numbers as without the option. It marks options added later.

    Example:
        >>> momentum: Annotated[float, Neutral(0.0)] = 0.0
    """

    value: Any


@dataclass(frozen=True)
class Option:
    """An option: its type (a plain type, a Literal, or a union of these with None) and default."""

    type: Any
    default: Any
    neutral: Neutral | None = None

    @property
    def missing(self) -> Any:
        """The value if a configuration does not name it: neutral, since older configurations lack the option."""
        return self.neutral.value if self.neutral else self.default

    @property
    def is_number(self) -> bool:
        """Whether replicas may differ in it: true of floats only."""
        return self.type is float or (typing.get_origin(self.type) is Annotated and self.type.__origin__ is float)


Options = dict[str, Option]


def without_neutral(options: Options, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not neutral, which distinguish runs."""
    return {name: value for name, value in values.items() if options[name].neutral != Neutral(value)}


@dataclass(frozen=True)
class AtLeast:
    """The range of an option, as in ``Annotated[int, AtLeast(1, most=8)]``.

    Attributes:
        bound: The smallest value.
        strict: Whether the value must exceed ``bound``.
        most: The largest value.
        below: The value must be less than this.
    """

    bound: float
    strict: bool = False
    most: float = math.inf
    below: float = math.inf


Count = Annotated[int, AtLeast(1)]
Natural = Annotated[int, AtLeast(0)]
NonNegative = Annotated[float, AtLeast(0)]
Positive = Annotated[float, AtLeast(0, strict=True)]
Part = Annotated[float, AtLeast(0, strict=True, most=1)]
Decay = Annotated[float, AtLeast(0, below=1)]


def keyword_options(function: Callable[..., Any]) -> Options:
    """Return the parameters of ``function`` that have a default, as options."""
    hints = typing.get_type_hints(function, include_extras=True)
    return {
        name: _option(hints.get(name, Any), parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


def attribute_options(cls: type) -> Options:
    """Return the annotated class attributes of ``cls`` and its bases that have a value, as options."""
    return _attribute_options(cls)  # mypy does not accept type[Self] for an argument of a cached function


@cache  # every run of a sweep calls this
def _attribute_options(cls: type) -> Options:
    return {
        name: _option(hint, getattr(cls, name))
        for name, hint in typing.get_type_hints(cls, include_extras=True).items()
        if typing.get_origin(hint) is not typing.ClassVar and hasattr(cls, name)
    }


def _option(hint: Any, default: Any) -> Option:
    marks = getattr(hint, "__metadata__", ())
    neutral = next((mark for mark in marks if isinstance(mark, Neutral)), None)
    if neutral is None:
        return Option(hint, default)
    rest = tuple(mark for mark in marks if mark is not neutral)
    return Option(Annotated[(hint.__origin__, *rest)] if rest else hint.__origin__, default, neutral)


class NoOption(UserError):
    """An option that does not exist."""


def coerce(
    options: Options,
    values: Mapping[str, Any],
    where: str,
    owner: str,
    meant: Callable[[str], Sequence[str] | None] = lambda key: None,
) -> dict[str, Any]:
    """Return typed values for all options: the given ones, and defaults for the rest.

    In messages, ``where`` is the prefix on the command line, such as ``algo.``, ``owner`` has the options, and
    ``meant`` suggests options of the same name elsewhere.

    Raises:
        NoOption: A name is no option.
        UserError: A value has the wrong type or range.
    """
    for name in values:
        if name not in options:
            key = where + name
            raise NoOption(f"{owner} has no option '{key}'.{closest(name, options, meant(key))}")
    return {
        name: convert(values[name], option.type, where + name) if name in values else option.missing
        for name, option in options.items()
    }


def _plain(value: Any, name: str) -> Any:
    """Return a value of a mapping: numbers, words, switches, and lists and mappings of these."""
    if isinstance(value, Mapping):
        return {_word(key, name): _plain(part, f"{name}.{key}") for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, name) for part in value]
    _storable(value, name)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UserError(f"{name} must be a number, a word, true or false, or a list or mapping of these; got {value!r}.")


def _word(key: Any, name: str) -> str:
    """Return a key of a mapping; raise ``UserError`` if it is no text, since JSON has no other keys."""
    if isinstance(key, str):
        return key
    raise UserError(f"{name} must be a mapping from words; got the key {key!r}. Use keys that start with a letter.")


def _storable(value: Any, name: str) -> None:
    """Raise ``UserError`` if the files of a run cannot store a number."""
    if isinstance(value, int):
        _fit_64_bits(value, name)
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} must be a finite number; got {value!r}.")


def _fit_64_bits(value: int, name: str) -> None:
    """Raise ``UserError`` if the files of a run cannot store an integer."""
    if not -(1 << 63) <= value < 1 << 63:
        raise UserError(f"{name} must be an integer between -2^63 and 2^63 - 1; got {value}.")


_WORDS = {float: "a number", int: "a whole number", bool: "true or false", str: "a word", Path: "a path"}


def convert(value: Any, to: Any, name: str) -> Any:
    """Return ``value`` as type ``to``; raise ``UserError`` if it is none. 3.0 is an integer, true is not a number."""
    origin = typing.get_origin(to)
    if to is Any:
        _storable(value, name)
        return value
    if origin is Annotated:
        inner, limit = typing.get_args(to)
        number = convert(value, inner, name)
        if number < limit.bound or (limit.strict and number == limit.bound):
            allowed = f"{'more than' if limit.strict else 'at least'} {limit.bound}"
            raise UserError(f"{name} must be {allowed}; got {number:g}.")
        if number > limit.most:
            raise UserError(f"{name} must be at most {limit.most}; got {number:g}.")
        if number >= limit.below:
            raise UserError(f"{name} must be less than {limit.below}; got {number:g}.")
        return number
    if origin is Literal:
        choices = typing.get_args(to)
        if value in choices:
            return value
        raise UserError(f"{name} must be one of {', '.join(map(str, choices))}; got {value!r}.")
    if origin is dict:
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: _plain(part, f"{name}.{key}") for key, part in value.items()}
        raise UserError(f"{name} must be a mapping from words, as in '{name}={{width: 64}}'; got {value!r}.")
    if origin is list:
        words = shlex.split(value) if isinstance(value, str) else value
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            return words
        raise UserError(f"{name} must be a list of words; got {value!r}.")
    if origin in (typing.Union, types.UnionType):
        if value is None and types.NoneType in typing.get_args(to):
            return None
        *others, last = (arm for arm in typing.get_args(to) if arm is not types.NoneType)
        for arm in others:  # the first that fits
            with suppress(UserError):
                return convert(value, arm, name)
        return convert(value, last, name)
    if to is int and isinstance(value, int):
        _fit_64_bits(value, name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if to is float and is_number:
        return float(value)
    if to is int and is_number and float(value).is_integer():
        _fit_64_bits(int(value), name)
        return int(value)
    if to is Path and isinstance(value, str):
        return expanded(value).resolve()
    if to in (str, bool) and isinstance(value, to):
        return value
    if to is str and isinstance(value, int | float):
        return str(value)
    raise UserError(f"{name} must be {_WORDS.get(to, str(to))}; got {value!r}.")
