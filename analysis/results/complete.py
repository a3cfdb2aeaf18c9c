"""The steps of evaluations and their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

STEPS = 1 << 31
"""All steps are smaller, since an archive stores them in 32 bits."""


def are_steps(steps: Sequence[int] | np.ndarray) -> bool:
    """Whether 64-bit integers are the steps of evaluations: increasing, from 0 on, and below ``STEPS``."""
    there = np.asarray(steps, dtype=np.int64)
    return bool(((there >= 0) & (there < STEPS)).all() and (there[1:] > there[:-1]).all())
