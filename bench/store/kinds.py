"""The types of all values in the JSON files of a run. A value of another type damages only its own run."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from bench.base import renamed
from bench.store.record import COLUMNS, EARLIER, EVENT_COLUMNS, SHOWN, STATES, WITH_GROUP

ABSENT = type(None)
LARGEST = 2**63
"""Integers must be smaller, since tables store them in 64 bits."""
LONGEST = 4096
"""Maximal characters of a text, or of a list as JSON. Figures take seconds for longer ones."""
MOST = 200
"""Maximal labels of a run. Tables have a column for each label."""
EVALUATIONS = 1_000_000
"""Maximal evaluations of a run."""
LONGEST_NAME = 255
"""Maximal characters of a run's name, which is the name of a folder."""
Kind = tuple[frozenset[type], Callable[[Any], bool]]
"""Types of which every value is valid, and a test for values of all other types."""


def one_of(*types: type, infinite: bool = False, long: bool = False) -> Kind:
    """Return the kind of values of these types; integers must fit into 64 bits.

    Args:
        infinite: real numbers may be infinite or NaN.
        long: texts may have more than ``LONGEST`` characters.
    """
    limited = {*types} & ({int} | ({float} if not infinite else set()) | ({str, list} if not long else set()))

    def tame(value: Any) -> bool:
        kind = type(value)
        if kind not in limited:
            return False
        if kind is str:
            return len(value) <= LONGEST
        if kind is list:
            return _is_short(value)
        return -LARGEST < value < LARGEST if kind is int else math.isfinite(value)

    return frozenset(types) - limited, tame


def _is_short(value: list[Any]) -> bool:
    try:
        return len(value) <= LONGEST and len(json.dumps(value)) <= LONGEST
    except RecursionError:
        return False


def is_name(value: Any) -> bool:
    """Whether a value can be the name of a run: the printable name of one folder."""
    return (
        type(value) is str
        and 0 < len(value) <= LONGEST_NAME
        and value.isprintable()
        and value not in (".", "..")
        and "/" not in value
        and "\\" not in value
    )


def whole(least: int) -> Kind:
    return frozenset(), lambda value: type(value) is int and least <= value < LARGEST


def word(known: Collection[str]) -> Kind:
    return frozenset(), lambda value: type(value) is str and value in known


def many(kind: Kind) -> Kind:
    return frozenset(), lambda value: type(value) is list and all(fits(part, kind) for part in value)


def mapping(kinds: Mapping[Any, Kind]) -> Kind:
    return frozenset(), lambda value: type(value) is dict and odd(value, kinds) is None


def fits(value: Any, kind: Kind) -> bool:
    return type(value) in kind[0] or kind[1](value)


def odd(value: Mapping[str, Any], kinds: Mapping[Any, Kind]) -> str | None:
    """Describe the first value of a wrong kind, if any. ``...`` is the kind of all other names; without it, any is."""
    rest = kinds.get(..., TEXT)
    if rest is LABEL and len(value) > MOST:
        return f"has {len(value)} labels; the limit is {MOST}"
    for name, part in value.items() if ... in kinds else [(name, value[name]) for name in kinds if name in value]:
        types, good = kinds.get(name, rest)
        if len(name) > LONGEST:
            return f"has a name of {len(name)} characters, {reprlib.repr(name)}; the limit is {LONGEST}"
        if type(part) not in types and not good(part):
            long = type(part) is str and len(part) > LONGEST
            size = f" of {len(part)} characters (the limit is {LONGEST})" if long else ""
            return f"has an invalid value{size} for '{name}': {reprlib.repr(part)}"
    return None


