"""The fields of a claim in a YAML file, and the types of their values."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from typing import Any

from analysis.results.errors import NoData, perhaps
from bench.terminal.visible import visible_parts

TEXTS = ("id", "claim", "source", "unit", "because", "evidence", "kind")
PERHAPS_TEXTS = ("experiment", "command", "figure", "choices", "note", "untestable")
LISTS, MAPPINGS = ("also", "expects"), ("with", "beside")
FIELDS = (*TEXTS, "holds", *PERHAPS_TEXTS, *LISTS, *MAPPINGS)


def checked(content: Any, file: str) -> list[dict[str, Any]]:
    """Return the content of a file of claims.

    Raises:
        NoData: The content is not a list of claims, or a field or id of a claim is invalid.
    """
    if type(content) is not list:
        raise NoData(f"{file} must be a list of claims; got {reprlib.repr(content)}. Begin each claim with - id: NAME")
    for entry in content:
        if type(entry) is not dict:
            raise NoData(f"a claim of {file} must have fields; got {reprlib.repr(entry)}. Begin it with - id: NAME")
        for name, value in entry.items():
            _check(reprlib.repr(entry.get("id", "a claim without an id")).strip("'"), name, value)
    for name, count in Counter(entry.get("id") for entry in content).items():
        if name is not None and count > 1:
            raise NoData(f"{file} has {count} claims with the id {name!r}. Type another id for each")
    return content


def _check(claim: Any, name: Any, value: Any) -> None:
    """Raise ``NoData`` if there is no such field, or if its value has another type."""
    if name not in FIELDS:
        raise NoData(f"{claim} has an unknown field {name!r}{perhaps(str(name), FIELDS)}; known: {', '.join(FIELDS)}")
    if name in LISTS and not (type(value) is list and all(type(one) is str for one in value)):
        type_it = f"[{', '.join(map(_text, value if type(value) is list else [value]))}]"
        raise NoData(_wrong(claim, name, value, "a list of texts", type_it))
    if name in MAPPINGS and value is not None and not (type(value) is dict and all(type(key) is str for key in value)):
        raise NoData(_wrong(claim, name, value, "a mapping of parameters", "{NAME: VALUE}"))
    if isinstance(value, str | list) and visible_parts(value) != value:
        raise NoData(f"'{name}' of {claim} must have no control characters; got {reprlib.repr(value)}")
    if (name in TEXTS or (name in PERHAPS_TEXTS and value is not None)) and type(value) is not str:
        raise NoData(_wrong(claim, name, value, "a text", _text(value)))


def _wrong(claim: Any, name: str, value: Any, kind: str, type_it: str) -> str:
    return f"'{name}' of {claim} must be {kind}; got {reprlib.repr(value)}. Type {name}: {type_it}"


def _text(value: Any) -> str:
    """Return the value as a text of YAML; a placeholder if it is no single value."""
    return '"TEXT"' if value is None or isinstance(value, list | dict) else json.dumps(str(value), ensure_ascii=False)
