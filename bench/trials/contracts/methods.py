"""What every method must keep, whatever it computes: all checks in one place."""

from __future__ import annotations

from collections.abc import Callable

from bench.method.algorithm import Algorithm
from bench.trials.contracts.form import counts, no_memory, nothing_in_place, rounding, shapes, states
from bench.trials.contracts.mathematics import average, descent, end, pooled, scale, stepsize
from bench.trials.contracts.network import bound, locality, network_use, one_node, one_voice, permutation, replicas
from bench.trials.contracts.reading import asked_read, states_read
from bench.trials.contracts.worlds import NOT_ASKED, BrokenPromise

__all__ = ["CHECKS", "NOT_ASKED", "BrokenPromise"]

CHECKS: tuple[Callable[[type[Algorithm]], str | None], ...] = (
    shapes,
    nothing_in_place,
    no_memory,
    counts,
    network_use,
    rounding,
    states,
    permutation,
    locality,
    replicas,
    one_node,
    one_voice,
    states_read,
    asked_read,
    average,
    descent,
    stepsize,
    end,
    bound,
    pooled,
    scale,
)
"""Each raises ``BrokenPromise``, or returns ``NOT_ASKED`` where the declaration does not ask for it."""
