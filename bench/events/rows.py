"""Rows of a tape: the kinds of events, and columns of rows before they are sorted."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Literal, NamedTuple

import numpy as np

Pattern = Literal["messages", "pairs", "meetings", "one_late"]
"""Which events cause which: see ``draw_tape``."""


Sends = Callable[[np.ndarray], np.ndarray]
"""Returns whether a node sends a message after its gradients with these numbers."""


class Kind(IntEnum):
    """The kind of an event. Events at equal times have this order."""

    DELIVER = 0
    PAIR = 1
    GRADIENT = 2


class Rows(NamedTuple):
    """Columns of events of one kind, in any order; ``node`` and ``peer`` may be one number for all rows."""

    kind: Kind
    time: np.ndarray
    node: np.ndarray | int
    peer: np.ndarray | int
    number: np.ndarray
    begins: np.ndarray
    computed: np.ndarray | None = None  # None: equal to time


class Drawn(NamedTuple):
    """The events of a pattern until the end of the tape.

    Attributes:
        rows: The events.
        pending: When each node has computed the gradient after its last one on the tape, (n,); later than the end if
            the node still computes.
        degree: The number of messages that each node sends after a gradient, (n,).
        lost: The times at which the transfers of lost messages began.
        replaced: The times at which waiting messages were replaced by newer ones.
        unsent: The times of gradients after which a node did not send, once for each neighbor.
        skipped: The senders and the numbers of the replaced messages, (r, 2).
    """

    rows: list[Rows]
    pending: np.ndarray
    degree: np.ndarray
    lost: np.ndarray
    replaced: np.ndarray
    unsent: np.ndarray
    skipped: np.ndarray = np.zeros((0, 2), dtype=np.int64)


COLUMNS = {
    "time": np.int64,
    "kind": np.int8,
    "node": np.int32,
    "peer": np.int32,
    "number": np.int64,
    "begins": np.int64,
    "computed": np.int64,
}
"""The columns of a tape with their types."""


def in_order(rows: list[Rows], end: int) -> dict[str, np.ndarray]:
    """Return the columns of all rows until the end, sorted by time, kind, node, peer and number."""
    parts: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS}
    for each in rows:
        keep = each.time <= end
        count = int(keep.sum())
        for name in COLUMNS:
            value = each.time if name == "computed" and each.computed is None else getattr(each, name)
            parts[name].append(value[keep] if isinstance(value, np.ndarray) else np.full(count, value, COLUMNS[name]))
    columns = {
        name: np.concatenate(parts[name]).astype(kind) if parts[name] else np.zeros(0, kind)
        for name, kind in COLUMNS.items()
    }
    order = np.lexsort([columns[name] for name in ("number", "peer", "node", "kind", "time")])
    return {name: column[order] for name, column in columns.items()}
