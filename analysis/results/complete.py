"""The steps of evaluations: their order, and whether they end where the run did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.store.record import FINAL

ALL_STEPS = ("done", "diverging")
"""The states of runs that completed all steps. A nonfinite run ends earlier."""

STEPS = 1 << 31
"""All steps are smaller, since an archive stores them in 32 bits."""


def are_steps(steps: Sequence[int] | np.ndarray) -> bool:
    """Whether 64-bit integers are the steps of evaluations: increasing, from 0 on, and below ``STEPS``."""
    there = np.asarray(steps, dtype=np.int64)
    return bool(((there >= 0) & (there < STEPS)).all() and (there[1:] > there[:-1]).all())


def cut_short(labels: Mapping[str, Any], last: int, recorded: Any = None) -> str | None:
    """Describe the missing evaluations of a finished run, if any.

    Args:
        labels: The labels of the run, with its state.
        last: The step of its last evaluation.
        recorded: The last step according to its summary; None if that is unknown.
    """
    if labels["state"] not in FINAL:
        return None
    ends = [labels["steps"]] if labels["state"] in ALL_STEPS else []
    ends += [recorded] if recorded is not None else []
    other = [end for end in ends if end != last]
    return f"its last evaluation is at step {last}, but it ended at step {str(other[0])[:20]}" if other else None
