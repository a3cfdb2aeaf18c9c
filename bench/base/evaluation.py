"""The steps at which a run is evaluated, and the state in which it ends. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

DIVERGING_FROM = 100.0
"""A finished run is ``diverging`` if its training loss rose by more than this many times its initial value.

Of the suite's own runs, none above it predicted more than the most frequent class; one at 30 times had 81 % accuracy.
"""


def rose(first: Any, last: Any, factor: float = DIVERGING_FROM) -> Any:
    """Return whether a loss rose by more than ``factor`` times its initial value; also for columns of losses.

    The rule is a ratio, so that c·f ends like f. A loss may be negative. The rule ignores a loss that starts at 0.
    """
    return (last - first > factor * abs(first)) & (first != 0)


def final_state(state: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the state of a finished run with these rows: ``diverging`` if its loss rose too much."""
    return "diverging" if state == "done" and rose(rows[0]["train_loss"], rows[-1]["train_loss"]) else state


Spacing = Literal["linear", "log"]


def evaluation_steps(steps: int, every: int, spacing: Spacing) -> list[int]:
    """Return the evaluation steps, always with 0 and T; ``log`` spaces the same number of points evenly in log t."""
    if spacing == "linear":
        points = np.arange(0, steps, every)
    else:
        points = np.append(0, np.geomspace(1, steps, max(2, steps // every)).round().astype(int))
    return sorted({*map(int, points), 0, steps})