TEXT, NUMBER, SWITCH = one_of(str), one_of(int, float), one_of(bool)
NAME: Kind = frozenset(), is_name
LONG_TEXT, PERHAPS_LONG_TEXT = one_of(str, long=True), one_of(str, ABSENT, long=True)
"""Commands, environment variables and errors."""
PERHAPS_TEXT, PERHAPS_WHOLE, PERHAPS_NUMBER = one_of(str, ABSENT), one_of(int, ABSENT), one_of(int, float, ABSENT)
PERHAPS_PART: Kind = frozenset((ABSENT,)), lambda value: type(value) in (int, float) and 0 <= value <= 1.001
"""A number from 0 to 1, with rounding errors."""
COUNT, NATURAL, STATE = whole(1), whole(0), word((*STATES, *renamed.STATES))
LABEL = one_of(str, int, float, bool, ABSENT, list)
MEASURED = one_of(int, float, ABSENT, infinite=True)
ROW = {"step": NATURAL, ...: MEASURED}
STATUS = {
    **{"state": STATE, "step": NATURAL, "error": PERHAPS_LONG_TEXT, "time": NUMBER},
    **dict.fromkeys(("orders", "failed_in"), many(TEXT)),
}
SUMMARY: dict[Any, Kind] = {
    **dict.fromkeys(COLUMNS, MEASURED),
    **dict.fromkeys(("algo", "topology", "dataset", "partition", "model", "links", "compressor"), TEXT),
    **dict.fromkeys(("loss", "regularizer", "engine", "tracker", "device", "init", "sampling", "eval_spacing"), TEXT),
    **dict.fromkeys(("nodes", "steps", "batch_size", "eval_every", "replicas"), COUNT),
    **dict.fromkeys(("schedule_nodes", "eval_samples", "checkpoint_every", "ranks", "jobs"), PERHAPS_WHOLE),
    **dict.fromkeys(("scale", "input_scale", "validation"), NUMBER),
    **dict.fromkeys(("results", "data_dir", "stale", "schedule"), PERHAPS_TEXT),
    **{"seed": NATURAL, "eta": PERHAPS_NUMBER, "dtype": word(("float32", "float64")), "force": SWITCH, "state": STATE},
    **{"run_id": NAME, "sha256": mapping({...: TEXT}), ...: LABEL},
}
RESERVED = frozenset({*SUMMARY, *WITH_GROUP, *WITH_GROUP.values()} - {*COLUMNS, *SHOWN, ...})
"""Names that are not available as metrics, since labels or columns of the analysis have them."""
NEEDED = ("algo", "topology", "dataset", "seed", "nodes", "steps", "state")
"""Labels that every run must have."""
MANIFEST: dict[Any, Kind] = {
    **dict.fromkeys(("engine", "device", "started", "start"), TEXT),
    **dict.fromkeys(("plugins", "pythonpath"), LONG_TEXT),
    **{"run_id": NAME, "fingerprint": PERHAPS_TEXT, "sweep": PERHAPS_LONG_TEXT, "also": many(LONG_TEXT)},
    **dict.fromkeys(("varies", "model"), many(TEXT)),
    **{"resumed": many(NATURAL), "ranks": COUNT, "replicas": COUNT, "heterogeneity": PERHAPS_NUMBER},
    **{
        "versions": mapping({...: TEXT}),
        "sources": mapping({...: TEXT}),
        "host": mapping({...: one_of(str, int, ABSENT)}),
    },
    "data": mapping({"sha256": PERHAPS_TEXT}),
    "problem": many(many(NUMBER)),
    "algorithm": mapping(
        dict.fromkeys(("name", "label", "family", "cite"), TEXT)
        | {"assumes": many(TEXT), "needs": many(TEXT)}
        | dict.fromkeys(("vectors_per_step", "sends", "rounds"), NUMBER)
        | {"gradients": COUNT, "samples": COUNT, "start_samples": NATURAL, "requires_float64": SWITCH}
    ),
    "mixing": mapping(
        {"nodes": COUNT, "hash": TEXT, "rho": PERHAPS_PART, "period": PERHAPS_WHOLE, "edges_by": LONG_TEXT}
        | {"directed": SWITCH, "drawn": SWITCH}
    ),
    "metrics": mapping({...: mapping({"label": PERHAPS_TEXT, "more_is_better": one_of(bool, ABSENT)})}),
}


def twice(names: Collection[str]) -> str | None:
    """Describe the first label, if any, that a run has under two names."""
    both = next(((old, new) for old, new in WITH_GROUP.items() if old in names and new in names), None)
    return f"has both '{both[0]}' and '{both[1]}', which are names of one label" if both else None


def are_labels(columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether these columns are valid labels of many runs."""
    return (
        set(NEEDED) <= columns.keys()
        and len(columns) <= MOST
        and all(len(name) <= LONGEST and _fit(values, SUMMARY.get(name, LABEL)) for name, values in columns.items())
    )


def _fit(values: Sequence[Any], kind: Kind) -> bool:
    """Whether all values fit, with few tests: a sum of numbers is infinite if one of them is."""
    types = set(map(type, values))
    if types == {int}:
        values = min(values), max(values)
    elif types == {float}:
        values = (sum(values),)
    elif types == {str}:
        values = [*set(values)]
    return types <= kind[0] or all(fits(value, kind) for _, value in set(zip(map(type, values), values, strict=True)))


def is_free(name: str) -> bool:
    """Whether a plug-in may use the name for a column: no label or column has it, or had it in an earlier version."""
    return name.isidentifier() and name not in {*COLUMNS, *EVENT_COLUMNS, *RESERVED, *EARLIER}
