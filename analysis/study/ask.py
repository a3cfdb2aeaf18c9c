"""What can be asked of a figure or table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


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
WORDS = {"x": "--x", "cost": "--cost", "metrics": "--metric", "reference": "--reference", "over": "--over"}
WORDS |= {"columns": "--columns", "tune_by": "--tune-by"}


def listening(ask: Ask) -> tuple[Ask, set[str]]:
    """The same, and what has been read of it so far: what a figure does not read, it does not obey."""
    heard: set[str] = set()

    class Listening(Ask):
        def __getattribute__(self, name: str) -> Any:
            heard.add(name)
            return super().__getattribute__(name)

    return Listening(**{field.name: getattr(ask, field.name) for field in fields(ask)}), heard


def unheard(ask: Ask, heard: set[str]) -> list[str]:
    """The options that were given and not read, as they are typed."""
    given = [name for name in WORDS if getattr(ask, name) != getattr(USUAL, name)]
    return [WORDS[name] for name in given if name not in heard]
