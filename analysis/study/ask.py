"""What can be asked of a figure or table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ask:
    """What can be asked of a figure or table."""

    x: str = "epoch"
    cost: str = "step"
    metrics: tuple[str, ...] = ()  # in the place of those it usually shows
    reference: str | None = None  # the method that the others are compared with
    over: str = "eta"  # the option that a sensitivity is about
