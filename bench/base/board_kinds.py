"""The kinds of values in board.yaml and sealed.yaml, which anybody may have written."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.base.errors import closest
from bench.base.submissions import GRIDS


class Kind(NamedTuple):
    """A kind of value: what it is in words, and whether a value is one."""

    words: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class Each:
    """A mapping from names to values of one kind."""

    part: Any


@dataclass(frozen=True)
class Optional:
    """A key that may be absent."""

    part: Any


def _number(low: float, high: float, *, strict: bool = False) -> Callable[[Any], bool]:
    return lambda value: type(value) in (int, float) and (low < value if strict else low <= value) and value <= high


def _whole(most: int) -> Kind:
    return Kind(f"an integer between 1 and {most}", lambda value: type(value) is int and 1 <= value <= most)


NAME = re.compile(r"\w[\w.-]*")
LARGEST = 1e12
OF_PROBLEM = (
    *("algo", "batch_size", "compressor", "dataset", "dtype", "eval_samples", "input_scale", "links", "loss", "model"),
    *("network", "nodes", "partition", "regularizer", "scale", "topology", "validation"),
)
OF_RUNS = ("tracker", "eval_spacing", "checkpoint_every")
"""Settings of all runs. The tracker is none: a board must not choose where runs are uploaded."""
TEXT = Kind("a text of letters, digits, '_', '.' and '-'", lambda value: isinstance(value, str) and _is_name(value))
COUNT = _whole(1_000_000)
SEED = Kind("an integer between 0 and 2^32 − 1", lambda value: type(value) is int and 0 <= value < 2**32)
SIZE = Kind("a number of at least 0", _number(0, LARGEST))
POSITIVE = Kind("a positive number", _number(0, LARGEST, strict=True))
RATE = Kind("a positive number or .inf", _number(0, math.inf, strict=True))
PART = Kind("a number above 0 and at most 1", _number(0, 1, strict=True))
RANGE = Kind(
    "two positive numbers, the smaller first",
    lambda value: (
        isinstance(value, list) and len(value) == 2 and all(map(POSITIVE.holds, value)) and value[0] <= value[1]
    ),
)


def _is_name(value: str) -> bool:
    return NAME.fullmatch(value) is not None


def _is_plain(value: Any) -> bool:
    return _is_name(value) if isinstance(value, str) else isinstance(value, int | float | None)


def _fits(key: Any, value: Any) -> bool:
    """Whether a setting of a problem has a name or number. Of options, only those of methods are texts: others name
    files and commands."""
    if not (isinstance(key, str) and _is_name(key) and _is_plain(value)):
        return False
    group, dot, _ = key.partition(".")
    return group in OF_PROBLEM and not (isinstance(value, str) and dot and group != "algo")


SETTINGS = Kind(
    f"a mapping from settings to names and numbers, without files; it may set {', '.join(OF_PROBLEM)}",
    lambda value: isinstance(value, dict) and all(_fits(key, item) for key, item in value.items()),
)
SEEDS = {kind: [SEED] for kind in ("tune", "report", "gate")}
SOME_SEEDS = {kind: Optional(part) for kind, part in SEEDS.items()}
PROBLEM = Kind(
    f"{SETTINGS.words}; it must set dataset",
    lambda value: SETTINGS.holds(value) and isinstance(value.get("dataset"), str),
)
WORKLOAD = {
    "stratum": TEXT,
    "budget": _whole(1_000_000_000),
    "set": PROBLEM,
    "schedules": Optional([TEXT]),
    "seeds": Optional(SOME_SEEDS),
}
ENTRANT = {
    "stepsize": Kind("an option or null", lambda value: value is None or TEXT.holds(value)),
    "method": Optional(TEXT),
    "grid": Optional(Kind(f"one of {', '.join(GRIDS)}", lambda value: value in GRIDS)),
    "schedules": Optional([TEXT]),
    "native": Optional(Kind(f"{SETTINGS.words}, or null", lambda value: value is None or SETTINGS.holds(value))),
    "set": Optional(SETTINGS),
    "reference": Optional(Kind("true or false", lambda value: isinstance(value, bool))),
}
BOARD = {
    "version": Kind(f"an integer or {TEXT.words}", lambda value: type(value) is int or TEXT.holds(value)),
    "common": Kind(
        f"a mapping from {', '.join(OF_RUNS)} to values, with tracker: none",
        lambda value: (
            isinstance(value, dict)
            and {*value} <= {*OF_RUNS}
            and value.get("tracker") == "none"
            and all(map(_is_plain, value.values()))
        ),
    ),
    "evaluations": COUNT,
    "targets": _whole(100),
    "comparisons": COUNT,
    "prices": Each({"gradient": SIZE, "latency": SIZE, "bandwidth": RATE}),
    "networks": Kind(
        "a list of names of networks, not files",
        lambda value: isinstance(value, list) and all(TEXT.holds(name) and "." not in name for name in value),
    ),
    "grid": {**{key: [POSITIVE] for key in GRIDS}, "extension": _whole(100), "extensions": _whole(100)},
    "schedules": [TEXT],
    "seeds": SEEDS,
    "workloads": Each(WORKLOAD),
    "dev": Each(WORKLOAD),
    "ranked": [TEXT],
    "entrants": Each(ENTRANT),
    "bounds": Each(ENTRANT),
    "side": Each({"base": TEXT, "set": SETTINGS, "entrants": Each(ENTRANT)}),
    "hidden": {
        "workloads": [TEXT],
        "seeds": [SEED],
        "factor": POSITIVE,
        "without": Each([Kind("a text", lambda value: isinstance(value, str))]),
    },
    "sealed": {
        "budget": _whole(1_000_000_000),
        "nodes": [_whole(100_000)],
        "topology": [TEXT],
        **dict.fromkeys(("dimension", "condition", "spread", "noise", "observed"), RANGE),
    },
    "quick": Optional(
        {
            "workloads": [TEXT],
            "entrants": [TEXT],
            "schedules": [TEXT],
            "seeds": SEEDS,
            "budget": PART,
            "hidden": {"workloads": [TEXT]},
        }
    ),
    "pilot": {"entrants": [TEXT], "budget": PART},
    "milliseconds": Each(POSITIVE),
}
SEALED = {"version": TEXT, "workloads": Each({"stratum": TEXT, "budget": _whole(1_000_000_000), "set": PROBLEM})}


def fault(value: Any, kind: Any, place: str = "") -> str | None:
    """Return what is wrong with the content of a file; None: nothing.

    Args:
        value: The content.
        kind: ``BOARD``, ``SEALED`` or a part of them. A list stands for a list of at least one value.
        place: The key that has the value.
    """
    if isinstance(kind, Kind):
        return None if kind.holds(value) else f"{place} must be {kind.words}, got {_short(value)}"
    if isinstance(kind, list):
        if not isinstance(value, list) or not value:
            return f"{place} must be a list of at least one value, got {_short(value)}"
        return _first(fault(part, kind[0], place) for part in value)
    if not isinstance(value, Mapping):
        return f"{place or 'the file'} must be a mapping, got {_short(value)}"
    if isinstance(kind, Each):
        for name in value:
            if not (isinstance(name, str) and NAME.fullmatch(name)):
                return f"{place} has the name {_short(name)}. Use letters, digits, '_', '.' and '-' only"
        return _first(fault(part, kind.part, f"{place}.{name}") for name, part in value.items())
    for key in value:
        if key not in kind:
            return f"{place or 'the file'} has a key {_short(key)}.{closest(str(key), kind)}".rstrip(".")
    return _first(_entry(value, key, part, f"{place}.{key}".lstrip(".")) for key, part in kind.items())


def _entry(value: Mapping[str, Any], key: str, kind: Any, place: str) -> str | None:
    """Return what is wrong with one key of a mapping."""
    if key not in value:
        return None if isinstance(kind, Optional) else f"{place} is missing"
    return fault(value[key], kind.part if isinstance(kind, Optional) else kind, place)


def _first(faults: Iterable[str | None]) -> str | None:
    return next(filter(None, faults), None)


def _short(value: Any) -> str:
    """Return a value in one short line."""
    return reprlib.repr(value)
