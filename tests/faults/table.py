"""Faults are functions that do harm on purpose and count what became of it.

A fault is told how many times to do it and a folder to do it in; it answers with a Counter of outcomes,
in words. Only outcomes that are ``allowed`` may be seen: a wrong number believed, or silence, is never one.
The tests run a fault a few times, or ``make thorough`` does where it takes longer, and ``python -m tests.faults``
writes the table of docs/reliability.md.
"""

from __future__ import annotations

import importlib
import pkgutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class Seen(Counter[str]):
    """Outcomes, with what was measured on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []


Run = Callable[[int, Path], Counter[str]]
Lacking = Callable[[], str | None]


@dataclass(frozen=True)
class Fault:
    """One kind of harm."""

    theme: str
    title: str
    allowed: tuple[str, ...]
    quick: int  # trials in make test; 0: too long for it
    full: int  # trials in the table
    often: int  # trials in make thorough, of those too long for make test; 0: only in the table
    lacking: Lacking  # why it cannot be done on this machine
    run: Run


faults: dict[str, Fault] = {}


def fault(
    theme: str,
    title: str,
    *,
    allowed: tuple[str, ...],
    quick: int,
    full: int,
    often: int = 0,
    unless: Lacking = lambda: None,
) -> Callable[[Run], Run]:
    """Register a fault under its function's name."""

    def decorate(run: Run) -> Run:
        name = run.__name__
        assert name not in faults, name
        faults[name] = Fault(theme, title, allowed, quick, full, often, unless, run)
        return run

    return decorate


def discover() -> dict[str, Fault]:
    """All faults, by importing every module of this folder whose name begins with ``harm_``."""
    import tests.faults

    for module in pkgutil.iter_modules(tests.faults.__path__):
        if module.name.startswith("harm_"):
            importlib.import_module(f"tests.faults.{module.name}")
    return faults


def line(name: str) -> tuple[str, bool]:
    """A line of the table, and whether only what is allowed was seen; no line where this machine lacks something."""
    fault, began = discover()[name], time.monotonic()
    if lacking := fault.lacking():
        print(f"{name}: not done, {lacking}", flush=True)
        return "", True
    with tempfile.TemporaryDirectory() as folder:
        seen = fault.run(fault.full, Path(folder))
    good = set(seen) <= set(fault.allowed) and seen.total() == fault.full
    told = [f"{count}: {outcome}" for outcome, count in seen.most_common()]
    outcomes = "; ".join([*told, *(seen.notes if isinstance(seen, Seen) else [])])
    text = f"| {fault.title} | {fault.full} | {outcomes}{'' if good else ' **not allowed**'} |"
    print(f"{name}: {text}  ({time.monotonic() - began:.0f} s)", flush=True)
    return text, good
