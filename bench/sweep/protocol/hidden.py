"""Hidden numbers: those that a method takes from its paper, beside the stepsize. The board changes one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench.base.board import Board, Entrant
from bench.base.registry import algorithms


def variants(board: Board, entrant: Entrant) -> Iterator[Entrant]:
    """Yield the entrant with each of its hidden numbers times and divided by the factor of the board."""
    left_out = board.hidden["without"].get(entrant.name, ())
    for name, option in algorithms[entrant.method].options().items():
        key, value = f"algo.{name}", option.default
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if name == entrant.stepsize or name in left_out or key in entrant.set:
            continue
        for sign, factor in (("×", board.hidden["factor"]), ("÷", 1 / board.hidden["factor"])):
            new = changed(value, factor)
            if new != value and f"{name} {sign}" not in left_out:
                yield replace(entrant, set={**entrant.set, key: new})


def changed(value: float, factor: float) -> float:
    """Return a number times a factor; of a number between 0.5 and 1, such as a decay rate, its distance from 1."""
    if isinstance(value, int):
        return max(1, round(value * factor))
    new = 1 - (1 - value) * factor if 0.5 < value < 1 else value * factor
    return float(f"{new:.6g}")
