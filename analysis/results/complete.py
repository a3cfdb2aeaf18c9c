"""Runs whose evaluations end at another step than the run did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.store.record import FINAL

ALL_STEPS = ("done", "diverging")
"""The states of runs that completed all steps. A nonfinite run ends earlier."""


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
