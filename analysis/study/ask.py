"""What can be asked of a figure or table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ask:
    """What can be asked of a figure or table."""

    x: str | None = None  # the column along which curves are drawn, in the place of the usual one
    cost: str = "step"
    metrics: tuple[str, ...] = ()  # in the place of those it usually shows
    reference: str | None = None  # the method that the others are compared with
    over: str = "eta"  # the option that a sensitivity is about
    columns: tuple[str, ...] = ()  # of a table, in the place of those it usually has
    tune_by: str | None = None  # the metric that settings are chosen by, in the place of test accuracy or loss
    schedule: str | None = None  # of the methods that were run with it; else the schedule is tuned over too


USUAL = Ask()
OPTIONS = {"x": "x", "cost": "cost", "metric": "metrics", "reference": "reference", "over": "over"}
OPTIONS |= {"columns": "columns", "tune_by": "tune_by"}
"""What a figure or table may declare that it uses, and the field of an Ask that has it."""


def check_options(uses: Sequence[str] | None) -> Sequence[str] | None:
    """A declaration as it is; a ValueError for a name that is no option."""
    if wrong := [name for name in uses or () if name not in OPTIONS]:
        raise ValueError(f"there is no option {wrong[0]!r} to use; there are {', '.join(OPTIONS)}")
    return uses


def unused(ask: Ask, uses: Sequence[str] | None) -> list[str]:
    """The options that were given and are not among those declared, as they are typed; none without a declaration."""
    given = [name for name, field in OPTIONS.items() if getattr(ask, field) != getattr(USUAL, field)]
    return [f"--{name.replace('_', '-')}" for name in given if uses is not None and name not in uses]
