"""Read structures of Thrift's compact protocol, in which Parquet files describe themselves.

What one reader could understand in another way than the next is an error: equal fields, lists of another kind, integers
whose upper bits may be dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BYTE, INT16, INT32, INT64, DOUBLE, BINARY, LIST, STRUCT = 3, 4, 5, 6, 7, 8, 9, 12
FLAGS = (1, 2)
BITS = {INT16: 16, INT32: 32, INT64: 64}
DEEPEST, MOST_FIELDS = 16, 1 << 15
Fields = dict[tuple[int, int], Any]
"""Integers, structures and lists by the number and the kind of their field: a reader skips one of another kind than it
expects. Any other value is None."""
Shape = Mapping[int, Any]
"""The fields that have lists in them: for a list, the kind of its parts and their shape; for a structure, its shape. A
reader takes the parts of a list for what it expects, whatever the list itself says."""
PLAIN: Shape = {}


def structure(content: bytes, at: int, shape: Shape = PLAIN, depth: int = 0) -> tuple[Fields, int]:
    """Return the fields of a structure and the place after it.

    Raises:
        ValueError: It is invalid, or its fields are not in order.
        IndexError: The content ends in it.
    """
    if depth > DEEPEST:
        raise ValueError("a header is nested too deeply")
    found: Fields = {}
    field = 0
    while kind := content[at] & 15:
        step, at = content[at] >> 4, at + 1
        last = field
        if step:
            field += step
        else:
            field, at = _integer(content, at, INT16)
        if not last < field < MOST_FIELDS:  # a reader may take the first or the last of two equal fields
            raise ValueError("the fields of a header are not in order")
        if kind not in FLAGS:  # a flag is its kind
            found[field, kind], at = _value(content, at, kind, shape.get(field, PLAIN), depth + 1)
    return found, at + 1


def _value(content: bytes, at: int, kind: int, shape: Any, depth: int) -> tuple[Any, int]:
    """Return a value and the place after it."""
    if kind in BITS:
        return _integer(content, at, kind)
    if kind == BINARY:
        size, at = _varint(content, at)
        return None, at + size
    if kind == STRUCT and isinstance(shape, dict):
        return structure(content, at, shape, depth)
    if kind == LIST and isinstance(shape, tuple):
        return _list(content, at, shape, depth)
    if kind in (BYTE, DOUBLE):
        return None, at + (8 if kind == DOUBLE else 1)
    raise ValueError(f"a header has a value of the kind {kind}, which is not known there")


def _list(content: bytes, at: int, parts: tuple[int, Shape], depth: int) -> tuple[list[Any], int]:
    expected, shape = parts
    size, kind, at = content[at] >> 4, content[at] & 15, at + 1
    if size == 15:
        size, at = _varint(content, at)
    if kind != expected and size:
        raise ValueError("a header has a list of another kind")
    found = []
    for _ in range(size):
        value, at = _value(content, at, kind, shape, depth)
        found.append(value)
    return found, at


def _integer(content: bytes, at: int, kind: int) -> tuple[int, int]:
    value, at = _varint(content, at)
    if value >> BITS[kind]:
        raise ValueError("a header has an integer that is too large")
    return (value >> 1) ^ -(value & 1), at


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while (part := content[at]) > 127:
        value |= (part & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise ValueError("a header has an integer of more than 64 bits")
    return value | part << shift, at + 1
